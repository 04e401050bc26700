"""Rows of logits by distance, against the last row of the matrix of all pairs of positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from array_api_compat import array_namespace
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spec_strategies import specs, variants

import posviz
from posviz.attention import logits
from posviz.encodings.base import Encoding
from posviz.encodings.given_content import ContentEncoding
from posviz.encodings.rotary import RotaryFamily
from posviz.measures import alike, alike_at, equal_scores, logit_row, longest_row, row_refusal
from posviz.measures.position_part import with_tokens_alike
from posviz.measures.rows import rows_by_kind
from posviz.parameters import ParameterError
from posviz.results import AttentionTerms, PositionTable

ENCODINGS = posviz.catalog()
# M-RoPE's row is that of text alone, whose tokens have three ids each: a test of its own.
BY_DISTANCE = [
    encoding
    for encoding in ENCODINGS
    if encoding().logit_row(1) is not None and encoding.id != "m_rope"
]
every_encoding = pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.id)
every_row = pytest.mark.parametrize("encoding", BY_DISTANCE, ids=lambda encoding: encoding.id)
NO_ROW = {
    "sinusoidal_2d",
    "sinusoidal_3d",
    "rope_2d",
    "rope_2d_mixed",
    "rope_3d",
    "length_curriculum",
}
BEYOND_WINDOWS = 20_000
"""Beyond every trained window that a default or a profile has, up to Llama 4's of 8,192 twice."""


def matching(spec: Encoding) -> float:
    """q·k/√D of the ones that :func:`last_row` gives to queries and keys."""
    return math.sqrt(spec.head_dim) if isinstance(spec, RotaryFamily) else 2.0


def last_row(spec: Encoding, positions: np.ndarray, length: int) -> np.ndarray:
    """The last position's logits with all others, q = k = 1: (heads, positions), nearest first."""
    if isinstance(spec, ContentEncoding):
        result: Any = with_tokens_alike(spec, positions)
    elif isinstance(spec, RotaryFamily):
        result = encoded(spec, positions, length)
    else:
        result = spec.encode(positions)
    if isinstance(result, PositionTable):
        products = result.vectors @ result.vectors[-1]
        row = matching(spec) * products / products[-1]
    elif isinstance(result, AttentionTerms):
        row = matching(spec) + result.logits[..., -1, :]
    elif isinstance(spec, RotaryFamily):
        ones = np.ones((len(positions), spec.head_dim))
        row = logits(result, ones, ones, is_causal=True)[..., -1, :]
    else:
        # Four dimensions of 1: q·k/√D is 2, and q·k is 4 where it is not divided.
        scale = 0.5
        ones = np.ones((len(positions), 4))
        row = logits(result, ones, ones, is_causal=True, scale=scale)[..., -1, :]
    return np.atleast_2d(row)[:, ::-1]


def encoded(spec: Any, positions: np.ndarray, length: int) -> Any:
    """Positions of a longer context, where the method looks at its length."""
    try:
        return spec.encode(positions, length=length)
    except TypeError:
        return spec.encode(positions)


def row_of(spec: Encoding, length: int) -> np.ndarray:
    row, match = logit_row(spec, length), matching(spec)
    return np.stack(
        [
            equal_scores(spec, length=length, match=match, head=head, row=row)
            for head in range(row.heads)
        ]
    )


def same(found: np.ndarray, expected: np.ndarray) -> None:
    expected = np.broadcast_to(expected, np.broadcast_shapes(found.shape, expected.shape))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    seen = np.isfinite(expected)
    size = max(1.0, float(np.abs(expected[seen]).max()))
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-11, atol=1e-11 * size)


@every_encoding
def test_row_is_the_last_row_of_the_matrix(encoding: type[Encoding]) -> None:
    tried = 0
    for spec in variants(encoding):
        if row_refusal(spec) or encoding.id == "m_rope":
            continue
        for length in (1, 2, 33):
            positions = np.arange(float(length))
            same(row_of(spec, length), last_row(spec, positions, length))
            tried += 1
    without = encoding.id in {*NO_ROW, "m_rope"} or not variants(encoding)
    assert (tried == 0) == without


@every_row
def test_row_is_right_beyond_the_trained_window_too(encoding: type[Encoding]) -> None:
    rng = np.random.default_rng(0)
    for spec in variants(encoding):
        if spec.logit_row(1) is None:
            continue
        length = min(BEYOND_WINDOWS, longest_row(spec))
        ends = [0, 1, length // 8, length // 2, length - 5, length - 2, length - 1]
        positions = np.unique(np.concatenate((rng.integers(0, length, 40), ends)))
        expected = last_row(spec, positions.astype(float), length)
        distances = (length - 1 - positions)[::-1]
        found = row_of(spec, length)[:, distances]
        seen = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(found), np.broadcast_to(seen, found.shape))
        size = max(1.0, float(np.abs(expected[seen]).max()))
        np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-8, atol=1e-8 * size)


