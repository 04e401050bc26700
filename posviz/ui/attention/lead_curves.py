"""What the panels of one encoding measure, kept for as long as nothing it depends on changes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posviz import measures
from posviz.catalog import parse
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures.attention.bounds import Bounds
from posviz.measures import HeadProfiles, WeightWindow
from posviz.results import LogitRow
from posviz.ui.attention.curves import KEPT, Frozen, content_of, spaced
from posviz.ui.attention.lengths import longest_of

_BASES = 400
LONGEST_FOR_BASES = 1 << 17
"""Tokens; a scan of bases walks through every distance for each of them."""
_BLOCK = 1 << 16
"""Distances whose bias is worked out at a time."""


@functools.lru_cache(maxsize=KEPT)
def heads(link: str, length: int, content: Frozen) -> HeadProfiles:
    """Weights of every head."""
    return measures.head_profiles(parse(link), length, content=content_of(content))


@functools.lru_cache(maxsize=KEPT)
def window(
    link: str, length: int, place: int, size: int, content: Frozen, head: int
) -> WeightWindow:
    """A window of the matrix of one context around a place, moved to lie inside the context."""
    last = min(length, longest_of(link))
    size = min(size, last)
    place = min(place, last - (size + 1) // 2)
    return measures.weight_window(
        parse(link), place, window=size, content=content_of(content), head=head
    )


@functools.lru_cache(maxsize=KEPT)
def bounds(link: str, length: int, keep: int) -> tuple[Bounds, tuple[float, float]] | None:
    """Bounds of the sum of waves, and the true and the attained error between whole positions;
    None where there is no plain rotation."""
    spec = parse(link)
    row = measures.logit_row(spec, length)
    if row.inv_freq is None or row.log_kept is not None or row.seen is not None:
        return None
    at, frequencies = spaced(length, keep), row.inv_freq
    # The theorem speaks of points between trained positions, so of what the model was trained with.
    trained = spec.trained_frequencies() if isinstance(spec, RotaryEncoding) else frequencies
    relative = np.asarray(measures.decay_bound(at, frequencies))
    measure = Bounds(
        distances=at,
        equal=np.abs(measures.direct_cos_mean(at, frequencies)),
        relative=relative,
        extrapolation=2 * relative,
    )
    return measure, (
        measures.interpolation_bound(trained),
        measures.largest_interpolation_error(trained),
    )


@functools.lru_cache(maxsize=KEPT)
def bases(length: int, head_dim: int, base: float) -> measures.BaseSearch:
    """Bases around one and around what the length asks for, and how far each holds."""
    asked = measures.fitted_lower_bound(length)
    low, high = max(2.0, min(base / 30, asked / 8)), max(30 * base, 8 * asked)
    return measures.valid_bases(length, head_dim=head_dim, low=low, high=high, count=_BASES)


@functools.lru_cache(maxsize=KEPT)
def smallest_base(length: int, head_dim: int) -> float | None:
    """The smallest base that a fine search finds to hold through this length."""
    return measures.smallest_valid_base(length, head_dim=head_dim)


@functools.lru_cache(maxsize=KEPT)
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


@functools.lru_cache(maxsize=KEPT)
def precision(link: str, length: int, dtype: str, head: int) -> tuple[Stages, tuple[str, ...], str]:
    """Errors of every stage that an encoding has, the verdicts, and what the errors are of."""
    row = measures.logit_row(parse(link), length)
    lenses: Mapping[str, Any]
    if row.inv_freq is not None and row.seen is None:
        # What every stage is compared with, worked out once for all of them.
        tables = measures.largest_score_error(row.inv_freq, length, "tables", "bfloat16")
        lenses = {
            stage: measures.precision_lens(
                row.inv_freq, length=length, stage=stage, dtype=dtype, tables=tables
            )
            for stage in ("positions", "inv_freq", "angles", "tables")
        }
        errors = [(name, one.distances, one.score_errors) for name, one in lenses.items()]
        unit = "score, 1 at distance 0"
    elif row.bias is not None and not row.varies:
        bias = functools.partial(_bias_of, row, head)
        lenses = {
            stage: measures.bias_precision(bias, length=length, stage=stage, dtype=dtype)
            for stage in ("positions", "bias", "logits")
        }
        errors = [(name, one.distances, one.logit_errors) for name, one in lenses.items()]
        unit = "logit"
    else:
        return (), (), ""
    said = tuple(f"{name}: {one.verdict}. {one.reason}" for name, one in lenses.items())
    return tuple(errors), said, unit


def _bias_of(row: LogitRow, head: int, at: np.ndarray) -> np.ndarray:
    """The bias of one head, block by block: all heads at all distances would fill the memory."""
    parts = [at[first : first + _BLOCK] for first in range(0, len(at), _BLOCK)]
    return np.concatenate([_of_block(row, head, part) for part in parts])


def _of_block(row: LogitRow, head: int, at: np.ndarray) -> np.ndarray:
    # Neighbouring distances have a quicker way.
    if len(at) > 1 and at[0] >= 0 and at[-1] - at[0] == len(at) - 1 and (np.diff(at) == 1).all():
        return np.asarray(measures.head_bias(row, head, int(at[0]), int(at[-1]) + 1))
    return np.asarray(row.bias_of(at, head))
