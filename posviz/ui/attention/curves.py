"""What the panels measure, kept for as long as nothing that it depends on changes.

Everything is keyed by a link and plain numbers, so that a control pays only for the encodings that
it changes. Whole rows of a context are thinned before they are kept.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from posviz import measures
from posviz.catalog import parse
from posviz.figures.attention.bounds import Bounds
from posviz.figures.attention.decay import ScoreCurve
from posviz.figures.attention.receptive import Stack
from posviz.figures.attention.thinned import thinned
from posviz.measures import Content, ContextCurves, HeadProfiles, WeightWindow
from posviz.parameters import ParameterError
from posviz.results import LogitRow
from posviz.ui.attention.lengths import longest_of

_KEPT = 128
_LONGEST_ROW_KEPT = 1 << 18
CURVES_TO = 65536
"""Curves against context length go this far at least: a shorter context moves along them."""
_SPREAD_POINTS = 160
_DRAWS = 200
STACKED_CONTEXT = 4096
"""Tokens of the context whose weights are stacked: with k layers the row is k times as long."""
_BASES = 160
LONGEST_FOR_BASES = 1 << 17
"""Tokens; a scan of bases walks through every distance for each of them."""

Frozen = tuple[tuple[str, Any], ...]
"""Named values that can be a key."""


def content_key(content: Content) -> Frozen:
    """A model of the content as a key; what does not matter for its kind is left out."""
    values = content.model_dump()
    if content.content in ("equal", "same"):
        values |= {"sigma": 1.0, "seed": 0}
    return tuple(values.items())


def _content(key: Frozen) -> Content:
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


@functools.lru_cache(maxsize=_KEPT)
def by_length(link: str, longest: int, content: Frozen, head: int) -> ContextCurves:
    """Entropy, reach, needle and first token at lengths up to the longest."""
    spec = parse(link)
    lengths = measures.context_lengths(min(longest, longest_of(link)))
    row = row_of(link, int(lengths[-1]))
    return measures.context_curves(spec, lengths, content=_content(content), head=head, row=row)


@functools.lru_cache(maxsize=_KEPT)
def at_length(link: str, length: int, content: Frozen, head: int) -> ContextCurves:
    """The same at one length, so that what is read at the cursor is its own value."""
    spec = parse(link)
    row = row_of(link, length)
    return measures.context_curves(spec, [length], content=_content(content), head=head, row=row)


def joined(curves: ContextCurves, one: ContextCurves) -> ContextCurves:
    """The curves with one more point on them."""
    lengths = np.concatenate((curves.lengths, one.lengths))
    _, place = np.unique(lengths, return_index=True)
    columns = {
        field.name: np.concatenate((getattr(curves, field.name), getattr(one, field.name)))[place]
        for field in fields(ContextCurves)
    }
    return ContextCurves(**columns)


@functools.lru_cache(maxsize=_KEPT)
def resolution(
    link: str, longest: int, content: Frozen, head: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and attention resolution."""
    spec = parse(link)
    lengths = measures.context_lengths(min(longest, longest_of(link)))
    found = measures.resolution_curve(spec, lengths, content=_content(content), head=head)
    return found.lengths, found.resolution


@functools.lru_cache(maxsize=_KEPT)
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
        parse(link), length, content=_content(content), head=head, row=row_of(link, length)
    )
    return thinned(profile.weights, within=within, keep=keep), profile.half_life


@functools.lru_cache(maxsize=_KEPT)
def equal_scores(
    link: str,
    length: int,
    match: float,
    head: int,
    keep: int,
    within: tuple[float, float] | None,
) -> tuple[ScoreCurve, int | None]:
    """(a) The score of equal q and k, and the first distance at which it is below zero."""
    scores = np.asarray(measures.equal_scores(parse(link), length=length, match=match, head=head))
    below = scores < 0
    first = int(np.argmax(below)) if below.any() else None
    return ScoreCurve(*thinned(scores, within=within, keep=keep)), first


def _spaced(length: int) -> np.ndarray:
    spaced = np.geomspace(1, max(1, length - 1), _SPREAD_POINTS).round()
    return np.unique(spaced[spaced < length])


@functools.lru_cache(maxsize=_KEPT)
def independent_scores(
    link: str, length: int, sigma: float, seed: int, head: int, keep: int
) -> ScoreCurve:
    """(b) Mean and spread of independent q and k, with one draw."""
    spaced = _spaced(length)
    at = np.union1d(spaced, [float(keep)]) if 1 <= keep < length else spaced
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
    x = at
    return ScoreCurve(
        x,
        found.mean,
        band=(x, found.mean - found.spread, found.mean + found.spread),
        examples=[(x, one) for one in found.examples],
    )


@functools.lru_cache(maxsize=_KEPT)
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
    query, key = measures.correlated_pair(size, correlation, seed)
    query = np.resize(typed_query, size) if typed_query else query
    key = np.resize(typed_key, size) if typed_key else key
    try:
        scores = measures.given_scores(spec, query, key, length=length, head=head)
    except ParameterError as error:
        return str(error)
    return ScoreCurve(*thinned(np.asarray(scores), within=within, keep=keep))


