"""The keys of one rope type, read into the fields of its encoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.configs.attn_factor import report_attn_factor
from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.numbers import number, shown
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.section import Found

READ_KEYS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "ntk": ("factor", "mixed_b"),
    "yarn": (
        "factor",
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "mscale",
        "mscale_all_dim",
        "truncate",
    ),
    "longrope": (
        "short_factor",
        "long_factor",
        "factor",
        "attention_factor",
        "short_mscale",
        "long_mscale",
    ),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "proportional": ("factor",),
}
"""What transformers 5.24.0 (and vLLM 0.33 for ntk) reads for each type, beside the base, the
partial factor and the original window."""

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "ntk": ("factor",),
    "yarn": ("factor",),
    "longrope": ("short_factor", "long_factor"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
}
_NULL_MEANS_DEFAULT = (
    "attention_factor",
    "mscale",
    "mscale_all_dim",
    "mixed_b",
    "short_mscale",
    "long_mscale",
)
ALWAYS_READ = (
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    "original_max_position_embeddings",
    "mrope_section",
    "mrope_interleaved",
)
_BETA_DEFAULTS = {"beta_fast": 32, "beta_slow": 1}
_READ_BY_CLASS: Mapping[str, tuple[str, ...]] = {
    "ministral3": ("llama_4_scaling_beta", "max_position_embeddings"),
    "mistral4": ("llama_4_scaling_beta", "max_position_embeddings"),
    "phimoe": ("short_mscale", "long_mscale"),
}
"""Keys of the dict that a class's own code reads for every type, or accepts without a warning."""
TRAINED_MARK = "finetuned"
"""No runtime reads it; it says how the model was trained, and so what can be left out."""


def field_name(key: str) -> str:
    """The encoding's field behind a key."""
    return "scaling_factor" if key == "factor" else key


def type_values(
    rope: RopeDict, rope_type: str, facts: ModelClass, findings: Findings
) -> dict[str, Any]:
    """Fields of the encoding that the dict gives; messages for what is missing or unusable.

    A null factor of yarn or longrope is left out; the caller works it out from the windows.
    """
    assert rope.section is not None
    read = _keys_read(rope_type, facts)
    values: dict[str, Any] = {}
    for key in read:
        found = rope.section.find(key)
        if found is None:
            if key in _REQUIRED.get(rope_type, ()):
                findings.error(
                    "PV110",
                    f"The rope type {rope_type} needs {key}; {rope.section.path or 'the dict'} has "
                    "none.",
                    rope.section.key(key),
                )
            continue
        _read(key, found, rope, rope_type, findings, values)
    _report_unread(rope, read, rope_type, facts, findings)
    return values


def _keys_read(rope_type: str, facts: ModelClass) -> tuple[str, ...]:
    keys = READ_KEYS[rope_type]
    if facts.known and facts.name != "phimoe":
        # vLLM reads them for every longrope model, transformers for this one class.
        return tuple(key for key in keys if key not in ("short_mscale", "long_mscale"))
    return keys


def _read(
    key: str,
    found: Found,
    rope: RopeDict,
    rope_type: str,
    findings: Findings,
    values: dict[str, Any],
) -> None:
    if key == "truncate":
        _read_truncate(found, rope, findings, values)
    elif key in ("short_factor", "long_factor"):
        _read_list(key, found, findings, values)
    elif key in _BETA_DEFAULTS and not found.value and not isinstance(found.value, bool | str):
        default = _BETA_DEFAULTS[key]
        findings.info(
            "PV115",
            f"{found.key} is {shown(found.value)}, which transformers reads as {default}.",
            key,
        )
        findings.row(key, float(default), f"{found.key} is {shown(found.value)}: the default")
    elif found.value is None and key in _NULL_MEANS_DEFAULT:
        if key != "attention_factor":  # its row holds the number that the method works out
            findings.row(key, None, f"{found.key} is null: the default rule")
    elif found.value is None and key == "factor" and rope_type in ("yarn", "longrope"):
        return
    else:
        _read_number(key, found, findings, values)


