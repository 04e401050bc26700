"""Means over windows of single-token losses; light."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posviz.lab.extension.records import Numbers

MOST_POINTS = 400


def windowed(losses: Any, window: int, most: int = MOST_POINTS) -> dict[str, Any]:
    """Running mean of losses with one standard error, at evenly spaced positions.

    mean(p) = Σ loss_j / n over the tokens j with |j - p| ≤ (window - 1)/2 that have been read, and
    error = s/√n with s² = Σ (loss_j - mean)² / (n - 1).

    Parameters
    ----------
    losses : (tokens - 1,) nats; the first is that of token 1, since token 0 is given.
    window : tokens under a mean; near both ends there are fewer.
    most : number of positions at most.

    Returns
    -------
    ``positions`` (tokens, counted from 0; the middle of a window), ``mean``, ``low``, ``high``
    (nats), ``counts``: tuples of equal length; empty below two losses.
    """
    values = np.asarray(losses, dtype=np.float64)
    size = len(values)
    if size < 2:
        return {"positions": (), "mean": (), "low": (), "high": (), "counts": ()}
    starts = _starts(size, window, most)
    begin, end = np.maximum(starts, 0), np.minimum(starts + window, size)
    counts = end - begin
    centre = float(values.mean())
    first = np.concatenate([[0.0], np.cumsum(values - centre)])
    second = np.concatenate([[0.0], np.cumsum((values - centre) ** 2)])
    shift = (first[end] - first[begin]) / counts
    spread = np.maximum(second[end] - second[begin] - counts * shift**2, 0.0)
    error = np.sqrt(spread / (counts - 1) / counts)
    mean = centre + shift
    return {
        "positions": _numbers(1 + starts + (window - 1) / 2),
        "mean": _numbers(mean),
        "low": _numbers(mean - error),
        "high": _numbers(mean + error),
        "counts": tuple(int(count) for count in counts),
    }


def _starts(size: int, window: int, most: int) -> Any:
    """First loss under each mean, before the text where it is cut off; two losses at least."""
    low, high = -((window - 1) // 2), size - 1 - window // 2
    return np.unique(np.linspace(low, high, min(most, high - low + 1)).round().astype(np.int64))


def difference(one: Any, other: Any, trained_window: int, mean_window: int) -> dict[str, Any]:
    """Of one - other, token by token: the running mean of :func:`windowed`, and two means.

    ``within`` : mean, standard error and number of the tokens before token trained_window, which
    were all predicted within the window; ``beyond`` : of those from it on; ``last`` : of the last
    quarter of all tokens.
    """
    gaps = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    first_beyond = max(trained_window - 1, 0)  # the first loss is that of token 1
    return {
        **windowed(gaps, mean_window),
        "within": mean_and_error(gaps[:first_beyond]),
        "beyond": mean_and_error(gaps[first_beyond:]),
        "last": mean_and_error(gaps[first_of_last(len(gaps) + 1) :]),
    }


def first_of_last(length: int) -> int:
    """The first loss of the last quarter of the tokens."""
    return max(3 * length // 4 - 1, 0)


def mean_and_error(losses: Any) -> Numbers | None:
    """Mean, standard error and number of losses; None for fewer than two."""
    values = np.asarray(losses, dtype=np.float64)
    if len(values) < 2:
        return None
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()), error, float(len(values))


def _numbers(values: Any) -> Numbers:
    return tuple(float(value) for value in values)
