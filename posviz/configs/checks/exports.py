"""Whether the runtime that was asked about can be set to rotate as this configuration says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis, Severity
from posviz.configs.checks.subject import Subject
from posviz.configs.errors import ConfigError, ExportError
from posviz.configs.writers import TITLES, export
from posviz.parameters import number_text

CODES: Mapping[str, str] = {
    "PV350": "No settings for the runtime that was asked about, and what follows from that.",
    "PV351": "The runtime that was asked about rotates as the configuration or the file says.",
}
_LOAD_GGUF = ("llama_cpp", "ollama")


def find(subject: Subject) -> Iterator[Diagnosis]:
    """One diagnosis where a runtime was named and the configuration can be used."""
    model, runtime = subject.model, subject.runtime
    if runtime is None or not any(layer.rotates for layer in model.layers):
        return
    if any(layer.problem for layer in model.layers):
        return
    try:
        title = export(model, runtime, target_length=subject.target_length).title
    except ExportError as error:
        if not _is_its_own_file(subject) or error.kind == "length":
            yield _refused(subject, runtime, error)
        else:
            yield from _of_its_own_file(subject, TITLES[runtime])
        return
    except ConfigError:
        return  # the reader's own diagnosis says why the numbers cannot be used
    if _is_its_own_file(subject):
        yield from _of_its_own_file(subject, title)
        return
    yield Diagnosis(
        code="PV351",
        severity="ok",
        message=(
            f"The settings for {title} rotate as this configuration says: they were "
            "written and read back to the same frequencies and magnitudes."
        ),
        fields=_fields(subject),
        values={"runtime": runtime},
    )


def _is_its_own_file(subject: Subject) -> bool:
    return subject.gguf is not None and subject.runtime in _LOAD_GGUF


def _of_its_own_file(subject: Subject, title: str) -> Iterator[Diagnosis]:
    """Nothing where a note of the reader says that what is shown is not all of the file."""
    assert subject.gguf is not None
    if any(severity in ("warn", "error") for severity, _ in subject.gguf.notes):
        return
    yield Diagnosis(
        code="PV351",
        severity="ok",
        message=(
            f"{title} rotates as these numbers say: they were read off this file, keys and "
            f"tensors, by llama.cpp's own rules.{_what_it_runs(subject)}"
        ),
        values={"runtime": subject.runtime},
    )


def _what_it_runs(subject: Subject) -> str:
    """The numbers themselves, for who has the file only."""
    main, window = subject.main, subject.model.window
    if main is None:
        return ""
    spec = main.spec
    factor, original = (
        getattr(spec, name, None) for name in ("scaling_factor", "original_max_position_embeddings")
    )
    parts = [f"base {spec.base:.7g}", f"{spec.rotary_dim} of {spec.head_dim} dimensions"]
    if factor is not None and original is not None:
        parts.append(f"factor {number_text(factor)} from {original} tokens")
    magnitude = float(spec.encode([0.0], length=window or 1).attention_factor)
    if magnitude != 1:
        parts.append(f"cos and sin × {magnitude:.6g}")
    context = "" if window is None else f" The file's context length is {window} tokens."
    return f" It runs {spec.title}: {', '.join(parts)}.{context}"


def _refused(subject: Subject, runtime: str, error: ExportError) -> Diagnosis:
    severity, consequence = _consequence(subject, TITLES[runtime], error)
    return Diagnosis(
        code="PV350",
        severity=severity,
        message=f"{error} {consequence}",
        fields=_fields(subject),
        values={"kind": error.kind},
    )


def _consequence(subject: Subject, title: str, error: ExportError) -> tuple[Severity, str]:
    """What follows from a refusal: that settings cannot say it is not that the runtime errs."""
    match error.kind:
        case "in the file":
            return "info", (
                f"{title} needs no settings where conversion wrote it: it takes it from the GGUF "
                "file. Look at the file itself: posviz check FILE.gguf."
            )
        case "unknown":
            return "info", f"Whether {title} rotates as these numbers say is not known here."
        case "length":
            return "warn", f"So {title} does not run {subject.target_length} tokens with this file."
        case _:
            return "warn", f"So {title} does not rotate as these numbers say."


def _fields(subject: Subject) -> tuple[str, ...]:
    section = None if subject.main is None else subject.main.rope.section
    paths = () if section is None or not section.path else (section.path,)
    return tuple(path for path in paths if subject.put(path, None)["op"] == "replace")
