"""Logits and weights, against attention written out number by number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import posviz
from posviz import ParameterError
from posviz.attention import logits, output, weights
from posviz.encodings.rotary import RotaryEncoding
from posviz.results import (
    AttentionTerms,
    RelativeRotation,
    Rotation,
    ScaledRotation,
    ValueRotation,
)


def written_out(spec: Any, result: Any, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Complex numbers, one logit at a time: an independent way to the same product."""
    head, pairs = result.rotary_dim, result.rotary_dim // 2
    order = (
        [(2 * i, 2 * i + 1) for i in range(pairs)]
        if spec.layout == "interleaved"
        else [(i, i + pairs) for i in range(pairs)]
    )
    scores = np.empty((len(q), len(k)))
    for m, query in enumerate(q):
        for n, key in enumerate(k):
            distance = float(
                spec.relative_distance(
                    np.asarray([result.positions[m]]), np.asarray([result.positions[n]])
                )[0]
            )
            total = 0.0
            for pair, (a, b) in enumerate(order):
                turn = np.exp(1j * distance * result.inv_freq[pair])
                total += (complex(query[a], query[b]) * complex(key[a], -key[b]) * turn).real
            total *= result.attention_factor**2
            total += float(query[head:] @ key[head:])
            scale = 1.0 if result.query_scale is None else result.query_scale[m]
            scores[m, n] = total * scale * result.softmax_factor / math.sqrt(spec.head_dim)
    return scores


SPECS = [
    "rope?head_dim=8",
    "rope?head_dim=8&layout=interleaved&partial_rotary_factor=0.5",
    "p_rope?head_dim=8&partial_rotary_factor=0.5",
    "yarn?head_dim=8&partial_rotary_factor=0.5",
    "yarn?head_dim=8&mscale=1&mscale_all_dim=1&softmax_correction=true&partial_rotary_factor=0.5",
    "log_n?head_dim=8&original_max_position_embeddings=4",
    "log_n?head_dim=8&original_max_position_embeddings=4&scope=sequence",
    "rerope?head_dim=8&window=3&original_max_position_embeddings=4",
    "leaky_rerope?head_dim=8&window=3&layout=interleaved&partial_rotary_factor=0.5",
    "self_extend?head_dim=8&window=3&group_size=2",
    "dca?head_dim=8&chunk_size=4&local_window=2&original_max_position_embeddings=8",
]


