"""Attention weights at equal content: what positions alone make of the softmax."""

from __future__ import annotations

import numpy as np

from posviz.results import AttentionBias, AttentionMask, AttentionTerms, Result, ToeplitzBias


def position_logits(result: Result, head: int, rows: slice) -> np.ndarray | None:
    """What a result alone adds to the logits of some queries of one head: (queries, keys).

    Minus infinity where a key is masked; the logits themselves for terms, which hold the content.
    None for a result that adds nothing to logits.
    """
    if isinstance(result, ToeplitzBias):
        positions = np.asarray(result.positions)
        gaps = positions[rows, None] - positions[None, :]
        place = np.searchsorted(np.asarray(result.distances), gaps)
        found = np.asarray(result.by_distance)[head][place]
    elif isinstance(result, AttentionBias):
        found = np.asarray(result.matrix)[head, rows]
    elif isinstance(result, AttentionTerms):
        found = sum(np.asarray(term)[head, rows] for term in result.terms.values())
    elif isinstance(result, AttentionMask):
        return np.asarray(result.matrix)[rows]
    else:
        return None
    if result.is_causal_only:
        positions = np.asarray(result.positions)
        found = np.where(positions[None, :] > positions[rows, None], -np.inf, found)
    return np.asarray(found)


def softmax_rows(logits: np.ndarray) -> np.ndarray:
    """Softmax over the last axis; a row without a visible key stays zero."""
    top = logits.max(axis=-1, keepdims=True)
    raised = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = raised.sum(axis=-1, keepdims=True)
    return np.asarray(raised / np.where(total > 0, total, 1))
