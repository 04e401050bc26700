from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz import solver
from posviz.parameters import ParameterError

LLAMA_2: dict[str, Any] = {"original": 4096, "base": 10000.0, "rotary_dim": 128}


def test_a_larger_base_reaches_differently_far_by_each_rule() -> None:
    (found,) = solver.reach("rope_theta", 5e5, **LLAMA_2)
    assert found.new_base == 5e5
    # First distance with a negative sum of cosines for 64 pairs of base 5e5.
    assert found.length("men_searched") == 18438
    assert found.length("ntk_aware") == int(4096 * 50 ** (126 / 128))
    with pytest.raises(ParameterError) as caught:
        found.length("yarn")
    assert str(caught.value).endswith("are shown, not 'yarn'.")


@pytest.mark.parametrize(("name", "value"), [("factor", 4), ("--rope-freq-scale", 0.25)])
def test_a_factor_reaches_that_many_windows(name: str, value: float) -> None:
    (found,) = solver.reach(name, value, **LLAMA_2)
    assert {rule.length for rule in found.rules} == {16384}


def test_an_alpha_reaches_by_each_of_its_definitions() -> None:
    found = {one.quantity: one for one in solver.reach("alpha", 4, **LLAMA_2)}
    assert "alpha_of_steps" not in found
    assert found["alpha_ntk"].length("ntk_aware") == 16384
    assert found["alpha_product"].new_base == 40000
    assert found["alpha_product"].length("ntk_aware") == int(4096 * 4 ** (126 / 128))


def test_a_search_that_ends_says_that_the_length_may_be_greater() -> None:
    (found,) = solver.reach("ntk_base", 1e6, **LLAMA_2, search_up_to=4096)
    by_id = {rule.id: rule for rule in found.rules}
    assert by_id["men_searched"].length == 4096
    assert by_id["men_searched"].at_least
    assert not by_id["ntk_aware"].at_least


@settings(max_examples=25, deadline=None)
@given(
    original=st.integers(64, 8192),
    ratio=st.floats(1.01, 16),
    base=st.floats(1000, 1e6),
    pairs=st.integers(16, 64),
)
def test_what_a_rule_sets_reaches_the_target(
    original: int, ratio: float, base: float, pairs: int
) -> None:
    model = {"original": original, "base": base, "rotary_dim": 2 * pairs}
    target = round(original * ratio) + 1
    advice = solver.advise(**model, target=target, search_up_to=8192)
    for rule in advice.rules:
        new_base, factor = rule.sets.get("rope_theta"), rule.sets.get("factor")
        if new_base is not None:
            (found,) = solver.reach("ntk_base", float(new_base), **model)
            length = found.length(rule.id)
            # The search may stop at a base that passes for longer than was asked.
            assert length is not None
            assert (
                length >= target
                if rule.id == "men_searched"
                else abs(length - target) <= 1e-9 * target
            )
        elif factor is not None and rule.id != "dynamic_ntk_published":
            (found,) = solver.reach("factor", float(factor), **model)
            assert found.length(rule.id) == target


@pytest.mark.parametrize(
    ("name", "value", "options", "message"),
    [
        ("beta_slow", 1, {}, "reach: quantity must be one of factor, rope_freq_scale, ntk_base"),
        ("target_length", 1, {}, "reach: quantity must be one of factor, rope_freq_scale"),
        ("factor", 0, {}, "converter: factor must be a finite number above 0; got 0."),
        ("alpha_of_steps", 4, {}, "converter: alpha_of_steps must be a step of the staircase"),
        ("factor", 4, {"original": 0}, "reach: original must be a whole number of at least 1"),
        ("factor", 4, {"rotary_dim": 3}, "reach: rotary_dim must be an even whole number"),
    ],
)
def test_what_does_not_reach_is_refused(
    name: str, value: float, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        solver.reach(name, value, **{**LLAMA_2, **options})
    assert str(caught.value).startswith(message)


def test_a_window_within_one_turn_has_no_reach_by_turns() -> None:
    (found,) = solver.reach("ntk_base", 1e5, original=6, base=1e4, rotary_dim=64)
    assert found.length("unfinished_pairs") is None
    assert found.length("critical_dimension") is None