@pytest.mark.parametrize(
    "encoding",
    # A hidden layer, or a table of all distances, may be so large that each draw takes seconds.
    [encoding for encoding in BY_DISTANCE if encoding.id not in ("mlp_bias", "toeplitz")],
    ids=lambda encoding: encoding.id,
)
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(data=st.data())
def test_row_of_any_parameters_is_the_last_row(
    encoding: type[Encoding], data: st.DataObject
) -> None:
    spec = data.draw(specs(encoding))
    length = data.draw(st.integers(1, 60))
    if spec.missing() or row_refusal(spec):
        return
    frequencies = spec.logit_row(length).inv_freq
    # An angle of 10^7 radians is not known to eleven digits.
    assume(frequencies is None or float(np.max(frequencies)) < 100)
    same(row_of(spec, length), last_row(spec, np.arange(float(length)), length))


@every_row
def test_rows_of_one_kind_begin_alike(encoding: type[Encoding]) -> None:
    lengths = [1, 33, 512, 513, 4096, 4097, 8191, 8192, 8193, 16_384, BEYOND_WINDOWS]
    for spec in variants(encoding):
        if spec.logit_row(1) is None:
            continue
        rows = [logit_row(spec, one) for one in lengths if one <= longest_row(spec)]
        firsts: dict[Any, Any] = {}
        for row in rows:
            shorter = firsts.setdefault(row.kind, row)
            at = np.unique(np.linspace(0, shorter.length - 1, 40).astype(int))
            same(part_of(row, at), part_of(shorter, at))


@every_row
def test_lengths_of_one_kind_lie_side_by_side(encoding: type[Encoding]) -> None:
    lengths = [1, 2, 63, 64, 511, 512, 513, 2048, 4096, 4097, 8191, 8192, 8193, 16_384, 32_768]
    for spec in variants(encoding):
        if spec.logit_row(1) is None:
            continue
        lengths = [one for one in lengths if one <= longest_row(spec)]
        kinds = [logit_row(spec, one).kind for one in lengths]
        groups = {
            kind: [at for at, one in zip(lengths, kinds, strict=True) if one == kind]
            for kind in kinds
        }
        # No kind comes back once another has come between, or a group would miss some lengths.
        assert [one for members in groups.values() for one in members] == lengths
        found = rows_by_kind(spec, lengths)
        assert sorted(members for _, members in found) == list(groups.values())
        for row, members in found:
            assert row.length == members[-1]
            assert row.kind == kinds[lengths.index(members[0])]


def part_of(row: Any, distances: np.ndarray) -> np.ndarray:
    """What a row makes of equal content at some distances: (heads, distances)."""
    score = np.asarray(alike_at(row, distances)) * row.rotary_gain * row.rotary_share * row.gain
    bias = 0.0 if row.bias is None else np.asarray(row.bias(distances.astype(float)))
    still = row.gain * (1 - row.rotary_share)
    return np.where(distances <= row.window, np.atleast_2d(score + still + bias), -np.inf)


@every_row
def test_parts_of_a_row_are_the_row(encoding: type[Encoding]) -> None:
    for spec in variants(encoding):
        if spec.logit_row(1) is None:
            continue
        row = logit_row(spec, 9000)
        whole = alike(row, 0, 9000)
        if isinstance(whole, float):
            assert whole == 1.0
            continue
        assert whole[0] == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(alike(row, 4000, 900), whole[4000:4900], rtol=0, atol=1e-10)
        at = np.array([0, 1, 4095, 4096, 8999])
        np.testing.assert_allclose(alike_at(row, at), whole[at], rtol=0, atol=1e-10)


@every_row
def test_torch_rows_are_the_same(encoding: type[Encoding]) -> None:
    like = torch.zeros(0, dtype=torch.float64)
    for spec in variants(encoding):
        if spec.logit_row(1) is None:
            continue
        here, there = logit_row(spec, 700), logit_row(spec, 700, like=like)
        if there.inv_freq is not None:
            assert isinstance(there.inv_freq, torch.Tensor)
        score, expected = alike(there, 0, 700), alike(here, 0, 700)
        np.testing.assert_allclose(np.asarray(score), expected, rtol=0, atol=1e-11)
        if there.bias is None or here.bias is None:
            assert there.bias is here.bias
            continue
        distances = torch.arange(700, dtype=torch.float64)
        bias = there.bias(distances)
        assert array_namespace(bias) is array_namespace(distances)
        np.testing.assert_allclose(
            np.asarray(bias), here.bias(np.arange(700.0)), rtol=1e-11, atol=1e-11
        )


