"""Factors on the queries that follow the position: log-n scaling and its relatives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.wording import of_runtime
from posviz.parameters import is_finite_number

CODES: Mapping[str, str] = {
    "PV330": "log-n scaling: the multiplier of the queries, per position, never below 1.",
    "PV331": "log-n scaling without the length that it counts from.",
    "PV332": "log-n scaling in a runtime or class that does not read its switch.",
    "PV333": "A temperature on the queries that grows with the position (llama_4_scaling_beta).",
}
_SWITCHES = ("use_logn_attn", "use_logn", "logn_attn")
_OWN_LENGTH = {"qwen": 2048}
"""seq_length of the class, where the file has none."""


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about factors on the queries."""
    switch = next((name for name in _SWITCHES if subject.section.data.get(name) is True), "")
    if switch:
        yield from _log_n(switch, subject)
    yield from _beta(subject)


def multiplier(position: float, trained: float) -> float:
    """max(1, ln n / ln L) for the n-th token and the trained length L above 1."""
    return math.log(max(position, trained)) / math.log(trained)


def _log_n(switch: str, subject: Subject) -> Iterator[Diagnosis]:
    key = subject.section.key(switch)
    trained = _trained(subject)
    if trained is None:
        usual = subject.model.window
        yield Diagnosis(
            code="PV331",
            severity="warn",
            message=(
                f"{key} is on, but seq_length, the trained length from which the logarithm counts, "
                "is missing or no whole number above 1."
                + (f" The context here is {usual} tokens." if usual else "")
            ),
            fields=(key, subject.section.key("seq_length")),
        )
        return
    length, origin = trained
    at = [length // 2, length, 2 * length, 4 * length]
    if subject.target_length:
        at.append(subject.target_length)
    factors = [multiplier(position, length) for position in at]
    told = ", ".join(
        f"{factor:.7g} at {position}" for factor, position in zip(factors, at, strict=True)
    )
    yield Diagnosis(
        code="PV330",
        severity="ok",
        message=(
            f"{key}: each query is multiplied by max(1, ln n / ln {length}), n being its own "
            f"position (per position, not per sequence), with {origin} = {length}: {told}. It is "
            "never below 1, and the frequencies do not change."
        ),
        fields=(key, subject.section.key("seq_length")),
        values={"seq_length": length, "positions": at, "multiplier": factors},
    )
    yield from _unread(key, subject)


def _trained(subject: Subject) -> tuple[int, str] | None:
    value: Any = subject.section.data.get("seq_length")
    origin = subject.section.key("seq_length")
    if value is None:
        value = _OWN_LENGTH.get(subject.model.model_type)
        origin = "seq_length of the model class"
    whole = is_finite_number(value) and value == int(value) and 2 <= value <= 1 << 40
    return (int(value), origin) if whole else None


def _unread(key: str, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.concerns("transformers", "transformers_v4"):
        return
    named = subject.runtime is not None
    if not subject.facts.known and not named:
        return
    why = (
        f"the class {subject.facts.name} does not read it"
        if subject.facts.known
        else "no class of the library reads it"
    )
    yield Diagnosis(
        code="PV332",
        severity="warn" if subject.facts.known else "info",
        message=(
            f"{key} has no effect in transformers: {why}; the models that have it (Qwen-7B) "
            "bring their own code, to be loaded with trust_remote_code."
        ),
        fields=(key,),
        runtimes=of_runtime(subject, {"transformers": "does not read it."}),
    )


def _beta(subject: Subject) -> Iterator[Diagnosis]:
    main = subject.main
    beta: Any = None if main is None else main.given("llama_4_scaling_beta")
    original: Any = None if main is None else main.given("original_max_position_embeddings")
    usable = is_finite_number(beta) and is_finite_number(original) and 1 <= original <= 1 << 40
    if main is None or not usable:
        return
    at = [int(original) - 1, int(original), 3 * int(original)]
    factors = [1 + beta * math.log(1 + position // original) for position in at]
    told = ", ".join(f"{factor:.7g} at {where}" for factor, where in zip(factors, at, strict=True))
    yield Diagnosis(
        code="PV333",
        severity="ok",
        message=(
            f"{main.key('llama_4_scaling_beta')}: each query is multiplied by 1 + {beta:g}·ln(1 + "
            f"⌊position/{original:g}⌋), after the rotation: {told}."
        ),
        fields=(main.key("llama_4_scaling_beta"),),
        values={"positions": at, "multiplier": factors},
        layer_type=main.name,
    )
