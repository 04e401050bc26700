"""Logits and weights of attention, from a rotary result and given queries and keys.

One code for NumPy and torch: queries and keys decide, and must be of the result's kind.
"""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace

from posviz.parameters import ParameterError
from posviz.results import Array, RelativeRotation, Rotation, split_pairs

RotaryResult = Rotation | RelativeRotation


def logits(
    result: RotaryResult,
    queries: Array,
    keys: Array,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """What the softmax gets: q·k after rotation, times every factor of the result.

    z_mn = c · t · a_m · (R_m q_m)·(R_n k_n), with c the scale, t the softmax factor and a_m the
    query scale; the attention factor enters through the rotation, so by its square and for the
    rotated dimensions only.

    Parameters
    ----------
    result : Rotation or RelativeRotation, for the positions of the queries and keys.
    queries, keys : (..., positions, head_dim), not rotated yet.
    is_causal : keys at later positions get minus infinity.
    scale : c; by default 1/√head_dim. A head with dimensions outside the spec (MLA) has its own.

    Returns
    -------
    (..., queries, keys)

    Raises
    ------
    ParameterError : queries or keys whose last two axes are not (positions, head_dim).
    """
    _check_shape(result, "queries", queries)
    _check_shape(result, "keys", keys)
    xp = array_namespace(queries, keys)
    if isinstance(result, Rotation):
        products = xp.matmul(result.rotate(queries), _swapped(result.rotate(keys), xp))
    else:
        products = _remapped_products(result, queries, keys, xp)
    factor = (1 / math.sqrt(result.head_dim) if scale is None else scale) * result.softmax_factor
    scores = products * factor
    if result.query_scale is not None:
        scores = scores * result.query_scale[:, None]
    if is_causal:
        later = result.positions[None, :] > result.positions[:, None]
        scores = xp.where(later, xp.full_like(scores, -math.inf), scores)
    return scores


def weights(
    result: RotaryResult,
    queries: Array,
    keys: Array,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Softmax of :func:`logits` over the keys: (..., queries, keys), each row summing to 1."""
    scores = logits(result, queries, keys, is_causal=is_causal, scale=scale)
    xp = array_namespace(scores)
    raised = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return raised / xp.sum(raised, axis=-1, keepdims=True)


def _check_shape(result: RotaryResult, name: str, vectors: Array) -> None:
    expected = (result.positions.shape[0], result.head_dim)
    if tuple(vectors.shape[-2:]) != expected:
        raise ParameterError(
            f"attention: {name} must have the axes (…, {expected[0]} positions, "
            f"{expected[1]} head dimensions); got {tuple(vectors.shape)}."
        )


def _swapped(vectors: Array, xp: Any) -> Array:
    return xp.matrix_transpose(vectors)


def _remapped_products(result: RelativeRotation, queries: Array, keys: Array, xp: Any) -> Array:
    """q·k with pair i of the two turned by δ'·f_i against each other: (..., queries, keys).

    Pair by pair, so that no array has queries × keys × pairs numbers.
    """
    first_q, second_q = split_pairs(queries, result.rotary_dim, result.layout)
    first_k, second_k = split_pairs(keys, result.rotary_dim, result.layout)
    rotated = xp.zeros_like(xp.matmul(queries, _swapped(keys, xp)))
    for pair in range(result.inv_freq.shape[0]):
        angle = result.relative_distance * result.inv_freq[pair]
        q1, q2 = first_q[..., pair, None], second_q[..., pair, None]
        k1, k2 = first_k[..., None, :, pair], second_k[..., None, :, pair]
        rotated = rotated + (q1 * k1 + q2 * k2) * xp.cos(angle)
        rotated = rotated + (q1 * k2 - q2 * k1) * xp.sin(angle)
    tail_q, tail_k = queries[..., result.rotary_dim :], keys[..., result.rotary_dim :]
    return rotated * result.attention_factor**2 + xp.matmul(tail_q, _swapped(tail_k, xp))
