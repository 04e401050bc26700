"""Any JSON whatsoever, and any file: a report, or one clear sentence."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz import configs
from tests.fuzz.judging import judge, seeds
from tests.fuzz.mutations import KEYS, NASTY, hostile_files, inputs, mutated

SEEDS = seeds()
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS | st.sampled_from(NASTY),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(value=VALUES, draw=st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_json_value(value: Any, draw: random.Random) -> None:
    judge(value if isinstance(value, dict) else json.dumps(value), draw)


@given(data=st.binary(max_size=200), draw=st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_bytes(data: bytes, draw: random.Random) -> None:
    judge(data, draw)


@given(number=st.integers(min_value=0, max_value=1 << 32))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_broken_configurations(number: int) -> None:
    draw = random.Random(number)
    judge(mutated(draw.choice(SEEDS), draw), draw)


@pytest.mark.parametrize("config", SEEDS, ids=range(len(SEEDS)))
def test_what_is_not_broken(config: dict[str, Any]) -> None:
    assert judge(config, random.Random(0)) != "refused"


@pytest.mark.parametrize("name", hostile_files())
def test_hostile_files_as_bytes_and_as_files(name: str, tmp_path: Path) -> None:
    data = hostile_files()[name]
    path = tmp_path / "config.json"
    path.write_bytes(data)
    expected = judge(data, random.Random(0))
    assert judge(path, random.Random(0)) == expected or name == "a GGUF file without content"


def test_a_config_cut_anywhere_is_a_sentence_or_a_report() -> None:
    whole = json.dumps(SEEDS[0]).encode()
    outcomes = {judge(whole[:end], random.Random(end)) for end in range(len(whole))}
    assert outcomes == {"refused"}


def test_the_fuzzer_says_which_input_failed() -> None:
    """A broken check must not pass unseen: here one that fails for every model of a kind."""
    code = (
        "import sys; sys.path[:0] = ['.', 'scripts']\n"
        "import fuzz, posviz.configs.checks.reading as reading\n"
        "reading.find = lambda subject: 1 / 0\n"
        "import queue; results = queue.Queue(); fuzz.work(1, 5.0, results)\n"
        "print(results.get()[1])"
    )
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("input ")
    assert "ZeroDivisionError" in ran.stdout


def test_a_key_with_a_line_break_stays_on_one_line() -> None:
    config = {**SEEDS[0], "max_positio\n_embeddings": 4096, "‮rope_base": 1e4}
    for diagnosis in configs.check(config).diagnoses:
        assert diagnosis.message.isprintable()


@pytest.mark.parametrize("value", [1e308, 1e155, -1e308])
@pytest.mark.parametrize("key", ["mscale_all_dim", "mscale", "factor", "partial_rotary_factor"])
def test_a_number_out_of_all_proportion(key: str, value: float) -> None:
    latent = {"type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 1.0,
              "original_max_position_embeddings": 4096}  # fmt: skip
    config = {"qk_rope_head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 16384}
    judge({**config, "rope_scaling": {**latent, key: value}, key: value}, random.Random(0))
    judge({"head_dim": 64, **config, "partial_rotary_factor": value}, random.Random(0))


@pytest.mark.parametrize("key", ["dtype", "torch_dtype", "model_type", "rope_type", "x" * 5000])
def test_an_endless_word_does_not_make_an_endless_sentence(key: str) -> None:
    for value in ("y" * 5000, 4096):
        judge({**SEEDS[0], key: value}, random.Random(0))


def test_an_input_is_the_same_whenever_its_number_is_drawn() -> None:
    first = [inputs(SEEDS, random.Random(number)) for number in range(300)]
    again = [inputs(SEEDS, random.Random(number)) for number in reversed(range(300))]
    assert first == again[::-1]
