"""Loss against position of a model with a method's exported settings; heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from posviz.lab.extension import identity
from posviz.lab.extension.applied import Applied
from posviz.lab.extension.cache import Cache
from posviz.lab.extension.curves import curve, key_of_loss, read_curve, settings_of
from posviz.lab.extension.plan import Plan
from posviz.lab.extension.reading import Kept, Reading, extended, tokens_of
from posviz.lab.extension.records import LossCurve
from posviz.lab.hashes import text_hash
from posviz.lab.language_model.load import decoder
from posviz.lab.language_model.sources import Source, find
from posviz.lab.workers import Progress, Report


def measure(
    report: Report,
    *,
    model: str,
    link: str,
    text: str,
    cache_folder: str | None = None,
    threads: int | None = None,
    **values: Any,
) -> LossCurve:
    """Read a text with a model whose configuration holds a method's exported settings.

    The result is taken from the cache where it is there; a run that was killed goes on after its
    last chunk. Progress comes with the curve so far.

    Parameters
    ----------
    model : as :func:`posviz.lab.language_model.sources.find` takes it.
    link, values : of :class:`Plan`.
    cache_folder : where results are kept; by default :func:`posviz.lab.extension.cache.folder`.
    threads : of torch; left as they are by default.

    Raises
    ------
    ParameterError : a value of the plan that is not allowed.
    LabError : a method that transformers cannot express, no such model, a text that is too short.
    """
    plan = Plan(link=link, **values)
    if threads is not None:
        torch.set_num_threads(threads)
    source = find(model)
    settings = settings_of(source, plan)
    cache = cache_at(cache_folder)
    key = key_of_loss(source, settings, text, plan)
    known = read_curve(cache, key, settings, plan)
    if known is not None:
        return known
    loaded = decoder(model, report, attention="sdpa")
    ids = tokens_of(loaded, text, plan.length)
    extended_model = extended(loaded, settings, plan.dtype)
    reading = Reading(extended_model, ids, plan.chunk, kept=Kept(cache, key), with_losses=True)
    facts = facts_of(source, settings, text, plan.model_dump()) | {"resumed_at": reading.resumed}

    def so_far() -> LossCurve:
        notes = (cache.problem,) if cache.problem else ()
        return curve(
            reading.losses,
            settings,
            plan,
            read=reading.read,
            seconds=reading.seconds,
            facts=facts | {"tokens_per_second": round(reading.rate, 1)},
            notes=notes,
        )

    def progress(now: Reading) -> Progress:
        note = f"{now.read:,} of {plan.length:,} tokens"
        if now.rate:
            note += f", {now.rate:,.0f} tokens/s"
        return Progress(now.read, plan.length, note, so_far())

    reading.run(report, progress)
    result = so_far()
    losses = [float(value) for value in reading.losses]
    cache.write(key, {"losses": losses, "seconds": result.seconds, "facts": dict(result.facts)})
    return so_far()


def cache_at(cache_folder: str | None) -> Cache:
    return Cache() if cache_folder is None else Cache(Path(cache_folder))


def facts_of(source: Source, settings: Applied, text: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Where numbers come from: what is needed to make them again."""
    return {
        "model": source.title,
        "model_hash": identity.model_hash(source),
        "weights_hash": source.file_hash(),
        "text_hash": text_hash(text),
        "plan": plan,
        "seed": plan.get("key_seed", "nothing is drawn"),
        "versions": identity.versions(),
        "settings": dict(settings.changed),
        "check": {"severity": settings.severity, "diagnoses": list(settings.diagnoses)},
        "machine": identity.machine(),
        "threads": torch.get_num_threads(),
    }
