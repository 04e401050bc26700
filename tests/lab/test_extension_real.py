"""The released model with exported settings; skipped where it is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posviz import lab
from posviz.lab.extension.applied import applied
from posviz.lab.extension.cache import Cache
from posviz.lab.extension.curves import finished, gaps
from posviz.lab.extension.passkey import grid
from posviz.lab.extension.reading import extended
from posviz.lab.extension.run import measure
from posviz.lab.installed import missing
from posviz.lab.language_model import load, sources
from posviz.ui.real_attention import extension_plan
from posviz.ui.real_attention.wish import Wish
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
        mean_window=64,
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
    assert np.mean(found.exact) >= 0.9
    assert np.mean(found.right) >= 0.9
    assert np.mean(found.loss) < 1
    # Asked for names that are not there it must not find the keys all the same.
    assert np.mean(found.absent_exact) < 0.5
    assert np.mean(found.absent_loss) > np.mean(found.loss) + 0.5


def test_the_pages_first_run_shows_a_break_that_yarn_mends(tmp_path: Path) -> None:
    first = Wish()
    for link in ("rope", "yarn"):
        arguments = extension_plan.loss_arguments(first)
        del arguments["links"]
        measure(Told(), link=link, cache_folder=str(tmp_path), **arguments)
    plans = [extension_plan.loss_plan(first, link) for link in ("rope", "yarn")]
    plain = finished("smollm2", ALICE, plans[0], Cache(tmp_path))
    (gap,) = gaps("smollm2", ALICE, plans, Cache(tmp_path))
    assert plain is not None
    assert plain.within is not None
    assert plain.last is not None
    assert gap.last is not None
    assert plain.last[0] > plain.within[0] + 1  # a break, in plain sight
    assert gap.last[0] < -5 * gap.last[1]  # which the method mends
    assert gap.last[0] < -1
