"""llama.cpp: command-line flags over what the GGUF file holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.model import FULL
from posviz.configs.reader import read
from posviz.configs.writers.dialects import refusal
from posviz.configs.writers.llama_cpp_slots import slot_notes
from posviz.configs.writers.llama_cpp_yarn import (
    ATTN_FACTOR,
    TITLE,
    file_keys,
    refuse_softmax_side_effect,
    refuse_yarn,
    yarn_override,
)
from posviz.configs.writers.merged import merged_config
from posviz.configs.writers.rope_dict import published_ntk_base
from posviz.configs.writers.settings import Settings, Task, extended_length, length_notes
from posviz.configs.writers.yarn_dict import YARN_DEFAULTS
from posviz.parameters import number_text

NOTE = "Version assumed: llama.cpp of October 2026. Everything else comes from the GGUF file."
_IN_FILE = "it lives in tensors of the GGUF file, written at conversion; flags cannot express it"
_IN_TENSORS = ("llama3", "longrope", "p_rope")
_REFUSALS = {
    **dict.fromkeys((*_IN_TENSORS, "ntk_by_parts", "rope"), _IN_FILE),
    "dynamic_ntk": "it has no dynamic NTK at run time; static NTK-aware scaling can be exported",
    "dynamic_linear": "its factor does not follow the length",
    "dynamic_yarn": "its factor does not follow the length",
}
FLAG_NAMES = {
    "rope_scaling": "--rope-scaling",
    "rope_scale": "--rope-scale",
    "rope_freq_base": "--rope-freq-base",
    "yarn_orig_ctx": "--yarn-orig-ctx",
    "yarn_ext_factor": "--yarn-ext-factor",
    "yarn_attn_factor": "--yarn-attn-factor",
    "yarn_beta_fast": "--yarn-beta-fast",
    "yarn_beta_slow": "--yarn-beta-slow",
    "grp_attn_n": "--grp-attn-n",
    "grp_attn_w": "--grp-attn-w",
    "override_kv": "--override-kv",
    "ctx": "--ctx-size",
}
"""Our name of a setting, and the flag."""


def write(task: Task) -> Settings:
    """The flags of ``llama-server`` and its relatives."""
    if task.is_per_layer:
        _refuse_per_layer(task)
    _refuse_tensors(task)
    flags = _flags(task)
    length = extended_length(task)
    if length is not None:
        flags["ctx"] = length
    return Settings(
        text=" ".join(f"{FLAG_NAMES[name]} {_text(value)}" for name, value in flags.items()),
        data=flags,
        notes=(NOTE, *_notes(task, flags)),
        runtime="llama_cpp",
        title=TITLE,
        base_config=merged_config(task, _base_keys(task)),
    )


def _refuse_per_layer(task: Task) -> None:
    """Its flags hold for all layers; whether a file can hold each layer's own is another thing."""
    for spec in task.specs.values():
        if spec is None:
            continue
        alone = replace(task, specs={FULL: spec})
        try:
            flags = _flags(alone)
        except ExportError as error:
            if error.kind != "in the file":
                raise
            continue
        if ATTN_FACTOR in flags.get("override_kv", ""):
            raise refusal(spec, TITLE, "conversion does not carry its attention factor over")
    raise ExportError(
        "Rotary parameters per layer type cannot be written for llama.cpp: its flags hold for all "
        "layers.",
        kind="in the file",
    )


def _refuse_tensors(task: Task) -> None:
    """Factors that conversion wrote as tensors divide the frequencies whatever the flags say."""
    own = None if task.model is None else read(task.model.config).layer().spec
    if own is not None and own.id in _IN_TENSORS and own.id != task.spec.id:
        raise refusal(
            task.spec,
            TITLE,
            f"this model's own {own.title} lives in tensors of its GGUF file, which no flag "
            "removes; convert it again from a changed config.json",
        )


def _base_keys(task: Task) -> dict[str, Any]:
    spec: Any = task.spec
    keys: dict[str, Any] = {"rope_theta": spec.base, **task.carried, **file_keys(task)}
    if spec.partial_rotary_factor != 1:
        keys["partial_rotary_factor"] = spec.partial_rotary_factor
    trained = getattr(spec, "original_max_position_embeddings", None)
    return keys if trained is None else keys | {"max_position_embeddings": trained}


