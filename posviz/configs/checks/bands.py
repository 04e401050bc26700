"""Llama 3's three bands: which pairs are kept, blended and divided, and what the window says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import (
    keeps_few,
    keys_given,
    limits,
    of_runtime,
    pairs,
    window_key,
)
from posviz.configs.numbers import whole
from posviz.parameters import number_text

CODES: Mapping[str, str] = {
    "PV240": "llama3: how many pairs are kept, blended and divided.",
    "PV241": "llama3 with equal low and high factors: a step in place of a blend.",
    "PV242": "llama3 leaves every pair as it is, or divides nearly all.",
    "PV243": "The wanted length lies beyond the window of a llama3 model.",
}
_FACTORS = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


def find(subject: Subject) -> Iterator[Diagnosis]:
    """Every layer type with rope type llama3."""
    for each in subject.rotating:
        if each.spec.id == "llama3":
            yield from _of_bands(each, subject)
    main = subject.main
    if main is not None and main.spec.id == "llama3":
        yield from _beyond(main, subject)


def _of_bands(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    spec = each.spec
    kept = spec.kept()
    values = _values(spec, kept)
    if spec.scaling_factor == 1:
        return
    if values["pairs_unchanged"] == spec.pairs or values["pairs_divided"] > max(1, spec.pairs - 2):
        yield _degenerate(each, values)
    elif spec.low_freq_factor == spec.high_freq_factor:
        yield _step(each, subject, values)
    else:
        yield _bands(each, subject, values)


def _values(spec: Any, kept: Any) -> dict[str, Any]:
    unchanged, divided = int((kept == 1).sum()), int((kept == 0).sum())
    return {
        "pairs_unchanged": unchanged,
        "pairs_blended": spec.pairs - unchanged - divided,
        "pairs_divided": divided,
        "longest_wavelength_unchanged": spec.original_max_position_embeddings
        / spec.high_freq_factor,
        "shortest_wavelength_divided": spec.original_max_position_embeddings / spec.low_freq_factor,
    }


def _bands(each: Rotating, subject: Subject, values: dict[str, Any]) -> Diagnosis:
    spec = each.spec
    first, behind = values["pairs_unchanged"], spec.pairs - values["pairs_divided"]
    few = keeps_few(first, spec.pairs)
    return Diagnosis(
        code="PV240",
        severity="info" if few else "ok",
        message=(
            f"{pairs(first)} kept, with wavelengths up to "
            f"{values['longest_wavelength_unchanged']:g} tokens, {values['pairs_blended']} blended,"
            f" and {values['pairs_divided']} with wavelengths from "
            f"{values['shortest_wavelength_divided']:g} tokens divided by "
            f"{spec.scaling_factor:g}.{_product(each, subject)} cos and sin are not scaled."
            + (
                " So few are kept that neighbours change as well; check high_freq_factor "
                f"{spec.high_freq_factor:g} and the original window "
                f"{spec.original_max_position_embeddings}."
                if few
                else ""
            )
        ),
        fields=keys_given(each, *_FACTORS),
        values={**values, **_windows(each, subject)},
        runtimes=of_runtime(
            subject,
            {
                "llama_cpp": "has it as the tensor rope_freqs of the GGUF file, written at "
                "conversion; no flag expresses it.",
            },
        ),
        layer_type=each.name,
        panel="divisors",
        pairs=(first, behind - 1) if behind > first else None,
    )


def _windows(each: Rotating, subject: Subject) -> dict[str, Any]:
    product = whole(each.spec.scaling_factor * each.spec.original_max_position_embeddings)
    window = subject.model.window
    known = {} if window is None else {"max_position_embeddings": window}
    return {"factor_times_original": product, **known}


def _product(each: Rotating, subject: Subject) -> str:
    """The factor of llama3 divides frequencies; it does not say how long the context is."""
    window, spec = subject.model.window, each.spec
    product = spec.scaling_factor * spec.original_max_position_embeddings
    if window is None or product == window:
        return ""
    return (
        f" factor × original = {number_text(spec.scaling_factor)} × "
        f"{spec.original_max_position_embeddings} = {number_text(product)} is not "
        f"max_position_embeddings = {window}, which is no contradiction: in llama3 the factor is "
        "no ratio of lengths."
    )


def _step(each: Rotating, subject: Subject, values: dict[str, Any]) -> Diagnosis:
    spec = each.spec
    return Diagnosis(
        code="PV241",
        severity="info",
        message=(
            f"low_freq_factor and high_freq_factor are both {spec.low_freq_factor:g}, so there is "
            f"no blend but a step at the wavelength {values['shortest_wavelength_divided']:g}: "
            f"{values['pairs_unchanged']} pairs are kept and {values['pairs_divided']} divided by "
            f"{spec.scaling_factor:g}. Files of Llama 4 Scout are written so, and runtimes agree."
        ),
        fields=keys_given(each, *_FACTORS),
        values=values,
        runtimes=of_runtime(
            subject,
            {
                "transformers": "warns, and divides by zero in a branch that it then does not use.",
                "vllm": "guards against the division.",
            },
        ),
        layer_type=each.name,
        panel="divisors",
    )


def _degenerate(each: Rotating, values: dict[str, Any]) -> Diagnosis:
    spec = each.spec
    window = spec.original_max_position_embeddings
    if values["pairs_divided"]:
        told = f"{values['pairs_divided']} of {spec.pairs} pairs are divided, nearly all of them"
    else:
        turns = window * float(spec.trained_frequencies()[-1]) / math.tau
        told = (
            f"no pair is changed: the slowest turns {turns:.3g} times in {window} tokens, at "
            f"least high_freq_factor = {spec.high_freq_factor:g} times"
        )
    return Diagnosis(
        code="PV242",
        severity="warn",
        message=(
            f"With llama3's factors {told}. Check low_freq_factor {spec.low_freq_factor:g}, "
            f"high_freq_factor {spec.high_freq_factor:g} and the original window {window}."
        ),
        fields=keys_given(each, *_FACTORS),
        values=values,
        layer_type=each.name,
        panel="divisors",
        pairs=(0, spec.pairs - 1),
    )


def _beyond(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    target, window = subject.target_length, subject.model.window
    if target is None or window is None or target <= window:
        return
    yield Diagnosis(
        code="PV243",
        severity="warn",
        message=(
            f"{target} tokens are wanted, but the model was trained with its llama3 factors up to "
            f"max_position_embeddings = {window}. A larger factor is not sure to help: it divides "
            "the slow pairs further than the weights know. Stay within, or fine-tune at the length."
        ),
        fields=(window_key(subject), *keys_given(each, "factor")),
        values={"target_length": target, "max_position_embeddings": window},
        runtimes=limits(subject, target),
        layer_type=each.name,
        panel="turns",
    )