@pytest.mark.parametrize("link", SPECS)
def test_logits_equal_the_sum_written_out(link: str) -> None:
    spec: Any = posviz.parse(link)
    result = spec.encode([0, 1, 2, 5, 9, 20])
    q, k = np.random.default_rng(2).standard_normal((2, 6, 8))
    np.testing.assert_allclose(
        logits(result, q, k), written_out(spec, result, q, k), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
def test_plain_distances_give_what_two_rotations_give(layout: Any) -> None:
    positions = np.asarray([0.0, 3.0, 7.0])
    facts: dict[str, Any] = {
        "positions": positions,
        "inv_freq": np.asarray([1.0, 0.1, 0.01]),
        "attention_factor": 1.25,
        "softmax_factor": 1.5,
        "query_scale": np.asarray([1.0, 2.0, 3.0]),
        "head_dim": 8,
        "rotary_dim": 6,
        "layout": layout,
    }
    distance = positions[:, None] - positions[None, :]
    q, k = np.random.default_rng(5).standard_normal((2, 3, 8))
    np.testing.assert_allclose(
        logits(RelativeRotation(relative_distance=distance, **facts), q, k),
        logits(Rotation(**facts), q, k),
        rtol=1e-12,
        atol=1e-13,
    )


def test_weights_are_the_softmax_and_the_mask_hides_later_positions() -> None:
    result = posviz.parse("rope?head_dim=4").encode([3, 1, 2])
    q, k = np.random.default_rng(3).standard_normal((2, 3, 4))
    plain = np.exp(logits(result, q, k))
    np.testing.assert_allclose(weights(result, q, k), plain / plain.sum(1, keepdims=True))
    masked = weights(result, q, k, is_causal=True)
    # By position, not by place in the row: 3 sees all, 1 only itself, 2 sees 1 and itself.
    np.testing.assert_array_equal(masked > 0, [[1, 1, 1], [0, 1, 0], [0, 1, 1]])
    np.testing.assert_allclose(masked.sum(1), 1)


def test_weights_survive_huge_logits() -> None:
    result = posviz.parse("rope?head_dim=2").encode([0, 1])
    large = np.asarray([[1e4, 0.0], [0.0, 1e4]])
    assert np.isfinite(weights(result, large, large)).all()


def test_scale_replaces_the_head_dimension() -> None:
    result = posviz.parse("rope?head_dim=4").encode([0, 1])
    q = np.ones((2, 4))
    np.testing.assert_allclose(
        logits(result, q, q, scale=192**-0.5), logits(result, q, q) * 2 / math.sqrt(192)
    )


def test_both_layouts_give_equal_logits_after_one_permutation() -> None:
    q, k = np.random.default_rng(4).standard_normal((2, 5, 16))
    half = posviz.parse("rope?head_dim=16").encode(range(5))
    inter = posviz.parse("rope?head_dim=16&layout=interleaved").encode(range(5))
    order = [place for pair in range(8) for place in (pair, pair + 8)]
    np.testing.assert_allclose(
        logits(half, q, k), logits(inter, q[:, order], k[:, order]), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("shape", [(3, 4), (2, 3), (4,)])
def test_wrong_shape_is_named(shape: tuple[int, ...]) -> None:
    result = posviz.parse("rope?head_dim=4").encode([0, 1])
    with pytest.raises(ParameterError) as caught:
        logits(result, np.ones((2, 4)), np.ones(shape))
    assert str(caught.value) == (
        f"attention: keys must have the axes (…, 2 positions, 4 head dimensions); got {shape}."
    )


def test_every_rotary_encoding_has_logits() -> None:
    for encoding in posviz.catalog():
        if issubclass(encoding, RotaryEncoding):
            spec = encoding()
            q = np.ones((3, spec.head_dim))
            assert logits(spec.encode([0, 1, 2]), q, q).shape == (3, 3)


HEADS = np.random.default_rng(11).standard_normal((3, 2, 5, 8))


def softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores)
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(
    ("link", "divisor"),
    [("t5?heads=2", 1.0), ("t5?heads=2&divides_logits=true", math.sqrt(8))],
)
def test_a_bias_is_added_to_logits_that_are_divided_or_not(link: str, divisor: float) -> None:
    q, k, v = HEADS
    result: Any = posviz.parse(link).encode(range(5))
    expected = q @ np.swapaxes(k, -1, -2) / divisor + result.matrix
    np.testing.assert_allclose(logits(result, q, k), expected, rtol=1e-13)
    np.testing.assert_allclose(output(result, q, k, v), softmax(expected) @ v, rtol=1e-12)
    given = q @ np.swapaxes(k, -1, -2) * 0.25 + result.matrix
    np.testing.assert_allclose(logits(result, q, k, scale=0.25), given, rtol=1e-13)


def test_a_causal_bias_masks_later_positions_unasked_and_any_other_when_asked() -> None:
    q, k, _ = HEADS
    at = [4, 0, 1, 2, 3]
    seen = np.asarray(at)[:, None] >= np.asarray(at)
    for link, asked in (("alibi?heads=2", False), ("t5?heads=2", True)):
        masked = weights(posviz.parse(link).encode(at), q, k, is_causal=asked)
        np.testing.assert_array_equal(masked > 0, np.broadcast_to(seen, masked.shape))
    free = weights(posviz.parse("t5?heads=2").encode(at), q, k)
    assert (free > 0).all()


def test_queries_without_a_head_axis_are_those_of_every_head() -> None:
    q, k = HEADS[0, 0], HEADS[1, 0]
    result = posviz.parse("alibi?heads=2").encode(range(5))
    both = logits(result, np.stack((q, q)), np.stack((k, k)))
    np.testing.assert_array_equal(logits(result, q, k), both)
    np.testing.assert_array_equal(logits(result, q[None], k[None]), both)


def test_terms_are_the_logits_of_their_own_queries_and_keys() -> None:
    terms = {"content": HEADS[0, :, :, :5], "position": HEADS[1, :, :, :5]}
    result = AttentionTerms(
        positions=np.arange(5.0),
        terms=terms,
        is_causal_only=True,
        value_rows=np.asarray([[1.0] * 8, [-1.0] * 8]),
        value_index=np.tril(np.ones((5, 5), dtype=int)),
    )
    summed = np.where(np.tril(np.ones((5, 5))) > 0, sum(terms.values()), -np.inf)
    np.testing.assert_array_equal(logits(result), summed)
    # Row 1 of the values' rows is added wherever a key is seen: -1 in all.
    values = HEADS[2]
    expected = softmax(summed) @ values - 1
    np.testing.assert_allclose(output(result, None, None, values), expected, rtol=1e-11)


def test_sides_that_rotate_apart_and_rotated_values_are_used() -> None:
    facts: dict[str, Any] = {
        "positions": np.arange(5.0),
        "inv_freq": np.asarray([1.0, 0.5, 0.25, 0.125]),
        "attention_factor": 1.0,
        "head_dim": 8,
        "rotary_dim": 8,
        "layout": "half_split",
    }
    q, k, v = HEADS
    gain = 0.9 ** np.arange(5.0)[:, None] * np.ones(4)
    scaled = ScaledRotation(query_gain=gain, key_gain=1 / gain, decay=np.full(4, 0.9), **facts)
    plain = logits(Rotation(**facts), q, k)
    distance = np.arange(5.0)[:, None] - np.arange(5.0)
    np.testing.assert_allclose(logits(scaled, q, k), plain * 0.9**distance, rtol=1e-12)
    turned = ValueRotation(rotates_scores=False, **facts)
    unturned = q @ np.swapaxes(k, -1, -2) / math.sqrt(8)
    np.testing.assert_allclose(logits(turned, q, k), unturned, rtol=1e-12)
    mixed = turned.mix(softmax(unturned), v)
    np.testing.assert_allclose(output(turned, q, k, v), mixed, rtol=1e-11)
    assert np.abs(mixed - softmax(unturned) @ v).max() > 0.1


def problem(call: Any, *args: Any, **given: Any) -> str:
    with pytest.raises(ParameterError) as caught:
        call(*args, **given)
    return str(caught.value)


def test_what_attention_cannot_use_is_named() -> None:
    q, k, v = HEADS
    bias = posviz.parse("alibi?heads=3").encode(range(5))
    assert problem(logits, bias, q, k) == (
        "attention: queries must have 3 heads, one for all, or no head axis, before their "
        "positions; got (2, 5, 8)."
    )
    assert problem(logits, bias) == "attention: queries and keys must be given for this result."
    assert problem(logits, bias, q[0], k[0, :, :4]) == (
        "attention: keys must have the axes (…, 5 positions, 8 head dimensions); got (5, 4)."
    )
    assert problem(output, bias, q[0], k[0], v[0, :3]) == (
        "attention: values must have the axes (…, 5 positions, head dimensions); got (3, 8)."
    )
    table = posviz.parse("sinusoidal?model_dim=8").encode(range(5))
    assert problem(logits, table, q, k) == (
        "attention: the vectors of a position table are added before the projections, so queries "
        "and keys made from that input already hold them."
    )
    terms = AttentionTerms(positions=np.arange(5.0), terms={"content": q[:, :, :5]})
    assert problem(logits, terms, scale=2.0) == (
        "attention: scale must be left out for terms, which have theirs; got 2.0."
    )
