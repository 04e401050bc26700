"""The two windows of a model: the one it was trained with, and the one it may run at."""

from __future__ import annotations

from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.numbers import number, positive_whole, shown, whole
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.section import Found, Section
from posviz.configs.window_readings import reading_of_mismatch

_WINDOW_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
LONGEST_WINDOW = 1 << 40
"""Tokens; what the encodings take, and far beyond any model."""
_NAMED_OTHERWISE = ("codegen", "dbrx", "gptj", "recurrent_gemma")
"""Classes without a field max_position_embeddings: they take a null there as any unknown key."""
_RUNS_FURTHER = ("cohere", "cohere2", "cohere2_moe")
"""Classes whose files give the window that they were trained for as model_max_length (Command R:
131072 beside max_position_embeddings 8192); vLLM, SGLang and conversion to GGUF go by it."""
ORIGINAL = "original_max_position_embeddings"
_READS_ORIGINAL = ("yarn", "longrope", "llama3")


def read_window(section: Section, facts: ModelClass, findings: Findings) -> Found | None:
    """max_position_embeddings, or None when it is missing or unusable (then with a message)."""
    found = section.given(*_WINDOW_KEYS)
    if found is None and _is_null(section, facts, findings):
        return None
    if found is None and facts.max_position_embeddings is not None:
        found = Found(facts.max_position_embeddings, f"max_position_embeddings, {facts.origin}")
    if found is None:
        return None
    value = positive_whole(found, findings, "PV130")
    if value is None:
        return None
    if value > LONGEST_WINDOW:
        findings.error(
            "PV130",
            f"{found.key} must be at most {LONGEST_WINDOW} (2^40); got {shown(found.value):.40}.",
            found.key,
        )
        return None
    further = _model_max_length(section, facts, value)
    if further is not None:
        value, key = further.value, further.key
        findings.row("max_position_embeddings", value, f"{key}; {found.key} is {found.value}")
        return further
    findings.row("max_position_embeddings", value, found.key)
    return Found(value, found.key)


def _model_max_length(section: Section, facts: ModelClass, window: int) -> Found | None:
    """The longer window of a Command R; of any other class it is a tokenizer's number."""
    found = section.given("model_max_length")
    if found is None or facts.name not in _RUNS_FURTHER or isinstance(found.value, bool):
        return None
    whole = isinstance(found.value, int) and window < found.value <= LONGEST_WINDOW
    return found if whole else None


def _is_null(section: Section, facts: ModelClass, findings: Findings) -> bool:
    """Whether the key is there and null, which is not the same as absent: no default holds then."""
    found = section.find("max_position_embeddings")
    if found is None or facts.name in _NAMED_OTHERWISE:
        return False
    if facts.known:
        number(found, findings)
    else:
        findings.warn(
            "PV111",
            f"{found.key} is null, so no window is known; null is not absent, and transformers' "
            "own classes refuse it. Give the number.",
            found.key,
        )
    return True


def original_window(
    section: Section,
    rope: RopeDict,
    rope_type: str,
    facts: ModelClass,
    window: Found | None,
    findings: Findings,
) -> Found | None:
    """The trained window of one layer type, or None after an error message.

    A top-level key beats the dict for the types that read it; else the dict; else the fallback is
    max_position_embeddings, as in transformers.
    """
    assert rope.section is not None
    inside = rope.section.find(ORIGINAL)
    outside = section.given(ORIGINAL) if not rope.per_layer else None
    if outside is None and facts.original_window is not None and rope_type in _READS_ORIGINAL:
        outside = Found(facts.original_window, f"{ORIGINAL}, {facts.origin}")
    if rope_type == "dynamic":
        return _of_dynamic(inside or outside, window, findings)
    if inside and outside and inside.value is not None and inside.value != outside.value:
        findings.warn(
            "PV122",
            f"{outside.key} is {shown(outside.value)} and {inside.key} is {shown(inside.value)}; "
            "transformers takes the top-level one.",
            outside.key,
            inside.key,
        )
    found = outside or inside
    if found is not None:
        value = positive_whole(found, findings, "PV114")
        return None if value is None else Found(value, found.key)
    return _fallback(rope_type, facts, window, findings)


