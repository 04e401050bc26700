"""What the panels measure, kept for as long as nothing that it depends on changes.

Everything is keyed by a link and plain numbers, so that a control pays only for the encodings that
it changes. Whole rows of a context are thinned before they are kept.
"""

from __future__ import annotations

import functools
import math
from dataclasses import fields
from typing import Any

import numpy as np

from posviz import measures
from posviz.catalog import parse
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures.attention.decay import ScoreCurve
from posviz.figures.attention.receptive import Stack
from posviz.figures.attention.thinned import thinned
from posviz.measures import Content, ContextCurves
from posviz.parameters import ParameterError
from posviz.results import LogitRow
from posviz.ui.attention.lengths import longest_of

KEPT = 128
_LONGEST_ROW_KEPT = 1 << 18
CURVES_TO = 65536
"""Curves against context length go this far at least: a shorter context moves along them."""
_LENGTHS, _FEW_LENGTHS = 40, 12
_SPREAD_POINTS = 160
_DRAWS = 200
STACKED_CONTEXT = 4096
"""Tokens of the context whose weights are stacked: with k layers the row is k times as long."""

Frozen = tuple[tuple[str, Any], ...]
"""Named values that can be a key."""


def content_key(content: Content) -> Frozen:
    """A model of the content as a key; what does not matter for its kind is left out."""
    values = content.model_dump()
    if content.content in ("zero", "same"):
        values |= {"sigma": 1.0, "seed": 0}
    return tuple(values.items())


def content_of(key: Frozen) -> Content:
    """The model of the content that a key stands for."""
    return Content(**dict(key))


@functools.lru_cache(maxsize=8)
def _row(link: str, length: int) -> LogitRow:
    """A row with its score of equal content, which decay, weights and curves share."""
    return measures.scored(measures.logit_row(parse(link), length))


def row_of(link: str, length: int) -> LogitRow:
    """The row of a link; one of up to 2^18 tokens is kept, which is 2 MB."""
    if length > _LONGEST_ROW_KEPT:
        return measures.logit_row(parse(link), length)
    return _row(link, length)


def lengths_of(link: str, longest: int) -> np.ndarray:
    """Lengths up to the longest; few of them where each costs a matrix of all pairs."""
    most = _FEW_LENGTHS if parse(link).logit_row(1) is None else _LENGTHS
    return measures.context_lengths(min(longest, longest_of(link)), most)


@functools.lru_cache(maxsize=KEPT)
def by_length(link: str, longest: int, content: Frozen, head: int) -> ContextCurves:
    """Entropy, reach, needle and first token at lengths up to the longest."""
    spec = parse(link)
    lengths = lengths_of(link, longest)
    row = row_of(link, int(lengths[-1]))
    return measures.context_curves(spec, lengths, content=content_of(content), head=head, row=row)


@functools.lru_cache(maxsize=KEPT)
def at_length(link: str, length: int, content: Frozen, head: int) -> ContextCurves:
    """The same at one length, so that what is read at the cursor is its own value."""
    spec = parse(link)
    row = row_of(link, length)
    return measures.context_curves(spec, [length], content=content_of(content), head=head, row=row)


def joined(curves: ContextCurves, one: ContextCurves) -> ContextCurves:
    """The curves with one more point on them."""
    lengths = np.concatenate((curves.lengths, one.lengths))
    _, place = np.unique(lengths, return_index=True)
    columns = {
        field.name: np.concatenate((getattr(curves, field.name), getattr(one, field.name)))[place]
        for field in fields(ContextCurves)
    }
    return ContextCurves(**columns)


