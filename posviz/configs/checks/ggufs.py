"""Facts that only a GGUF file has: notes of its reader, and tensors of divisors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from posviz.configs.checks.diagnosis import Diagnosis, Severity
from posviz.configs.checks.dropped_scaling import looks_like_llama_3_1
from posviz.configs.checks.subject import Rotating, Subject

CODES: Mapping[str, str] = {
    "PV360": "What the metadata of a GGUF file say beside the configuration.",
    "PV361": "A rope_freqs tensor: llama.cpp divides the frequencies by it, whatever flags say.",
    "PV362": "A Llama model of long context without the rope_freqs tensor that Llama 3.1 needs.",
    "PV363": "The tensors of LongRoPE's two lists, and which of them is missing.",
}
_EVERY, _LONG, _SHORT = (
    *("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"),
)
_SEVERITIES: Mapping[str, Severity] = {
    "info": "ok",
    "differs": "info",
    "warn": "warn",
    "error": "error",
}
"""A note of severity info tells how a number was read; it asks for nothing."""
_PHI_WINDOW = 4096


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about a GGUF file; nothing for any other configuration."""
    file = subject.gguf
    if file is None:
        return
    for severity, sentence in file.notes:
        yield Diagnosis(code="PV360", severity=_SEVERITIES[severity], message=sentence)
    is_part = any("is part" in sentence for _, sentence in file.notes)
    tensors = frozenset(file.tensors)
    main = subject.main
    if main is None:
        return
    if _EVERY in tensors:
        yield _present(main)
    elif not is_part:
        yield from _missing_bands(main, subject)
    if tensors & {_LONG, _SHORT} or not is_part:
        yield from _two_lists(tensors, main, subject)


def _divisors(main: Rotating) -> np.ndarray:
    """trained / used frequency of every pair that turns."""
    used = np.asarray(main.spec.frequencies(1))
    trained = np.asarray(main.spec.trained_frequencies())
    turns = used > 0
    return np.asarray(trained[turns] / used[turns])


def _present(main: Rotating) -> Diagnosis:
    divisors = _divisors(main)
    changed = np.flatnonzero(~np.isclose(divisors, 1, rtol=1e-6))
    told = (
        f"the pairs {changed[0]} to {changed[-1]} are divided, by {divisors.max():g} at most"
        if changed.size
        else "all pairs that turn keep their frequency"
    )
    return Diagnosis(
        code="PV361",
        severity="ok",
        message=(
            f"{_EVERY} is there: {told}. llama.cpp divides by it on top of --rope-freq-base and "
            "--rope-freq-scale; no flag replaces it."
        ),
        values={"largest_divisor": float(divisors.max()), "pairs_divided": int(changed.size)},
        panel="divisors",
        pairs=(int(changed[0]), int(changed[-1])) if changed.size else None,
    )


def _missing_bands(main: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    window = subject.model.window
    if not looks_like_llama_3_1(main, subject):
        return
    yield Diagnosis(
        code="PV362",
        severity="warn",
        message=(
            f"Base {main.spec.base:g} with {window} tokens is how Llama 3.1 and later are made, "
            f"but {_EVERY}, which holds their divisors, is missing and no scaling is set. If this "
            "is one of them, the file is from before conversion wrote it, and the rotation is not "
            "the one of training, which shows most in long text: convert the model again."
        ),
        values={"base": main.spec.base, "max_position_embeddings": window},
        panel="divisors",
    )


def _two_lists(tensors: frozenset[str], main: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    found = tensors & {_LONG, _SHORT}
    if len(found) == 2:
        yield Diagnosis(
            code="PV363",
            severity="ok",
            message=(
                f"{_LONG} and {_SHORT} are both there; llama.cpp takes one of them for all "
                "positions, by its context size."
            ),
            panel="divisors",
        )
    elif found:
        absent = next(iter({_LONG, _SHORT} - found))
        yield Diagnosis(
            code="PV363",
            severity="warn",
            message=f"{next(iter(found))} is there, but {absent} is missing; convert it again.",
        )
    elif _should_have_lists(main, subject):
        yield Diagnosis(
            code="PV363",
            severity="warn",
            message=(
                f"A Phi-3 file of {subject.model.window} tokens without {_LONG} and {_SHORT}: "
                "beyond 4096 tokens nothing extends the rotation. Convert the model again."
            ),
        )


def _should_have_lists(main: Rotating, subject: Subject) -> bool:
    window = subject.model.window
    is_phi = subject.model.model_type == "phi3"
    return is_phi and window is not None and window > _PHI_WINDOW and main.spec.id == "rope"
