"""Whether the runtime that was asked about can be set to rotate as this configuration says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis, Severity
from posviz.configs.checks.subject import Subject
from posviz.configs.errors import ConfigError, ExportError
from posviz.configs.writers import export

CODES: Mapping[str, str] = {
    "PV350": "The runtime that was asked about cannot rotate as the configuration says.",
    "PV351": "Settings for the runtime that was asked about rotate as the configuration says.",
}

_OPEN = ("not known here", "in its own way")
"""Words of a writer that refuses because it cannot tell."""


def find(subject: Subject) -> Iterator[Diagnosis]:
    """One diagnosis where a runtime was named and the configuration can be used."""
    model, runtime = subject.model, subject.runtime
    if runtime is None or not model.layers or any(layer.problem for layer in model.layers):
        return
    try:
        settings = export(model, runtime, target_length=subject.target_length)
    except ExportError as error:
        severity, consequence = _consequence(str(error), runtime)
        yield Diagnosis(
            code="PV350",
            severity=severity,
            message=f"{error} {consequence}",
            fields=_fields(subject),
        )
        return
    except ConfigError:
        return  # the reader's own diagnosis says why the numbers cannot be used
    yield Diagnosis(
        code="PV351",
        severity="ok",
        message=(
            f"The settings for {settings.title} rotate as this configuration says: they were "
            "written and read back to the same frequencies and magnitudes."
        ),
        fields=_fields(subject),
        values={"runtime": runtime},
    )


def _consequence(why: str, runtime: str) -> tuple[Severity, str]:
    """What follows from a refusal: that settings cannot say it is not that the runtime errs."""
    if "flags" in why:
        return "info", (
            f"No settings are needed where {runtime} takes it from the model's own files; that is "
            "not looked at here."
        )
    if any(words in why for words in _OPEN):
        return "info", f"So these numbers are not promised for {runtime}."
    return "warn", f"So {runtime} will not rotate as these numbers say."


def _fields(subject: Subject) -> tuple[str, ...]:
    section = None if subject.main is None else subject.main.rope.section
    paths = () if section is None or not section.path else (section.path,)
    return tuple(path for path in paths if subject.put(path, None)["op"] == "replace")
