from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz import solver
from posviz.parameters import ParameterError


def test_the_powers_of_m_at_factor_four() -> None:
    found = solver.attention_factor(4)
    assert found.m == pytest.approx(1.138629436, rel=1e-9)
    assert found.logit_gain == pytest.approx(1.296476993, rel=1e-9)
    assert found.temperature == pytest.approx(0.7713210536, rel=1e-9)
    assert found.double_application_gain == pytest.approx(1.680852593, rel=1e-9)
    assert "applied to both q and k" in found.notes[0]
    assert "m itself is not the gain" in found.notes[0]


@pytest.mark.parametrize(("factor", "m"), [(16, 1.277258872), (32, 1.346573590), (40, 1.368887945)])
def test_the_printed_values_of_m(factor: float, m: float) -> None:
    assert solver.attention_factor(factor).m == pytest.approx(m, rel=1e-9)


@pytest.mark.parametrize("factor", [0.25, 1])
def test_a_factor_that_extends_nothing_leaves_the_logits(factor: float) -> None:
    found = solver.attention_factor(factor)
    assert (found.m, found.logit_gain, found.temperature) == (1, 1, 1)
    assert found.notes[1] == "A factor of at most 1 extends nothing, and m is 1."


def test_a_lone_mscale_is_read_differently_by_runtimes() -> None:
    # DeepSeek's 0.707 alone at factor 40: 1.369 in transformers, 1.261 in deepseek_yarn and MLX.
    found = solver.attention_factor(40, mscale=0.707)
    assert found.m_by_rule["transformers"] == pytest.approx(1.369, abs=5e-4)
    assert found.m_by_rule["deepseek_yarn"] == pytest.approx(1.261, abs=5e-4)
    assert found.m == found.m_by_rule["transformers"]
    assert found.notes[-1].startswith("Runtimes differ about m here.")


def test_equal_weights_cancel() -> None:
    # DeepSeek V3 has both at 1: cos and sin stay as they are.
    assert solver.attention_factor(40, 1.0, 1.0).m == 1
    ratio = (1 + 0.1 * math.log(40)) / (1 + 0.05 * math.log(40))
    assert solver.attention_factor(40, 1.0, 0.5).m == pytest.approx(ratio)


@given(
    factor=st.floats(1.01, 1e4),
    weights=st.one_of(
        st.just((1.0, 0.0)),
        st.tuples(st.floats(0.5, 2), st.floats(0.05, 0.4)),
    ),
)
def test_the_factor_comes_back_from_m(factor: float, weights: tuple[float, float]) -> None:
    m = solver.attention_factor(factor, *weights).m
    assert solver.factor_of_attention(m, *weights) == pytest.approx(factor, rel=1e-9)


def test_m_of_one_is_a_factor_of_one() -> None:
    assert solver.factor_of_attention(1) == 1
    assert solver.factor_of_attention(1, 0.7, 0.7) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.9,), "m must be what some factor of at least 1 gives with mscale 1 and mscale_all_dim"),
        ((2.0, 1.0, 0.5), "m must be what some factor of at least 1 gives with mscale 1 and"),
        ((1.2, 1.0, 1.0), "m must be what some factor of at least 1 gives with mscale 1 and"),
        ((1e3,), "m must be what some factor of at least 1 gives"),
        ((0,), "m must be a finite number above 0; got 0."),
        ((1.1, -1), "mscale must be a number of at least 0 and at most 100; got -1."),
    ],
)
def test_an_m_that_no_factor_has_is_refused(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        solver.factor_of_attention(*arguments)
    assert str(caught.value).startswith(f"attention factor: {message}")


@pytest.mark.parametrize("factor", [0, -1, math.nan, math.inf, "4", None])
def test_a_factor_that_is_none_is_refused(factor: float) -> None:
    with pytest.raises(ParameterError, match="attention factor: factor must be a finite number"):
        solver.attention_factor(factor)
