"""llama.cpp: command-line flags over what the GGUF file holds."""

from __future__ import annotations

from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.writers.merged import merged_config
from posviz.configs.writers.rope_dict import changes_crossed_bounds, published_ntk_base, refusal
from posviz.configs.writers.settings import Settings, Task, extended_length, length_notes
from posviz.encodings.extension import yarn_magnitude
from posviz.parameters import number_text

TITLE = "llama.cpp"
NOTE = "Version assumed: llama.cpp of October 2026. Everything else comes from the GGUF file."
_IN_FILE = "it lives in tensors of the GGUF file, written at conversion; flags cannot express it"
_REFUSALS = {
    "llama3": _IN_FILE,
    "ntk_by_parts": _IN_FILE,
    "longrope": _IN_FILE,
    "p_rope": _IN_FILE,
    "rope": _IN_FILE,
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
    "ctx": "--ctx-size",
}
"""Our name of a setting, and the flag."""


def write(task: Task) -> Settings:
    """The flags of ``llama-server`` and its relatives."""
    if task.is_per_layer:
        raise ExportError(
            "Rotary parameters per layer type cannot be written for llama.cpp: its flags hold "
            "for all layers."
        )
    spec: Any = task.spec
    flags = _flags(spec)
    length = extended_length(task)
    if length is not None:
        flags["ctx"] = length
    return Settings(
        text=" ".join(f"{FLAG_NAMES[name]} {_text(value)}" for name, value in flags.items()),
        data=flags,
        notes=(NOTE, *_notes(task)),
        runtime="llama_cpp",
        title=TITLE,
        base_config=merged_config(task, _base_keys(task)),
    )


def _base_keys(task: Task) -> dict[str, Any]:
    spec: Any = task.spec
    keys: dict[str, Any] = {"rope_theta": spec.base, **task.carried}
    if spec.partial_rotary_factor != 1:
        keys["partial_rotary_factor"] = spec.partial_rotary_factor
    trained = getattr(spec, "original_max_position_embeddings", None)
    return keys if trained is None else keys | {"max_position_embeddings": trained}


def _flags(spec: Any) -> dict[str, Any]:
    match spec.id:
        case "rope" if not spec.is_proportional or spec.partial_rotary_factor == 1:
            return {"rope_scaling": "none", "rope_freq_base": spec.base}
        case "abf":
            return {"rope_scaling": "none", "rope_freq_base": spec.new_base}
        case "ntk_aware" if spec.variant == "published":
            return {"rope_scaling": "none", "rope_freq_base": published_ntk_base(spec)}
        case "linear":
            return {
                "rope_scaling": "linear",
                "rope_scale": spec.scaling_factor,
                "rope_freq_base": spec.base,
            }
        case "yarn":
            return _yarn(spec)
        case "self_extend":
            return _self_extend(spec)
    raise refusal(spec, TITLE, _REFUSALS.get(spec.id, "no flag expresses it"))


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


def _yarn(spec: Any) -> dict[str, Any]:
    _refuse_yarn(spec)
    flags: dict[str, Any] = {
        "rope_scaling": "yarn",
        "rope_scale": spec.scaling_factor,
        "yarn_orig_ctx": spec.original_max_position_embeddings,
        "rope_freq_base": spec.base,
    }
    if spec.extrapolation_factor != 1:
        flags["yarn_ext_factor"] = spec.extrapolation_factor
    if spec.extrapolation_factor == 0:
        flags["yarn_attn_factor"] = spec.attention_factor
    for key, default in (("beta_fast", 32.0), ("beta_slow", 1.0)):
        if getattr(spec, key) != default:
            flags[f"yarn_{key}"] = getattr(spec, key)
    return flags


def _refuse_yarn(spec: Any) -> None:
    if spec.ramp == "turns":
        raise refusal(spec, TITLE, "its ramp is linear in the pair index")
    if not spec.truncate:
        raise refusal(spec, TITLE, "it always rounds the bounds of the ramp (truncate true)")
    if changes_crossed_bounds(spec, "step"):
        raise refusal(spec, TITLE, "it makes a step of a ramp whose bounds cross")
    if spec.applies != "always":
        raise refusal(spec, TITLE, "it scales at every length, also within the trained window")
    if spec.softmax_correction or spec.softmax_magnitude(1) != 1:
        raise refusal(
            spec,
            TITLE,
            "the correction in the softmax comes from the GGUF file (yarn_log_multiplier)",
        )
    if spec.extrapolation_factor == 0:
        if spec.attention_factor is None:
            raise refusal(
                spec, TITLE, "with an extrapolation factor of 0 it takes attention_factor as given"
            )
        return
    if spec.magnitude(1) != yarn_magnitude(spec.scaling_factor):
        raise refusal(
            spec,
            TITLE,
            "an attention factor other than the default 0.1·ln s + 1 has no effect there, whatever "
            "--yarn-attn-factor says, and mscale is not read",
        )


def _notes(task: Task) -> list[str]:
    notes = length_notes(task)
    if task.spec.id == "self_extend":
        notes.append(
            "--grp-attn-n and --grp-attn-w belong to llama.cpp's example programs, which group the "
            "cached positions in blocks of w tokens as the context grows, not for each query: "
            "between two groupings their distances differ from the paper's."
        )
    if "mrope_section" in task.carried:
        notes.append("The M-RoPE sections come from the GGUF file.")
    if task.spec.id == "linear":
        notes.append("--rope-scale is the factor; --rope-freq-scale would be its reciprocal.")
    return notes


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value)
