from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz import solver
from posviz.parameters import ParameterError


def test_the_staircase_jumps_just_past_the_window() -> None:
    lengths = [1, 2048, 2049, 4096, 4097, 8192, 8193]
    found = solver.alpha_at_lengths("alpha_of_steps", lengths, original=2048)
    assert found == (1, 1, 3, 3, 7, 7, 15)


@given(length=st.integers(1, 1 << 40), original=st.integers(1, 1 << 30))
def test_the_staircase_is_the_exact_one(length: int, original: int) -> None:
    # Smallest n with length ≤ original·2^n, counted up: 2^(n+1) - 1, which is 1 for n = 0.
    doublings = 0
    while Fraction(length, original) > 2**doublings:
        doublings += 1
    found = solver.alpha_at_lengths("alpha_of_steps", [length], original=original)
    assert found == (2 ** (doublings + 1) - 1,)


def test_the_two_smooth_rules_at_twice_the_window() -> None:
    # The published rule gives 2 at twice the window, transformers with factor 2 gives 2·2 - 1.
    at = [2048, 4096, 8192]
    ratio = solver.alpha_at_lengths("alpha_dynamic_ratio", at, original=4096)
    smooth = solver.alpha_at_lengths("alpha_dynamic_transformers", at, original=4096, factor=2)
    assert (ratio, smooth) == ((1, 1, 2), (1, 1, 3))


@pytest.mark.parametrize(
    ("definition", "options", "message"),
    [
        (
            "alpha_ntk",
            {},
            "alpha: alpha_of_steps, alpha_dynamic_transformers and alpha_dynamic_ratio follow the "
            "length; alpha_ntk does not.",
        ),
        ("alpha", {}, "alpha: alpha_of_steps, alpha_dynamic_transformers and alpha_dynamic_ratio"),
        ("alpha_of_steps", {"original": 0}, "alpha: original must be a whole number of at least 1"),
        (
            "alpha_dynamic_transformers",
            {"factor": 0.5},
            "Dynamic NTK: scaling_factor must be a number of at least 1",
        ),
        ("alpha_of_steps", {"factor": math.nan}, "alpha: factor must be a finite number above 0"),
    ],
)
def test_what_cannot_follow_the_length_is_refused(
    definition: str, options: dict[str, float], message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        solver.alpha_at_lengths(definition, [4096], **{"original": 2048, **options})  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
