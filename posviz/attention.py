"""Logits, weights and outputs of attention, from any result and given queries, keys and values.

One code for NumPy and torch: queries and keys decide, and must be of the result's kind.
"""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace

from posviz.parameters import ParameterError
from posviz.results import (
    EVERY,
    Array,
    AttentionBias,
    AttentionMask,
    AttentionTerms,
    PositionTable,
    RelativeRotation,
    Result,
    Rotation,
    Rows,
    split_pairs,
)

RotaryResult = Rotation | RelativeRotation


def logits(
    result: Result,
    queries: Array | None = None,
    keys: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    rows: Rows = EVERY,
) -> Array:
    """What the softmax gets, by the kind of the result, with c the scale.

    A rotation: z_mn = c · t · a_m · (R_m q_m)·(R_n k_n), with t the softmax factor and a_m the
    query scale; the attention factor enters through the rotation, so by its square and for the
    rotated dimensions only. A bias: z_mn = c q_m·k_n + B_mn. A mask: z_mn = c q_m·k_n + M_mn, M
    being 0 or minus infinity. Terms: their sum, for the queries and keys they were made from.

    Parameters
    ----------
    result : for the positions of the queries and keys.
    queries, keys : (..., positions, head_dim), not rotated yet; for a bias (..., heads, positions,
        head_dim), or without a head axis for the same ones in every head. Terms hold their own:
        none are needed, and any given are not looked at.
    is_causal : keys at later positions get minus infinity; they always do where the result is
        causal only.
    scale : c; by default 1/√head_dim, or 1 where a bias says that q·k is not divided. A head with
        dimensions outside the spec (MLA) has its own. Terms have theirs inside.
    rows : which queries to give, of those that stand at all positions; every one by default.

    Returns
    -------
    (..., queries, keys), with a head axis before them for a bias and for terms.

    Raises
    ------
    ParameterError : queries or keys of other axes; a scale for terms; a table of vectors, which are
        added before the projections; a result that says nothing about logits.
    """
    scores = _unmasked(result, queries, keys, scale, rows)
    if not (is_causal or getattr(result, "is_causal_only", False)):
        return scores
    later = result.positions[None, :] > result.positions[rows][:, None]
    xp = array_namespace(scores)
    return xp.where(later, xp.full_like(scores, -math.inf), scores)


def weights(
    result: Result,
    queries: Array | None = None,
    keys: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    rows: Rows = EVERY,
) -> Array:
    """Softmax of :func:`logits` over the keys: (..., queries, keys), each row summing to 1."""
    scores = logits(result, queries, keys, is_causal=is_causal, scale=scale, rows=rows)
    xp = array_namespace(scores)
    raised = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return raised / xp.sum(raised, axis=-1, keepdims=True)


def output(
    result: Result,
    queries: Array | None,
    keys: Array | None,
    values: Array,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    rows: Rows = EVERY,
) -> Array:
    """What attention gives out, before its last projection: (..., queries, head_dim).

    Σ_n a_mn v_n with the :func:`weights` a, and whatever the result does to values: vectors added
    to them (Shaw), or a rotation there and back (VO-RoPE).

    Raises
    ------
    ParameterError : as :func:`logits`, and for values whose last but one axis is not the positions.
    """
    count = result.positions.shape[0]
    if len(values.shape) < 2 or values.shape[-2] != count:
        raise ParameterError(
            f"attention: values must have the axes (…, {count} positions, head dimensions); "
            f"got {tuple(values.shape)}."
        )
    shares = weights(result, queries, keys, is_causal=is_causal, scale=scale, rows=rows)
    return result.mix(shares, values, rows)


def _unmasked(
    result: Result, queries: Array | None, keys: Array | None, scale: float | None, rows: Rows
) -> Array:
    if isinstance(result, AttentionTerms):
        if scale is not None:
            raise ParameterError(
                f"attention: scale must be left out for terms, which have theirs; got {scale}."
            )
        return result.logits[..., rows, :]
    if isinstance(result, PositionTable):
        raise ParameterError(
            f"attention: the vectors of a position table are {result.operation} before the "
            "projections, so queries and keys made from that input already hold them."
        )
    if not isinstance(result, Rotation | RelativeRotation | AttentionBias | AttentionMask):
        raise ParameterError(
            f"attention: a {type(result).__name__} says nothing about the logits of queries and "
            "keys."
        )
    if queries is None or keys is None:
        raise ParameterError("attention: queries and keys must be given for this result.")
    if isinstance(result, Rotation | RelativeRotation):
        return _rotary(result, queries, keys, scale, rows)
    return _biased(result, queries, keys, scale, rows)


