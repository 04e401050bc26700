"""A cell in a language model: its loss within the trained window and beyond it. Heavy."""

from __future__ import annotations

from typing import Any

from posviz.configs import ConfigError, ExportError
from posviz.lab.errors import LabError
from posviz.lab.extension.identity import model_hash
from posviz.lab.extension.plan import Plan
from posviz.lab.extension.run import measure
from posviz.lab.language_model.sources import allow_paths, find
from posviz.lab.sweep.tasks import Task
from posviz.lab.workers import Report


def losses(task: Task, report: Report, threads: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Mean loss of the text's first ``length`` tokens, nats per token, by position.

    ``loss_within`` : of the tokens in the trained window; ``loss_beyond`` : of those after it, and
    ``error_beyond``, the standard error of that mean. A number that has no tokens is left out.

    Raises
    ------
    LabError, ParameterError : whatever the run cannot do; a model that is not the one that the
        sweep was asked for.
    """
    allow_paths()  # whoever started this worker named the model
    cell = task.cell
    if model_hash(find(cell.model)) != task.model_hash:
        raise LabError(f"The worker has another model under the name {cell.model}.")
    try:
        curve = measure(
            report,
            model=cell.model,
            text=task.text,
            link=cell.link,
            length=cell.length,
            mean_window=min(Plan().mean_window, max(2, cell.length // 2)),
            threads=threads,
        )
    except (ConfigError, ExportError) as error:
        raise LabError(str(error)) from None
    numbers = {}
    if curve.within is not None:
        numbers["loss_within"] = curve.within[0]
    if curve.beyond is not None:
        numbers |= {"loss_beyond": curve.beyond[0], "error_beyond": curve.beyond[1]}
    facts = {
        "applied": curve.applied,
        "rope_parameters": dict(curve.rope_parameters),
        "trained_window": curve.trained_window,
        "notes": list(curve.notes),
        **curve.facts,
    }
    return numbers, facts
