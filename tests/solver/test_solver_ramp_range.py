from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz import solver
from posviz.parameters import ParameterError


def test_the_ramp_of_llama_2() -> None:
    found = solver.beta_range(original=4096, base=10000, rotary_dim=128)
    assert (found.low, found.high) == (20, 46)
    assert found.exact_low == pytest.approx(20.94448, abs=5e-6)
    assert found.exact_high == pytest.approx(45.02688, abs=5e-6)
    assert (found.kept, found.blended, found.divided) == (21, 25, 18)
    assert found.notes == ()


def test_the_ramps_of_qwen_and_gpt_oss() -> None:
    qwen = solver.beta_range(original=32768, base=1e6, rotary_dim=128)
    assert (qwen.low, qwen.high) == (23, 40)
    oss = solver.beta_range(original=4096, base=150000, rotary_dim=64, truncate=False)
    assert oss.low == pytest.approx(8.0928, abs=5e-5)
    assert oss.high == pytest.approx(17.398, abs=5e-4)


def test_a_short_window_lets_the_bounds_cross() -> None:
    found = solver.beta_range(original=4, base=10000, rotary_dim=128)
    assert found.low > found.high
    assert found.notes == (
        "The bounds cross (low 0, high -3): transformers and vLLM run the ramp backwards, "
        "llama.cpp makes a step.",
        "Within 4 tokens no pair finishes a turn.",
    )


def test_a_long_window_leaves_no_pair_fully_divided() -> None:
    found = solver.beta_range(original=1 << 20, base=10000, rotary_dim=128)
    assert found.divided == 0
    assert found.notes == ("The ramp ends beyond the last pair, 63: no pair is fully divided.",)


@given(
    original=st.integers(64, 1 << 20),
    base=st.floats(1000, 1e7),
    pairs=st.integers(8, 128),
    share=st.tuples(st.floats(0, 0.45), st.floats(0.55, 1)),
)
def test_betas_and_pairs_lead_back_to_each_other(
    original: int, base: float, pairs: int, share: tuple[float, float]
) -> None:
    low, high = (part * (pairs - 1) for part in share)
    model = {"original": original, "base": base, "rotary_dim": 2 * pairs}
    fast, slow = solver.betas_at(**model, low=low, high=high)
    found = solver.beta_range(**model, beta_fast=fast, beta_slow=slow, truncate=False)
    assert found.exact_low == pytest.approx(low, abs=1e-9 * pairs)
    assert found.exact_high == pytest.approx(high, abs=1e-9 * pairs)


def test_the_turns_of_the_first_pair_are_those_of_frequency_one() -> None:
    # 64 tokens of pair 0 are 64/2π = 10.186 turns.
    fast, _ = solver.betas_at(original=64, base=10000, rotary_dim=32, low=0, high=15)
    assert fast == pytest.approx(10.186, abs=5e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta_fast": 1, "beta_slow": 32}, "beta_fast must be at least beta_slow; got beta_fast"),
        (
            {"beta_slow": 0},
            "beta_slow must be a number of at least 1e-06",
        ),
        (
            {"beta_fast": math.nan},
            "beta_fast must be a number of at least 1e-06",
        ),
        ({"original": 0}, "original must be a whole number of at least 1"),
        ({"base": 1}, "base must be a number above 1"),
        ({"rotary_dim": 7}, "rotary_dim must be an even whole number of at least 4"),
    ],
)
def test_a_ramp_that_is_none_is_refused(options: dict[str, float], message: str) -> None:
    model = {"original": 4096, "base": 10000, "rotary_dim": 128}
    with pytest.raises(ParameterError) as caught:
        solver.beta_range(**{**model, **options})  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"beta range: {message}")


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (-1, 46, "low must be a pair from 0 to 127; got -1."),
        (20, 128, "high must be a pair from 0 to 127; got 128."),
        (46, 20, "low must be at most high; got low 46 and high 20."),
    ],
)
def test_pairs_that_are_none_are_refused(low: float, high: float, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        solver.betas_at(original=4096, base=10000, rotary_dim=128, low=low, high=high)
    assert str(caught.value) == f"beta range: {message}"