def _rotary(
    result: RotaryResult, queries: Array, keys: Array, scale: float | None, rows: Rows
) -> Array:
    for name, vectors in (("queries", queries), ("keys", keys)):
        _check_axes(name, vectors, (result.positions.shape[0], result.head_dim))
    xp = array_namespace(queries, keys)
    if isinstance(result, Rotation):
        turned = result.rotate_queries(queries)[..., rows, :]
        products = xp.matmul(turned, xp.matrix_transpose(result.rotate_keys(keys)))
    else:
        distance = result.relative_distance[rows, :]
        products = remapped_products(result, queries[..., rows, :], keys, distance)
    scores = products * content_scale(result, result.head_dim, scale)
    return scores if result.query_scale is None else scores * result.query_scale[rows][:, None]


def content_scale(result: Result, head_dim: int, scale: float | None = None) -> float:
    """The factor on q·k that all queries share: c · t, see :func:`logits`."""
    is_divided = getattr(result, "divides_logits", True)
    usual = 1 / math.sqrt(head_dim) if is_divided else 1.0
    return (usual if scale is None else scale) * float(getattr(result, "softmax_factor", 1.0))


def _biased(
    result: AttentionBias | AttentionMask,
    queries: Array,
    keys: Array,
    scale: float | None,
    rows: Rows,
) -> Array:
    """c q·k + matrix; the matrix of a bias has a head axis, that of a mask has none."""
    head_dim = queries.shape[-1] if len(queries.shape) else 0
    for name, vectors in (("queries", queries), ("keys", keys)):
        _check_axes(name, vectors, (result.positions.shape[0], head_dim))
        if isinstance(result, AttentionBias):
            _check_heads(name, vectors, result.heads)
    xp = array_namespace(queries, keys)
    products = xp.matmul(queries[..., rows, :], xp.matrix_transpose(keys))
    return products * content_scale(result, head_dim, scale) + result.block(rows)


def _check_axes(name: str, vectors: Array, expected: tuple[int, int]) -> None:
    if tuple(vectors.shape[-2:]) != expected:
        raise ParameterError(
            f"attention: {name} must have the axes (…, {expected[0]} positions, "
            f"{expected[1]} head dimensions); got {tuple(vectors.shape)}."
        )


def _check_heads(name: str, vectors: Array, heads: int) -> None:
    if len(vectors.shape) > 2 and vectors.shape[-3] not in (1, heads):
        raise ParameterError(
            f"attention: {name} must have {heads} heads, one for all, or no head axis, before "
            f"their positions; got {tuple(vectors.shape)}."
        )


def remapped_products(
    result: RelativeRotation, queries: Array, keys: Array, distance: Array
) -> Array:
    """q·k with pair i of the two turned by δ'·f_i against each other: (..., queries, keys).

    Pair by pair, so that no array has queries × keys × pairs numbers. ``distance`` is δ' as
    (queries, keys): that of the result, or of a block of queries.
    """
    xp: Any = array_namespace(queries, keys)
    first_q, second_q = split_pairs(queries, result.rotary_dim, result.layout)
    first_k, second_k = split_pairs(keys, result.rotary_dim, result.layout)
    rotated = xp.zeros_like(xp.matmul(queries, xp.matrix_transpose(keys)))
    for pair in range(result.inv_freq.shape[0]):
        angle = distance * result.inv_freq[pair]
        q1, q2 = first_q[..., pair, None], second_q[..., pair, None]
        k1, k2 = first_k[..., None, :, pair], second_k[..., None, :, pair]
        rotated = rotated + (q1 * k1 + q2 * k2) * xp.cos(angle)
        rotated = rotated + (q1 * k2 - q2 * k1) * xp.sin(angle)
    tail_q, tail_k = queries[..., result.rotary_dim :], keys[..., result.rotary_dim :]
    tail = xp.matmul(tail_q, xp.matrix_transpose(tail_k))
    return rotated * result.attention_factor**2 + tail
