"""What the core predicts of a head's mean attention against distance; NumPy only."""

from __future__ import annotations

import numpy as np

from posviz.encodings.base import Encoding
from posviz.measures import equal_scores, given_scores
from posviz.measures.observed import expected_by_distance


def from_equal_content(spec: Encoding, count: int, match: float) -> np.ndarray:
    """Mean attention at distances 0 … count-1 where every key equals its query: (count,).

    The softmax of match·c(δ), with c the mean of the cosines of the model's own frequencies: what
    the rotation does to content that is the same everywhere. A prediction, not a fit.
    """
    return expected_by_distance(equal_scores(spec, length=count, match=match))


def from_mean_content(
    spec: Encoding, queries: np.ndarray, keys: np.ndarray, count: int
) -> np.ndarray:
    """The same where every query is one query and every key one key: (..., count).

    Parameters
    ----------
    queries, keys : (..., head_dim) before the rotation, a head's means.
    """
    logits = mean_logits(spec, queries, keys, count)
    return expected_by_distance(logits)


def mean_logits(spec: Encoding, queries: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """Logits of one query and one key for each head, at distances 0 … count-1: (..., count)."""
    shape = queries.shape[:-1]
    pairs = zip(
        queries.reshape(-1, queries.shape[-1]), keys.reshape(-1, keys.shape[-1]), strict=True
    )
    found = [np.asarray(given_scores(spec, q, k, length=count)) for q, k in pairs]
    return np.stack(found).reshape(*shape, count)


def from_no_positions(count: int) -> np.ndarray:
    """The same where all logits are equal: (count,).

    It falls with distance all the same, since far keys are seen by late queries only, which share
    their attention among many: what a prediction has to beat.
    """
    return expected_by_distance(np.zeros(count))


def correlation(measured: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """How well a prediction tells where attention is more than without positions: (...,).

    The correlation of ln(measured/flat) with ln(predicted/flat) over the nearer half of the
    distances, with flat the curve of :func:`from_no_positions`: the fall that the two share with
    any causal attention counts for neither. Beyond that half, few queries have a key at the
    distance. Distances without any weight are left out; 0 where one of the two does not vary.
    """
    near = slice(0, max(2, measured.shape[-1] // 2))
    flat = from_no_positions(measured.shape[-1])[near]
    one, other = (values[..., near].astype(float) / flat for values in (measured, predicted))
    both = (one > 0) & (other > 0)
    logs = [np.log(np.where(both, values, 1.0)) for values in (one, other)]
    count = np.maximum(both.sum(axis=-1, keepdims=True), 1)
    centred = [
        np.where(both, log - np.where(both, log, 0).sum(axis=-1, keepdims=True) / count, 0)
        for log in logs
    ]
    sizes = np.prod([np.sqrt((c * c).sum(axis=-1)) for c in centred], axis=0)
    product = (centred[0] * centred[1]).sum(axis=-1)
    return np.asarray(np.where(sizes > 1e-12, product / np.maximum(sizes, 1e-12), 0.0))