def _read_number(key: str, found: Found, findings: Findings, values: dict[str, Any]) -> None:
    value = number(found, findings)
    if value is None:
        return
    if key == "factor" and value < 1:
        _report_small_factor(found, value, findings)
        return
    values[field_name(key)] = float(value)
    findings.row(field_name(key), float(value), found.key)


def _report_small_factor(found: Found, value: float, findings: Findings) -> None:
    hint, values = "", {}
    if value > 0:
        suggestion = 1 / value
        values = {"suggested_factor": suggestion}
        hint = (
            f" {shown(value)} looks like a frequency scale, which is the reciprocal; the factor "
            f"would be {suggestion:g}."
        )
    findings.error(
        "PV113",
        f"{found.key} must be at least 1; got {shown(value)}.{hint}",
        found.key,
        **values,
    )


def _read_truncate(
    found: Found, rope: RopeDict, findings: Findings, values: dict[str, Any]
) -> None:
    if rope.per_layer:
        if found.value is not True and rope.outer.data.get("truncate") is not found.value:
            findings.warn(
                "PV160",
                f"{found.key} has no effect: transformers reads truncate from the outer dict "
                "only, so the bounds of the ramp are rounded.",
                found.key,
            )
        return
    if found.value is None:
        findings.warn(
            "PV116",
            f"{found.key} is null, which transformers reads as false: the bounds of the ramp are "
            "not rounded.",
            found.key,
        )
    elif not isinstance(found.value, bool):
        findings.error(
            "PV112", f"{found.key} must be true or false; got {shown(found.value)}.", found.key
        )
        return
    values["truncate"] = bool(found.value)
    findings.row("truncate", bool(found.value), found.key)


def _read_list(key: str, found: Found, findings: Findings, values: dict[str, Any]) -> None:
    if not isinstance(found.value, list):
        findings.error(
            "PV112", f"{found.key} must be a list of numbers; got {shown(found.value)}.", found.key
        )
        return
    items = [
        number(Found(item, f"{found.key}[{index}]"), findings)
        for index, item in enumerate(found.value)
    ]
    if None in items:
        return
    values[key] = tuple(float(item) for item in items if item is not None)
    findings.row(key, values[key], found.key)


def _report_unread(
    rope: RopeDict, read: tuple[str, ...], rope_type: str, facts: ModelClass, findings: Findings
) -> None:
    assert rope.section is not None
    known = {*read, *ALWAYS_READ, *_read_by_class(facts)}
    unread = [key for key in rope.section.data if key not in known]
    if "mscale_all_dim" in unread and rope_type != "default" and facts.softmax_correction:
        _report_softmax(rope, rope_type, facts, findings)
        unread.remove("mscale_all_dim")
    attn_factor = rope.section.given("attn_factor")
    if attn_factor is not None and attn_factor.value != 1 and rope_type == "yarn":
        unread.remove("attn_factor")
        report_attn_factor(rope.section, findings)
    if unread:
        findings.info(
            "PV161",
            f"Not read for the rope type {rope_type}, so without effect: {', '.join(unread)}."
            + _about_training(unread),
            *(rope.section.key(key) for key in unread),
        )


def _read_by_class(facts: ModelClass) -> tuple[str, ...]:
    if facts.known:
        return _READ_BY_CLASS.get(facts.name, ())
    return ("llama_4_scaling_beta",)  # nobody knows what an unknown class reads of its own


def _about_training(unread: list[str]) -> str:
    if TRAINED_MARK not in unread:
        return ""
    return (
        f" {TRAINED_MARK} says that the model was trained with this scaling; advice on lengths "
        "goes by it, so keep it."
    )


def _report_softmax(rope: RopeDict, rope_type: str, facts: ModelClass, findings: Findings) -> None:
    """These classes test for any rope type but default before they scale the softmax."""
    assert rope.section is not None
    found, factor = rope.section.find("mscale_all_dim"), rope.section.find("factor")
    if found is None or not found.value or (factor is not None and factor.value == 1):
        return
    findings.warn(
        "PV163",
        f"{found.key} is {shown(found.value)}: the attention of {facts.name} multiplies the "
        "softmax scale by (0.1·mscale_all_dim·ln factor + 1)² for every rope type but default, "
        f"{rope_type} too. The scores shown here do not include it.",
        found.key,
    )
