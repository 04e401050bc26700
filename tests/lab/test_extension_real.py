"""The released model with exported settings; skipped where it is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posviz import lab
from posviz.lab.extension.applied import applied
from posviz.lab.extension.passkey import grid
from posviz.lab.extension.reading import extended
from posviz.lab.extension.run import measure
from posviz.lab.installed import missing
from posviz.lab.language_model import load, sources
from tests.lab.tiny_extension import Told

ALICE = (Path(lab.__file__).parent / "passages" / "alice.txt").read_text(encoding="utf-8")
ABSENT = missing("torch", "transformers", "accelerate") or sources.SMOLLM2.missing()
pytestmark = pytest.mark.skipif(bool(ABSENT), reason=ABSENT)


def test_yarn_turns_the_models_pairs_as_the_core_says() -> None:
    loaded = load.decoder("smollm2", Told())
    settings = applied("yarn?scaling_factor=2", loaded.reading, length=12288)
    rotary: Any = extended(loaded, settings, "float32").model.rotary_emb
    core: Any = settings.spec.encode(np.arange(2.0), length=12288)
    assert rotary.inv_freq.numpy() == pytest.approx(np.asarray(core.inv_freq), rel=1e-6)
    # The paper's factor for s = 2: 0.1·ln 2 + 1.
    assert rotary.attention_scaling == pytest.approx(1.0693147, rel=1e-6)


def test_the_plain_model_reads_english(tmp_path: Path) -> None:
    curve = measure(
        Told(),
        model="smollm2",
        link="rope",
        text=ALICE,
        length=256,
        chunk=128,
        window=64,
        cache_folder=str(tmp_path),
    )
    assert curve.within is not None
    assert 2 < curve.within[0] < 5
    assert curve.rope_parameters["rope_theta"] == 100000


def test_the_plain_model_finds_pass_keys_within_its_window(tmp_path: Path) -> None:
    found = grid(
        Told(),
        model="smollm2",
        link="rope",
        text=ALICE,
        lengths=(512,),
        depths=3,
        cache_folder=str(tmp_path),
    )
    assert np.mean(found.right) >= 0.9
    assert np.mean(found.loss) < 1
