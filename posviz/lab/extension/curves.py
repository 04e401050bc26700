"""Single-token losses as a curve, and finished curves found again; light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posviz import configs
from posviz.lab.extension.applied import Applied, applied
from posviz.lab.extension.cache import Cache, is_row, key_of
from posviz.lab.extension.identity import about
from posviz.lab.extension.means import difference, first_of_last, mean_and_error, windowed
from posviz.lab.extension.plan import Plan
from posviz.lab.extension.records import Gap, LossCurve
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
        title=settings.label,
        **windowed(values, plan.mean_window),
        mean_window=plan.mean_window,
        trained_window=settings.trained_window,
        rope_parameters=dict(settings.rope_parameters),
        total=plan.length,
        read=read,
        within=mean_and_error(values[:first_beyond]),
        beyond=mean_and_error(values[first_beyond:]),
        last=mean_and_error(values[first_of_last(plan.length) :]),
        notes=(*settings.notes, *notes),
        seconds=seconds,
        facts=facts,
        is_plain=settings.is_plain,
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


def gaps(
    model: str, text: str, plans: Sequence[Plan], cache: Cache | None = None
) -> tuple[Gap, ...]:
    """Finished runs less the plain model's, token by token; none where that one is not there.

    Both have read the same tokens, so what makes a passage hard drops out: this is far surer than
    the difference of two curves.

    Raises
    ------
    LabError, ParameterError : as a run itself would.
    """
    source, cache = find(model), cache or Cache()
    every = {plan.link: (plan, settings_of(source, plan)) for plan in plans}
    losses = {
        link: kept["losses"]
        for link, (plan, settings) in every.items()
        if (kept := _kept(cache, key_of_loss(source, settings, text, plan), plan))
    }
    plain = next((link for link in losses if every[link][1].is_plain), None)
    if plain is None:
        return ()
    return tuple(
        Gap(
            link=link,
            against=plain,
            **difference(
                losses[link],
                losses[plain],
                every[link][1].trained_window,
                every[link][0].mean_window,
            ),
        )
        for link in losses
        if link != plain
    )


def read_curve(cache: Cache, key: str, settings: Applied, plan: Plan) -> LossCurve | None:
    """The kept losses as a curve with this plan's mean window."""
    kept = _kept(cache, key, plan)
    if kept is None:
        return None
    facts = {**kept["facts"], "plan": plan.model_dump(), "from_cache": True}
    return curve(
        kept["losses"], settings, plan, read=plan.length, seconds=kept["seconds"], facts=facts
    )


def _kept(cache: Cache, key: str, plan: Plan) -> dict[str, Any] | None:
    """What a finished run left. A file that holds something else is one that is not there."""
    kept = cache.read(key) or {}
    is_whole = (
        is_row(kept.get("losses"), plan.length - 1)
        and is_row([kept.get("seconds")], 1)
        and isinstance(kept.get("facts"), dict)
    )
    return kept if is_whole else None
