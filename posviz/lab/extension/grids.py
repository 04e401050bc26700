"""Retrieval results as a grid, and finished grids found again; light."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from posviz import configs
from posviz.lab.extension.applied import Applied, applied
from posviz.lab.extension.cache import Cache, is_row, key_of
from posviz.lab.extension.identity import about
from posviz.lab.extension.plan import PasskeyPlan
from posviz.lab.extension.records import MEASURED, Numbers, PasskeyGrid
from posviz.lab.language_model.sources import Source, find

FORM = 2
"""Raised whenever the wording of keys and questions, or what is counted, changes."""
_VALUES = ("depths", "chunk", "dtype", "artificial_window", "key_seed", "repeats")


@dataclass(frozen=True)
class Unit:
    """One haystack, which is read once and asked for each of its keys."""

    length: int
    repeat: int


@dataclass(frozen=True)
class Found:
    """What came of a haystack, by depth; the names are those of :class:`PasskeyGrid`."""

    exact: Numbers
    right: Numbers
    loss: Numbers
    absent_exact: Numbers
    absent_right: Numbers
    absent_loss: Numbers
    seconds: float
    example: str
    facts: Mapping[str, Any]


def settings_of(source: Source, plan: PasskeyPlan) -> Applied:
    """The exported settings of the plan's method, for the longest haystack."""
    return applied(
        plan.link,
        configs.read(source.config()),
        length=plan.longest,
        artificial_window=plan.artificial_window,
    )


def units(plan: PasskeyPlan) -> tuple[Unit, ...]:
    """The haystacks, the shortest first."""
    return tuple(
        Unit(length, repeat)
        for length in sorted({int(one) for one in plan.lengths})
        for repeat in range(plan.repeats)
    )


def key_of_unit(source: Source, settings: Applied, text: str, plan: PasskeyPlan, unit: Unit) -> str:
    """The haystack's key in the cache."""
    values = {name: getattr(plan, name) for name in _VALUES}
    values |= {"length": unit.length, "repeat": unit.repeat, "form": FORM}
    return key_of(about("passkey", settings, source, text, values))


def grid(
    found: Mapping[Unit, Found],
    settings: Applied,
    plan: PasskeyPlan,
    facts: Mapping[str, Any],
    notes: tuple[str, ...] = (),
) -> PasskeyGrid:
    """The grid of the haystacks so far: the mean over those of one length."""
    lengths = tuple(dict.fromkeys(unit.length for unit in units(plan)))
    first = next(iter(found.values()), None)
    return PasskeyGrid(
        link=settings.link,
        applied=settings.text,
        title=settings.label,
        lengths=lengths,
        depths=depths(plan.depths),
        **{name: tuple(_row(found, length, plan, name) for length in lengths) for name in MEASURED},
        tries=plan.repeats if first else 0,
        trained_window=settings.trained_window,
        rope_parameters=dict(settings.rope_parameters),
        example=first.example if first else "",
        notes=(*settings.notes, *notes),
        seconds=sum(one.seconds for one in found.values()),
        facts=facts,
        is_done=all(unit in found for unit in units(plan)),
    )


def depths(count: int) -> Numbers:
    """The middles of equal parts of the haystack."""
    return tuple((place + 0.5) / count for place in range(count))


def finished(
    model: str, text: str, plan: PasskeyPlan, cache: Cache | None = None
) -> PasskeyGrid | None:
    """A grid that was measured before, without loading the model; None where a part is missing.

    Raises
    ------
    LabError, ParameterError : as the run itself would.
    """
    source = find(model)
    settings = settings_of(source, plan)
    cache = cache or Cache()
    found: dict[Unit, Found] = {}
    for unit in units(plan):
        known = read_unit(cache, key_of_unit(source, settings, text, plan, unit), plan)
        if known is None:
            return None
        found[unit] = known
    facts = {**next(iter(found.values())).facts, "from_cache": True}
    return grid(found, settings, plan, facts)


def read_unit(cache: Cache, key: str, plan: PasskeyPlan) -> Found | None:
    """What is kept of a haystack. A file that holds something else is one that is not there."""
    kept = cache.read(key) or {}
    known = {one.name for one in fields(Found)}
    is_whole = (
        kept.keys() == known
        and all(is_row(kept[name], plan.depths) for name in MEASURED)
        and is_row([kept["seconds"]], 1)
        and isinstance(kept["example"], str)
        and isinstance(kept["facts"], dict)
    )
    return Found(**{**kept, **{name: tuple(kept[name]) for name in MEASURED}}) if is_whole else None


def _row(found: Mapping[Unit, Found], length: int, plan: PasskeyPlan, name: str) -> Numbers:
    rows = [getattr(one, name) for unit, one in found.items() if unit.length == length]
    if len(rows) < plan.repeats:
        return (math.nan,) * plan.depths
    return tuple(float(value) for value in np.mean(rows, axis=0))
