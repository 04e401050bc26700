"""The configuration doctor: what is right, odd or wrong with a configuration, and what to change.

One file per group of checks. A group has ``CODES``, its codes with one line each, and ``find``,
which looks at a :class:`~posviz.configs.checks.subject.Subject` and yields diagnoses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from posviz.configs.checks import (
    bands,
    biases,
    dimension,
    dynamic,
    exports,
    ggufs,
    keys,
    layers,
    layout,
    logn,
    longrope,
    magnitude,
    multimodal,
    precision,
    ramp,
    reading,
    releases,
    static_scaling,
    tables,
)
from posviz.configs.checks.changes import Changes
from posviz.configs.checks.diagnosis import SEVERITIES, Diagnosis, Operation, Report
from posviz.configs.checks.facts import facts_of
from posviz.configs.checks.patching import applied
from posviz.configs.checks.subject import Subject
from posviz.configs.errors import ConfigError
from posviz.configs.model import Model
from posviz.configs.reader import read
from posviz.configs.writers import LONGEST_LENGTH, RUNTIMES
from posviz.parameters import closest, shortened

_GROUPS: tuple[Any, ...] = (
    reading,
    layout,
    keys,
    exports,
    releases,
    dimension,
    static_scaling,
    ramp,
    magnitude,
    bands,
    dynamic,
    layers,
    tables,
    biases,
    precision,
    logn,
    multimodal,
    longrope,
    ggufs,
)

CODES: Mapping[str, str] = {
    code: text for group in _GROUPS for code, text in sorted(group.CODES.items())
}
"""Every code, and what it is about."""


def check(
    config: Mapping[str, Any] | str | bytes | Path | Model,
    *,
    runtime: str | None = None,
    target_length: int | None = None,
) -> Report:
    """Examine a model's configuration.

    Parameters
    ----------
    config : what :func:`posviz.configs.read` takes, or a model that was read.
    runtime : one of :data:`posviz.configs.RUNTIMES`: what that one does with the configuration.
        Without it, every runtime that departs from the others is named.
    target_length : the context length that is wanted, in tokens.

    Returns
    -------
    Report with every diagnosis, the gravest first.

    Raises
    ------
    ConfigError : nothing that could be a configuration, or one that says nothing about positions;
        an unknown runtime; a target length that is no whole number from 1 to 2^30.

    Examples
    --------
    >>> from posviz import configs
    >>> report = configs.check(
    ...     {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 40960,
    ...      "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
    ...                       "original_max_position_embeddings": 32768}}
    ... )
    >>> report.severity, report.diagnoses[0].code
    ('warn', 'PV121')
    >>> report.values["extended_context"]
    131072
    """
    _check_question(runtime, target_length)
    model = config if isinstance(config, Model) else read(config)
    subject = Subject(model, runtime, target_length)
    found = [diagnosis for group in _GROUPS for diagnosis in _found(group.find, subject)]
    return Report(
        diagnoses=tuple(sorted(found, key=_gravest_first)),
        values=facts_of(subject),
        model=model,
        runtime=runtime,
        target_length=target_length,
    )


def _check_question(runtime: str | None, target_length: int | None) -> None:
    if runtime is not None and runtime not in RUNTIMES:
        raise ConfigError(
            f"There is no runtime {shortened(runtime)}; {closest(runtime, RUNTIMES)}."
        )
    if target_length is None:
        return
    whole = isinstance(target_length, int) and not isinstance(target_length, bool)
    if not whole or not 1 <= target_length <= LONGEST_LENGTH:
        raise ConfigError(
            f"target_length must be a whole number from 1 to {LONGEST_LENGTH:,}; "
            f"got {shortened(target_length)}."
        )


def _found(find: Callable[[Subject], Iterable[Diagnosis]], subject: Subject) -> Iterable[Diagnosis]:
    for diagnosis in find(subject):
        if diagnosis.code not in CODES:
            raise KeyError(diagnosis.code)
        yield diagnosis


def _gravest_first(diagnosis: Diagnosis) -> tuple[int, str]:
    return SEVERITIES.index(diagnosis.severity), diagnosis.code


__all__ = ["CODES", "SEVERITIES", "Changes", "Diagnosis", "Operation", "Report", "applied", "check"]