@functools.lru_cache(maxsize=KEPT)
def resolution(
    link: str, longest: int, content: Frozen, head: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and attention resolution."""
    spec = parse(link)
    lengths = lengths_of(link, longest)
    found = measures.resolution_curve(spec, lengths, content=content_of(content), head=head)
    return found.lengths, found.resolution


@functools.lru_cache(maxsize=KEPT)
def weights(
    link: str,
    length: int,
    content: Frozen,
    head: int,
    keep: int,
    within: tuple[float, float] | None,
) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """Thinned weights against distance, and the half-life."""
    profile = measures.weight_profile(
        parse(link), length, content=content_of(content), head=head, row=row_of(link, length)
    )
    return thinned(profile.weights, within=within, keep=keep), profile.half_life


@functools.lru_cache(maxsize=KEPT)
def equal_scores(
    link: str,
    length: int,
    match: float,
    head: int,
    keep: int,
    within: tuple[float, float] | None,
) -> tuple[ScoreCurve, str]:
    """(a) The score of equal q and k, and where it turns."""
    row = row_of(link, length)
    scores = np.asarray(
        measures.equal_scores(parse(link), length=length, match=match, head=head, row=row)
    )
    return ScoreCurve(*thinned(scores, within=within, keep=keep)), _turning(row, scores)


def _turning(row: LogitRow, scores: np.ndarray) -> str:
    """Where a sum of cosines first turns negative, or a bias outweighs the match: each a question
    of its own. Empty for what neither rotates nor is biased."""
    if row.inv_freq is not None:
        below = np.asarray(measures.alike(row, 0, row.length)) < 0
        found, never = "Σcos first negative at {:,}", "Σcos never negative"
    elif row.bias is not None and math.isinf(row.window):
        below = scores <= 0
        found, never = "the bias outweighs g from {:,} on", "the bias never outweighs g"
    else:
        return ""
    return found.format(int(np.argmax(below))) if below.any() else never


def spaced(length: int, keep: int) -> np.ndarray:
    """Whole distances, evenly spaced on a log axis, and one that is read there."""
    places = np.geomspace(1, max(1, length - 1), _SPREAD_POINTS).round()
    places = np.unique(places[places < length])
    return np.union1d(places, [float(keep)]) if 1 <= keep < length else places


@functools.lru_cache(maxsize=KEPT)
def independent_scores(
    link: str, length: int, sigma: float, seed: int, head: int, keep: int
) -> tuple[ScoreCurve, str]:
    """(b) Mean and spread of independent q and k, with one draw, and what many draws gave."""
    at = spaced(length, keep)
    found = measures.independent_scores(
        parse(link),
        at,
        length=length,
        sigma=sigma,
        draws=_DRAWS,
        examples=1,
        seed=seed,
        head=head,
    )
    curve = ScoreCurve(
        at,
        found.mean,
        band=(at, found.mean - found.spread, found.mean + found.spread),
        # One draw of what no rotation turns is a flat line, which says nothing.
        examples=[(at, one) for one in found.examples] if row_of(link, length).head_dim else (),
    )
    place = int(np.searchsorted(at, min(max(1, keep), float(at[-1]))))
    return curve, (
        f"at {at[place]:,.0f} σ is {found.spread[place]:.3g} by formula; {found.draws} draws have "
        f"mean {found.sampled_mean[place]:.2g}, σ {found.sampled_spread[place]:.3g}"
    )


@functools.lru_cache(maxsize=KEPT)
def given_scores(
    link: str,
    length: int,
    pair: tuple[float, int, tuple[float, ...], tuple[float, ...]],
    head: int,
    keep: int,
    within: tuple[float, float] | None,
) -> ScoreCurve | str:
    """(c) The score of one query and key: correlation, seed, typed numbers of each.

    A sentence where the encoding has no such thing.
    """
    spec = parse(link)
    size = measures.logit_row(spec, 1).head_dim or measures.HEAD_DIM
    correlation, seed, typed_query, typed_key = pair
    typed = np.resize(typed_query, size) if typed_query else None
    query, key = measures.correlated_pair(size, correlation, seed, query=typed)
    key = np.resize(typed_key, size) if typed_key else key
    try:
        scores = measures.given_scores(spec, query, key, length=length, head=head)
    except ParameterError as error:
        return str(error)
    return ScoreCurve(*thinned(np.asarray(scores), within=within, keep=keep))


@functools.lru_cache(maxsize=KEPT)
def stack(link: str, length: int, layers: int, content: Frozen, head: int) -> Stack:
    """Reach of up to so many stacked layers."""
    counts = np.unique(np.geomspace(1, layers, 6).round().astype(int))
    found = measures.receptive_field(
        parse(link),
        stacked_context(link, length, layers),
        layers=counts.tolist(),
        content=content_of(content),
        head=head,
    )
    return Stack(counts.astype(float), np.asarray(found.reach), np.asarray(found.half_reach))


def stacked_context(link: str, length: int, layers: int) -> int:
    """Tokens of the context whose weights are stacked: some thousand, or a whole window where that
    is longer and its layers are not too many."""
    window = measures.logit_row(parse(link), length).window
    wanted = STACKED_CONTEXT if math.isinf(window) else max(STACKED_CONTEXT, int(window) + 1)
    return min(length, wanted, measures.LONGEST_SUPPORT // layers)


@functools.lru_cache(maxsize=KEPT)
def beyond(link: str, length: int, trained: int) -> str:
    """How many pairs meet angles at this length that they never met in training; empty for what
    has no pairs, and within the trained window."""
    spec = parse(link)
    if not isinstance(spec, RotaryEncoding) or length <= trained:
        return ""
    found = measures.spectrum(spec, length=length, trained_length=trained)
    if not found.beyond_count:
        return "no pair beyond its trained arc"
    most = float(found.beyond.max())
    counted = f"{found.beyond_count} of {len(found.pairs)} pairs"
    times = f"{most:,.0f}" if most >= 100 else f"{most:.3g}"
    return f"{counted} beyond their trained arc, up to ×{times}"


@functools.lru_cache(maxsize=KEPT)
def neighbours(link: str, length: int) -> str:
    """How alike neighbouring positions are to a rotation; empty where there is none."""
    frequencies = measures.logit_row(parse(link), length).inv_freq
    if frequencies is None:
        return ""
    alike = float(measures.adjacent_similarity(frequencies))
    apart = float(measures.neighbour_granularity(frequencies))
    return f"one step: mean cos {alike:.4g}, granularity (mean sin) {apart:.3g}"


@functools.lru_cache(maxsize=KEPT)
def how_made(link: str) -> str:
    """What a reader must know of how the row of an encoding was made; empty for most."""
    return measures.logit_row(parse(link), 1).note