@every_encoding
def test_encodings_without_a_row_say_why(encoding: type[Encoding]) -> None:
    for spec in variants(encoding):
        refusal = row_refusal(spec)
        assert bool(refusal) == (encoding.id in NO_ROW)
        if refusal:
            with pytest.raises(ParameterError) as error:
                logit_row(spec, 8)
            assert str(error.value) == refusal


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        (
            "rope_2d",
            "RoPE-2D: its positions stand on a grid, so that no single distance names a key.",
        ),
        (
            "sinusoidal_3d",
            "Sinusoidal, 3-D: its positions stand on a grid, so that no single distance names a "
            "key.",
        ),
        (
            "length_curriculum",
            "Length curriculum: it says nothing about the logits of queries and keys.",
        ),
    ],
)
def test_sentences_of_refusals(link: str, sentence: str) -> None:
    assert row_refusal(posviz.parse(link)) == sentence


def test_longest_rows() -> None:
    assert longest_row(posviz.parse("rope")) == longest_row(posviz.parse("alibi")) == 4_194_304
    # Known by distance, though its hidden layer makes it slow.
    assert longest_row(posviz.parse("fire")) == 32_768
    # Read off all pairs.
    assert longest_row(posviz.parse("shaw")) == longest_row(posviz.parse("cope")) == 256
    # A last sine without its cosine: no form by distance.
    assert longest_row(posviz.parse("sinusoidal?model_dim=511")) == 512


@pytest.mark.parametrize(
    ("bad", "allowed"),
    [
        (0, "a whole number of at least 1 and at most 4194304"),
        (-1, "a whole number of at least 1 and at most 4194304"),
        (2.0, "a whole number of at least 1 and at most 4194304"),
        (True, "a whole number of at least 1 and at most 4194304"),
        (4_194_305, "a whole number of at least 1 and at most 4194304"),
    ],
)
def test_lengths_outside_the_range_are_refused(bad: Any, allowed: str) -> None:
    with pytest.raises(ParameterError) as error:
        logit_row(posviz.parse("rope"), bad)
    assert str(error.value) == f"RoPE: length must be {allowed}; got {bad}."


@every_row
def test_bias_of_one_head_is_that_of_all_heads(encoding: type[Encoding]) -> None:
    distances = np.array([0.0, 1.0, 17.0, 699.0])
    for spec in variants(encoding):
        row = spec.logit_row(700)
        if row is None or row.bias is None:
            continue
        for head in (0, row.heads - 1, row.heads + 3):
            np.testing.assert_allclose(
                row.bias_of(distances, head),
                row.bias(distances)[min(head, row.heads - 1)],
                rtol=1e-14,
                atol=0,
            )


def test_an_odd_sinusoid_is_read_off_its_vectors() -> None:
    spec: Any = posviz.parse("sinusoidal?model_dim=7")
    vectors = spec.encode(range(20)).vectors
    row = logit_row(spec, 20)
    expected = (vectors @ vectors[-1])[::-1] / (vectors[-1] @ vectors[-1])
    assert row.alike is not None
    np.testing.assert_allclose(row.alike, expected, rtol=1e-13)
    np.testing.assert_array_equal(alike(row, 3, 5), row.alike[3:8])
    np.testing.assert_array_equal(alike_at(row, np.array([0, 19])), row.alike[[0, 19]])
    # Rows that depend on the position are never taken for the beginning of one another.
    assert row.kind != logit_row(spec, 19).kind


def test_m_rope_of_text_alone_is_plain_rope() -> None:
    row, plain = (logit_row(posviz.parse(link), 500) for link in ("m_rope?base=10000", "rope"))
    assert row.inv_freq is not None
    np.testing.assert_array_equal(row.inv_freq, plain.inv_freq)
    assert row.note == "a sequence of text alone"


def test_a_vector_of_length_nothing_has_no_score() -> None:
    with pytest.raises(ParameterError) as caught:
        logit_row(posviz.parse("sinusoidal?model_dim=1"), 1)
    assert str(caught.value) == (
        "the product of position 0 with itself is 0, so that no score can be counted from it."
    )
