"""Attention resolution, against the definition term by term."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import posviz
from posviz.measures import Content, weight_profile
from posviz.measures.resolution import attention_resolution, resolution_curve
from posviz.parameters import ParameterError


def defined(logits: np.ndarray) -> float:
    """Σ e^s_i (e^s_i - e^s_(i+1)) / (Σ e^s)², with nothing beyond the last key; as fractions, so
    that nothing is lost in the differences."""
    raised = [Fraction(float(one)) for one in np.exp(logits - logits.max())]
    total = sum(raised)
    terms = (a * (a - b) for a, b in zip(raised, [*raised[1:], Fraction(0)], strict=True))
    return float(sum(terms) / total**2)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(row=st.lists(st.floats(-40, 40), min_size=1, max_size=40))
def test_every_beginning_follows_the_definition(row: list[float]) -> None:
    logits = np.asarray(row)
    found = attention_resolution(logits)
    assert found.shape == logits.shape
    for count in range(1, len(row) + 1):
        # The logits themselves have a rounding when their top is taken off.
        assert found[count - 1] == pytest.approx(defined(logits[:count]), rel=1e-12)


def test_resolution_of_rows_by_hand() -> None:
    # One key: 1. Equal keys: t/t² - (t - 1)/t². Weights 2/3 and 1/3: 4/9 - 2/9 + 1/9.
    counts = np.arange(1.0, 200)
    np.testing.assert_allclose(attention_resolution(np.zeros(199)), counts**-2.0, rtol=1e-13)
    assert attention_resolution(np.log([2.0, 1.0]))[1] == pytest.approx(1 / 3, rel=1e-13)
    # A geometric row of ratio r, endless: (1 - r)·Σw² = (1 - r)·(1 - r)/(1 + r).
    ratio = math.exp(-0.25)
    found = attention_resolution(-np.arange(2000.0) / 4)[-1]
    assert found == pytest.approx((1 - ratio) ** 2 / (1 + ratio), rel=1e-12)


@pytest.mark.parametrize(
    "logits",
    [
        np.random.default_rng(0).choice([-1000.0, 0.0, 1000.0], size=300),
        100 * np.arange(300.0),
        -100 * np.arange(300.0),
        np.append(np.zeros(300), 1e5),
        np.append(np.full(300, 1e5), 0.0),
        1e-9 * np.arange(300.0),
    ],
    ids=["jumps", "rising", "falling", "late top", "late bottom", "nearly equal"],
)
def test_extreme_rows_keep_their_digits(logits: np.ndarray) -> None:
    found = attention_resolution(logits)
    assert ((found > 0) & (found <= 1 + 1e-12)).all()
    for count in (1, 2, 150, 300, len(logits)):
        assert found[count - 1] == pytest.approx(defined(logits[:count]), rel=1e-10)
    there = attention_resolution(torch.asarray(logits))
    assert isinstance(there, torch.Tensor)
    np.testing.assert_allclose(there.numpy(), found, rtol=1e-11)


def test_float32_rows_give_float32() -> None:
    row = np.random.default_rng(1).standard_normal(3000).astype(np.float32)
    found = attention_resolution(torch.asarray(row))
    assert found.dtype == torch.float32
    assert float(found[-1]) == pytest.approx(defined(row.astype(float)), rel=1e-4)


@pytest.mark.parametrize("bad", [[], [0.0, math.nan], [0.0, -math.inf]])
def test_rows_that_are_no_logits_are_refused(bad: list[float]) -> None:
    with pytest.raises(ParameterError) as error:
        attention_resolution(np.asarray(bad))
    assert str(error.value).startswith("attention resolution: logits must be ")


LENGTHS = [1, 5, 64, 65, 100, 1500]


@pytest.mark.parametrize(
    "content",
    [
        Content(),
        Content(content="same", match=20.0),
        Content(content="gaussian", seed=4),
        Content(content="needle", depth=0.3),
    ],
    ids=lambda content: content.content,
)
@pytest.mark.parametrize(
    "link",
    [
        "nope",
        "alibi",
        "rope",
        "xpos",
        "sliding_window?window=64",
        "rerope?window=32",
        "irope?layer=3&floor_scale=64",
        "dynamic_ntk?original_max_position_embeddings=64",
    ],
)
def test_curve_is_the_definition_at_every_length(link: str, content: Content) -> None:
    spec = posviz.parse(link)
    found = resolution_curve(spec, LENGTHS, content=content, head=2)
    assert found.lengths.tolist() == LENGTHS
    for length, value in zip(LENGTHS, found.resolution, strict=True):
        logits = weight_profile(spec, length, content=content, head=2).logits
        assert value == pytest.approx(defined(logits[np.isfinite(logits)]), rel=1e-9)


def test_xpos_resolves_better_than_rope_and_a_window_better_than_none() -> None:
    # Sun et al.: resolution is higher where the score falls monotonically.
    content = Content(content="same", match=math.sqrt(128))
    lengths = [256, 1024, 4096]
    rope, xpos = (
        resolution_curve(posviz.parse(link), lengths, content=content).resolution
        for link in ("rope", "xpos")
    )
    assert (xpos > rope).all()
    assert (np.diff(rope) < 0).all()
    window = resolution_curve(posviz.parse("sliding_window?window=16"), lengths)
    np.testing.assert_allclose(window.resolution, 1 / 256, rtol=1e-12)


def test_lengths_in_any_order_and_beyond_the_encoding() -> None:
    spec = posviz.parse("shaw")
    found = resolution_curve(spec, [256, 8, 8, 257])
    assert found.lengths.tolist() == [256, 8, 8]
    assert found.resolution[1] == found.resolution[2] != found.resolution[0]


@pytest.mark.parametrize("bad", [0, -3, 2.5])
def test_lengths_that_are_no_lengths_are_refused(bad: Any) -> None:
    with pytest.raises(ParameterError) as error:
        resolution_curve(posviz.parse("rope"), [bad])
    assert str(error.value) == (
        f"attention resolution: lengths must be a whole number of at least 1; got {bad}."
    )
