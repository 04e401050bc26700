"""Attention weights at equal content: what positions alone make of the softmax."""

from __future__ import annotations

import numpy as np

from posviz.measures.blocks import BlockMeans, banded_block_means, toeplitz_block_means
from posviz.results import AttentionBias, AttentionMask, AttentionTerms, Result, ToeplitzBias

_ALL = slice(None)


def position_logits(
    result: Result, head: int, rows: slice, keys: slice = _ALL
) -> np.ndarray | None:
    """What a result alone adds to the logits of some queries of one head: (queries, keys).

    Minus infinity where a key is masked; the logits themselves for terms, which hold the content.
    None for a result that adds nothing to logits. Only the rows and keys asked for are formed where
    the result is known by distance.
    """
    if isinstance(result, ToeplitzBias):
        found = _by_distance(result, np.asarray(result.by_distance)[head], rows, keys)
    elif isinstance(result, AttentionBias):
        found = np.asarray(result.matrix)[head, rows, keys]
    elif isinstance(result, AttentionTerms):
        found = np.sum(
            [np.asarray(term)[head, rows, keys] for term in result.terms.values()], axis=0
        )
    elif isinstance(result, AttentionMask):
        return _by_distance(result, np.where(np.asarray(result.visible), 0, -np.inf), rows, keys)
    else:
        return None
    if result.is_causal_only:
        positions = np.asarray(result.positions)
        found = np.where(positions[None, keys] > positions[rows, None], -np.inf, found)
    return np.asarray(found)


def logit_blocks(result: AttentionBias, head: int, most: int) -> BlockMeans:
    """Means of :func:`position_logits` over blocks of queries and keys: (blocks, blocks).

    Only keys that are seen count; NaN where a block has none. A bias that is known by distance
    never becomes a matrix of all positions.
    """
    if isinstance(result, ToeplitzBias) and _is_even(result):
        known = np.asarray(result.by_distance)[head]
        masked = result.is_causal_only & (np.asarray(result.distances) < 0)
        return toeplitz_block_means(_seen(np.where(masked, -np.inf, known)), most)

    def rows(wanted: slice) -> np.ndarray:
        found = position_logits(result, head, wanted)
        assert found is not None
        return _seen(found)

    return banded_block_means(rows, len(result.positions), most)


def seen_blocks(mask: AttentionMask, most: int) -> BlockMeans:
    """Share of the keys that are seen in each block of queries and keys: (blocks, blocks)."""
    visible = np.asarray(mask.visible, dtype=float)
    if _is_even(mask):
        return toeplitz_block_means(visible, most)
    return banded_block_means(
        lambda rows: _by_distance(mask, visible, rows, _ALL), len(mask.positions), most
    )


def softmax_rows(logits: np.ndarray) -> np.ndarray:
    """Softmax over the last axis; a row without a visible key stays zero."""
    top = logits.max(axis=-1, keepdims=True)
    raised = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = raised.sum(axis=-1, keepdims=True)
    return np.asarray(raised / np.where(total > 0, total, 1))


def _by_distance(
    result: ToeplitzBias | AttentionMask, known: np.ndarray, rows: slice, keys: slice
) -> np.ndarray:
    """Numbers known by distance for some queries and keys: (queries, keys)."""
    positions = np.asarray(result.positions)
    gaps = positions[rows, None] - positions[None, keys]
    return np.asarray(known[np.searchsorted(np.asarray(result.distances), gaps)])


def _is_even(result: ToeplitzBias | AttentionMask) -> bool:
    """Whether the distances stand for the diagonals of the matrix, one each."""
    positions = np.asarray(result.positions)
    steps = np.diff(positions)
    even = bool((steps == steps[0]).all() and steps[0] > 0) if len(steps) else True
    return even and len(result.distances) == 2 * len(positions) - 1


def _seen(logits: np.ndarray) -> np.ndarray:
    """Logits with NaN for what is masked."""
    return np.where(np.isfinite(logits), logits, np.nan)