def _flags(task: Task) -> dict[str, Any]:
    spec: Any = task.spec
    match spec.id:
        case "rope" if not spec.is_proportional or spec.partial_rotary_factor == 1:
            return {"rope_scaling": "none", "rope_freq_base": spec.base}
        case "abf":
            return {"rope_scaling": "none", "rope_freq_base": spec.new_base}
        case "ntk_aware" if spec.variant == "published":
            return {"rope_scaling": "none", "rope_freq_base": published_ntk_base(spec)}
        case "linear":
            if spec.scaling_factor != 1:
                refuse_softmax_side_effect(task)
            return {
                "rope_scaling": "linear",
                "rope_scale": spec.scaling_factor,
                "rope_freq_base": spec.base,
            }
        case "yarn":
            return _yarn(task)
        case "self_extend":
            return _self_extend(spec)
    reason = _REFUSALS.get(spec.id, "no flag expresses it")
    raise refusal(spec, TITLE, reason, "in the file" if reason == _IN_FILE else "different")


def _self_extend(spec: Any) -> dict[str, Any]:
    if spec.query_scaling:
        raise refusal(spec, TITLE, "it does not scale the queries by their position")
    if spec.window % spec.group_size:
        raise refusal(
            spec,
            TITLE,
            f"--grp-attn-w must be a multiple of --grp-attn-n; window is {spec.window} and "
            f"group_size {spec.group_size}",
        )
    return {
        "rope_scaling": "none",
        "rope_freq_base": spec.base,
        "grp_attn_n": spec.group_size,
        "grp_attn_w": spec.window,
    }


def _yarn(task: Task) -> dict[str, Any]:
    spec: Any = task.spec
    refuse_yarn(spec)
    flags: dict[str, Any] = {
        "rope_scaling": "yarn",
        "rope_scale": spec.scaling_factor,
        "yarn_orig_ctx": spec.original_max_position_embeddings,
        "rope_freq_base": spec.base,
    }
    if spec.extrapolation_factor != 1:
        flags["yarn_ext_factor"] = spec.extrapolation_factor
    for key, default in YARN_DEFAULTS.items():
        if getattr(spec, key) != default or key in _own_dict(task):
            flags[f"yarn_{key}"] = getattr(spec, key)
    return flags | _yarn_magnitude(task)


def _yarn_magnitude(task: Task) -> dict[str, Any]:
    spec: Any = task.spec
    if spec.extrapolation_factor != 0:
        override = yarn_override(task)
        return {} if override is None else {"override_kv": override}
    refuse_softmax_side_effect(task)
    if spec.softmax_magnitude(1) != 1 or spec.attention_factor is None:
        raise refusal(
            spec, TITLE, "with an extrapolation factor of 0 it takes attention_factor as given"
        )
    return {"yarn_attn_factor": spec.attention_factor}


def _own_dict(task: Task) -> Any:
    """The model's own dict: conversion writes its betas into the file, so flags must undo them."""
    return task.section.get("rope_scaling") or task.section.get("rope_parameters") or {}


def _notes(task: Task, flags: dict[str, Any]) -> list[str]:
    notes = [*length_notes(task), *slot_notes(task, flags.get("ctx"))]
    if task.spec.id == "self_extend":
        notes.append(
            "--grp-attn-n and --grp-attn-w belong to llama.cpp's example programs, which group the "
            "cached positions in blocks of w tokens as the context grows, not for each query: "
            "between two groupings their distances differ from the paper's."
        )
    if "override_kv" in flags:
        notes.append(
            "--override-kv replaces a key of the GGUF file for this run; its prefix is the file's "
            "general.architecture."
        )
    if "mrope_section" in task.carried:
        notes.append("The M-RoPE sections come from the GGUF file.")
    if task.spec.id == "linear":
        notes.append("--rope-scale is the factor; --rope-freq-scale would be its reciprocal.")
    return notes


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value)