@functools.lru_cache(maxsize=_KEPT)
def heads(link: str, length: int, content: Frozen) -> HeadProfiles:
    """Weights of every head."""
    return measures.head_profiles(parse(link), length, content=_content(content))


@functools.lru_cache(maxsize=_KEPT)
def window(link: str, place: int, size: int, content: Frozen, head: int) -> WeightWindow:
    """A window of the matrix around a place, or at the end of what the encoding can give."""
    longest = longest_of(link)
    size = min(size, longest)
    place = min(place, longest - max(1, size // 2))
    return measures.weight_window(
        parse(link), place, window=size, content=_content(content), head=head
    )


@functools.lru_cache(maxsize=_KEPT)
def stack(link: str, length: int, layers: int, content: Frozen, head: int) -> Stack:
    """Reach of up to so many stacked layers."""
    counts = np.unique(np.geomspace(1, layers, 6).round().astype(int))
    found = measures.receptive_field(
        parse(link),
        min(length, STACKED_CONTEXT),
        layers=counts.tolist(),
        content=_content(content),
        head=head,
    )
    return Stack(counts.astype(float), np.asarray(found.reach), np.asarray(found.half_reach))


@functools.lru_cache(maxsize=_KEPT)
def bounds(link: str, length: int) -> tuple[Bounds, tuple[float, float]] | None:
    """Bounds of the sum of waves, and the true and the attained error between whole positions;
    None where there is no plain rotation."""
    row = measures.logit_row(parse(link), length)
    if row.inv_freq is None or row.log_kept is not None or row.seen is not None:
        return None
    at, frequencies = _spaced(length), row.inv_freq
    relative = np.asarray(measures.decay_bound(at, frequencies))
    measure = Bounds(
        distances=at,
        equal=np.abs(measures.direct_cos_mean(at, frequencies)),
        relative=relative,
        extrapolation=2 * relative,
    )
    return measure, (
        measures.interpolation_bound(frequencies),
        measures.largest_interpolation_error(frequencies),
    )


@functools.lru_cache(maxsize=_KEPT)
def bases(length: int, head_dim: int, base: float) -> measures.BaseSearch:
    """Bases around one, and how far each holds."""
    high = max(30 * base, 4 * measures.fitted_lower_bound(length))
    return measures.valid_bases(
        length, head_dim=head_dim, low=max(2.0, base / 30), high=high, count=_BASES
    )


@functools.lru_cache(maxsize=_KEPT)
def has_stages(link: str, length: int) -> bool:
    """Whether there is a rotation or a bias whose stages can be rounded."""
    row = measures.logit_row(parse(link), length)
    rotates = row.inv_freq is not None and row.seen is None
    return rotates or (row.bias is not None and not row.varies)


class FeelsPlace(NamedTuple):
    """What makes the logit of one key depend on where it lies."""

    turns: bool
    """The score of equal content changes with distance: a rotation, or vectors per position."""
    placed: bool
    """A bias, or the end of a window, acts whatever the content is."""


@functools.lru_cache(maxsize=512)
def feels_place(link: str, longest: int) -> FeelsPlace:
    """Whether it matters where the needle lies, and whether it is turned, up to some length."""
    row = measures.logit_row(parse(link), 1)
    turns = row.inv_freq is not None or row.alike is not None
    return FeelsPlace(turns, row.bias is not None or row.window < longest - 1)


Stages = tuple[tuple[str, np.ndarray, np.ndarray], ...]


@functools.lru_cache(maxsize=_KEPT)
def precision(link: str, length: int, dtype: str, head: int) -> tuple[Stages, tuple[str, ...], str]:
    """Errors of every stage that an encoding has, the verdicts, and what the errors are of."""
    row = measures.logit_row(parse(link), length)
    lenses: Mapping[str, Any]
    if row.inv_freq is not None and row.seen is None:
        lenses = {
            stage: measures.precision_lens(row.inv_freq, length=length, stage=stage, dtype=dtype)
            for stage in ("positions", "inv_freq", "angles", "tables")
        }
        errors = [(name, one.distances, one.score_errors) for name, one in lenses.items()]
        unit = "score, 1 at distance 0"
    elif row.bias is not None and not row.varies:
        bias, chosen = row.bias, min(head, row.heads - 1)
        lenses = {
            stage: measures.bias_precision(
                lambda at: np.asarray(bias(at))[chosen], length=length, stage=stage, dtype=dtype
            )
            for stage in ("positions", "bias", "logits")
        }
        errors = [(name, one.distances, one.logit_errors) for name, one in lenses.items()]
        unit = "logit"
    else:
        return (), (), ""
    said = tuple(f"{name}: {one.verdict}. {one.reason}" for name, one in lenses.items())
    return tuple(errors), said, unit
