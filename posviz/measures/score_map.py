"""Scores of all queries and keys at once, averaged to what a picture can show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.decay import ScoreDecay, score_decay
from posviz.measures.lengths import at_least
from posviz.measures.split_angle import Floats, cos_mean_at
from posviz.results import frozen


@dataclass(frozen=True, kw_only=True)
class ScoreMap:
    """Scores of equal queries and keys, causal.

    Attributes
    ----------
    edges : (cells + 1,) token at which each cell begins, and the end of the last one.
    scores : (queries as cells, keys as cells); NaN where every key of a cell lies in the future.
    largest : the largest absolute score, for colours centred at zero.
    averaged : True where a cell holds the mean over its keys for its last query; False where it
        holds the score of its middle key, as it does for methods that remap distances.
    """

    edges: Floats
    scores: Floats
    largest: float
    averaged: bool


def score_map(
    spec: RotaryEncoding, *, length: int, cells: int = 512, decay: ScoreDecay | None = None
) -> ScoreMap:
    """The map at this length in at most cells × cells cells of equal width.

    Each row stands for the last query of its cell; tokens after the last whole cell are left out.
    Where the score depends on the distance alone nothing is sampled and no n × n array is formed;
    ``decay`` saves that curve's work where the caller has it already.

    Raises
    ------
    ParameterError : a length or a number of cells below 1.
    """
    at_least("score map", "length", length, 1)
    at_least("score map", "cells", cells, 1)
    width = math.ceil(length / cells)
    edges = np.arange(length // width + 1, dtype=np.float64) * width
    queries = edges[1:] - 1
    if spec.remaps_distance:
        scores = _sampled(spec, queries, edges, length)
    else:
        decay = decay or score_decay(spec, length=length)
        scores = _averaged(spec, queries, width, length, decay.scores)
    # The last row holds every distance that any row holds; only a query scale sets rows apart.
    rows = (
        scores
        if spec.remaps_distance or spec.query_scale(queries, length) is not None
        else (scores[-1])
    )
    return ScoreMap(
        largest=float(np.nanmax(np.abs(rows))),
        edges=frozen(edges),
        scores=frozen(scores),
        averaged=not spec.remaps_distance,
    )


def _averaged(
    spec: RotaryEncoding, queries: Floats, width: int, length: int, decay: Floats
) -> Floats:
    cells = queries.size
    # Seen from the last query of its cell, the keys of the cell t before it stand at distances
    # t·width … (t+1)·width - 1: the whole map is these few means, one diagonal each.
    mean = decay[: cells * width].reshape(cells, width).mean(axis=1)
    diagonals = np.r_[mean[::-1], np.full(cells - 1, np.nan)]
    scores = np.lib.stride_tricks.sliding_window_view(diagonals, cells)[::-1]
    scale = _query_ratio(spec, queries, length)
    return scores if scale is None else scores * scale


def _sampled(spec: RotaryEncoding, queries: Floats, edges: Floats, length: int) -> Floats:
    keys = np.floor((edges[:-1] + edges[1:] - 1) / 2)
    query, key = np.meshgrid(queries, keys, indexing="ij")
    past = key <= query
    seen = np.asarray(spec.relative_distance(query[past], key[past]), dtype=float)
    values, place = np.unique(seen, return_inverse=True)
    mean = cos_mean_at(values, np.array(spec.frequencies(length)))
    gain = spec.magnitude(length) ** 2 * spec.softmax_magnitude(length)
    scores = np.full(query.shape, np.nan)
    scores[past] = mean[place] * gain
    scale = spec.query_scale(queries, length)
    return scores if scale is None else scores * np.asarray(scale)[:, None]


def _query_ratio(spec: RotaryEncoding, queries: Floats, length: int) -> Floats | None:
    """Scale of each row against that of the last query, which the decay curve carries."""
    scale = spec.query_scale(np.r_[queries, length - 1.0], length)
    if scale is None:
        return None
    every = np.asarray(scale, dtype=float)
    return np.asarray(every[:-1] / every[-1])[:, None]