def _of_dynamic(given: Found | None, window: Found | None, findings: Findings) -> Found | None:
    if given is not None and (window is None or given.value != window.value):
        findings.warn(
            "PV123",
            f"{given.key} is {shown(given.value)}, but the rope type dynamic takes the trained "
            "length from max_position_embeddings.",
            given.key,
        )
    if window is None:
        _report_missing_window("dynamic", findings)
        return None
    return Found(window.value, f"{window.key}, from which dynamic takes the trained length")


def _fallback(
    rope_type: str, facts: ModelClass, window: Found | None, findings: Findings
) -> Found | None:
    if rope_type not in _READS_ORIGINAL:
        if window is None:
            return None
        note = f"{rope_type} has no key for the trained window"
        if facts.window_is_extended:
            note += f", and that of {facts.name} is the extended one"
        return Found(window.value, f"{window.key}: {note}")
    if window is None:
        _report_missing_window(rope_type, findings)
        return None
    findings.warn(
        "PV120",
        f"{ORIGINAL} is missing; the fallback is max_position_embeddings = {window.value}, as in "
        "transformers. Check it: max_position_embeddings may already be the extended length, and "
        "then every bound of the method is wrong.",
        ORIGINAL,
        window.key,
        fallback=window.value,
    )
    return Found(window.value, f"{window.key}, because {ORIGINAL} is missing")


def _report_missing_window(rope_type: str, findings: Findings) -> None:
    if any(message.code == "PV130" for message in findings.messages):
        return  # it is there, and its own message says what is wrong with it
    findings.error(
        "PV131",
        f"The rope type {rope_type} needs max_position_embeddings; the configuration has none.",
        "max_position_embeddings",
    )


def check_windows(
    rope_type: str,
    values: dict[str, Any],
    original: Found,
    window: Found | None,
    findings: Findings,
    *,
    extended: bool = False,
) -> None:
    """Contradictions between factor, original window and max_position_embeddings."""
    factor = values.get("scaling_factor")
    if rope_type in ("yarn", "dynamic", "linear", "ntk") and factor is not None and not extended:
        findings.row(
            "nominal_extended_context",
            whole(factor * original.value),
            f"factor × trained window = {factor:g} × {original.value}",
        )
    if window is None or "missing" in original.key:
        return
    if rope_type == "yarn" and factor is not None:
        _check_yarn(factor, original, window, findings)
        _check_order(original, window, findings)
    extends_at_all = values.get("short_factor") != values.get("long_factor")
    if rope_type == "llama3" or (rope_type == "longrope" and extends_at_all):
        _check_longer(rope_type, original, window, findings)


def _check_longer(rope_type: str, original: Found, window: Found, findings: Findings) -> None:
    if original.value >= window.value:
        told = f"{rope_type} then extends nothing."
        if rope_type == "llama3":
            told = (
                f"the bands are then laid out for {original.value} tokens, and slow pairs are "
                f"divided all the same. If {window.value} is the extended window, the trained one "
                "belongs here, as 8192 in Llama 3.1."
            )
        findings.warn(
            "PV125",
            f"{original.key} = {original.value} is not smaller than {window.key} = {window.value}: "
            f"{told}",
            original.key,
            window.key,
        )


def _check_order(original: Found, window: Found, findings: Findings) -> None:
    """Yarn may keep its trained window there, but not less."""
    if original.value > window.value:
        findings.warn(
            "PV125",
            f"{original.key} = {original.value} is larger than {window.key} = {window.value}: a "
            "model was not trained beyond the window of its file; one of the two is wrong, or "
            "they are exchanged.",
            original.key,
            window.key,
        )


def _check_yarn(factor: float, original: Found, window: Found, findings: Findings) -> None:
    extended = factor * original.value
    if abs(extended - window.value) < 1:
        return
    findings.warn(
        "PV121",
        f"factor × original = {shown(whole(extended))} differs from {window.key} = "
        f"{window.value}; the explicit factor {factor:g} is used, not "
        f"{window.value / original.value:g}.{reading_of_mismatch(factor, original, window)}",
        "factor",
        original.key,
        window.key,
        effective_factor=factor,
        implicit_factor=window.value / original.value,
        extended_context=whole(extended),
    )
