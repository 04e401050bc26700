"""Single-token losses as a curve, and finished curves found again; light."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posviz import configs
from posviz.lab.extension.applied import Applied, applied
from posviz.lab.extension.cache import Cache, key_of
from posviz.lab.extension.identity import about
from posviz.lab.extension.means import mean_and_error, windowed
from posviz.lab.extension.plan import Plan
from posviz.lab.extension.records import LossCurve
from posviz.lab.language_model.sources import Source, find

_LOSS = ("length", "chunk", "dtype", "artificial_window")
"""The plan's values that change a single token's loss."""


def settings_of(source: Source, plan: Plan) -> Applied:
    """The exported settings of the plan's method for a model. Raises as :func:`applied`."""
    return applied(
        plan.link,
        configs.read(source.config()),
        length=plan.length,
        artificial_window=plan.artificial_window,
    )


def key_of_loss(source: Source, settings: Applied, text: str, plan: Plan) -> str:
    """The run's key in the cache."""
    values = {name: getattr(plan, name) for name in _LOSS}
    return key_of(about("loss", settings, source, text, values))


def curve(
    losses: Any,
    settings: Applied,
    plan: Plan,
    *,
    read: int,
    seconds: float,
    facts: Mapping[str, Any],
    notes: tuple[str, ...] = (),
) -> LossCurve:
    """The curve of the losses so far; the first is that of token 1."""
    values = np.asarray(losses, dtype=np.float64)
    first_beyond = max(settings.trained_window - 1, 0)
    return LossCurve(
        link=settings.link,
        applied=settings.text,
        title=settings.spec.title,
        **windowed(values, plan.window),
        window=plan.window,
        trained_window=settings.trained_window,
        rope_parameters=dict(settings.rope_parameters),
        total=plan.length,
        read=read,
        within=mean_and_error(values[:first_beyond]),
        beyond=mean_and_error(values[first_beyond:]),
        notes=(*settings.notes, *notes),
        seconds=seconds,
        facts=facts,
    )


def finished(model: str, text: str, plan: Plan, cache: Cache | None = None) -> LossCurve | None:
    """A curve that was measured before, without loading the model; None where there is none.

    Raises
    ------
    LabError, ParameterError : as the run itself would.
    """
    source = find(model)
    settings = settings_of(source, plan)
    cache = cache or Cache()
    return read_curve(cache, key_of_loss(source, settings, text, plan), settings, plan)


def losses_of(
    model: str, text: str, plan: Plan, cache: Cache | None = None
) -> tuple[float, ...] | None:
    """The single-token losses of a finished run, nats; the first is that of token 1."""
    source = find(model)
    kept = (cache or Cache()).read(key_of_loss(source, settings_of(source, plan), text, plan))
    return None if kept is None else tuple(kept["losses"])


def read_curve(cache: Cache, key: str, settings: Applied, plan: Plan) -> LossCurve | None:
    """The kept losses as a curve with this plan's window."""
    kept = cache.read(key)
    if kept is None or len(kept.get("losses", ())) != plan.length - 1:
        return None
    facts = {**kept["facts"], "plan": plan.model_dump(), "seed": plan.seed, "from_cache": True}
    return curve(
        kept["losses"], settings, plan, read=plan.length, seconds=kept["seconds"], facts=facts
    )
