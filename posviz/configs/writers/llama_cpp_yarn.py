"""YaRN in llama.cpp: what it cannot run, and keys that --override-kv sets where no flag does."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from posviz.configs.writers.dialects import refusal
from posviz.configs.writers.settings import Task
from posviz.configs.writers.yarn_dict import changes_crossed_bounds
from posviz.encodings.extension import yarn_magnitude
from posviz.parameters import is_finite_number, number_text

TITLE = "llama.cpp"
ARCHITECTURES: Mapping[str, str] = {
    "cohere": "command-r",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gpt_neox": "gptneox",
    "granite": "granite",
    "kimi_k2": "deepseek2",
    "llama": "llama",
    "ministral3": "mistral3",
    "mistral": "llama",
    "mixtral": "llama",
    "olmo2": "olmo2",
    "phi3": "phi3",
    "qwen2": "qwen2",
    "qwen2_moe": "qwen2moe",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "smollm3": "smollm3",
    "stablelm": "stablelm",
    "starcoder2": "starcoder2",
}
"""The prefix of a model's keys in a GGUF file (gguf 0.19, MODEL_ARCH_NAMES), by model_type."""
LATENT_ARCHITECTURES = ("deepseek2",)
_MULTIPLIER_MODELS: Mapping[str, float] = {"ministral3": 1.0}
"""Model types whose mscale_all_dim conversion writes as yarn_log_multiplier, undivided; with what
their class takes where there is no dict."""
ATTN_FACTOR, LOG_MULTIPLIER = "attn_factor", "yarn_log_multiplier"
_SIDE_EFFECT = (
    "DeepSeek's architecture multiplies the softmax scale by (0.1·ln s + 1)² for any scaling, also "
    "where the correction in the softmax is left out"
)
_OVERRIDE = re.compile(
    rf"[\w-]+\.rope\.scaling\.({ATTN_FACTOR}|{LOG_MULTIPLIER})=float:([-+.\deE]+)"
)


def refuse_yarn(spec: Any, runtime: str = TITLE) -> None:
    """Refuse what neither a flag nor the file can make llama.cpp's YaRN do.

    ``runtime`` is the name in the refusal; Ollama runs on llama.cpp's rules.

    Raises
    ------
    ExportError : with the reason.
    """
    if spec.ramp == "turns":
        raise refusal(spec, runtime, "its ramp is linear in the pair index")
    if not spec.truncate:
        raise refusal(spec, runtime, "it always rounds the bounds of the ramp (truncate true)")
    if changes_crossed_bounds(spec, "step"):
        raise refusal(spec, runtime, "it makes a step of a ramp whose bounds cross")
    if spec.applies != "always":
        raise refusal(spec, runtime, "it scales at every length, also within the trained window")


def yarn_override(task: Task, runtime: str = TITLE) -> str | None:
    """The override that gives YaRN's factors, or None where llama.cpp's own rule gives them.

    cos and sin carry (0.1·ln s + 1) times the key attn_factor (src/llama-context.cpp and ggml).
    With the key yarn_log_multiplier, a tenth of mscale_all_dim, the deepseek2 architecture leaves
    cos and sin as they are and multiplies the softmax scale by (0.1·mscale_all_dim·ln s + 1)²
    (src/models/deepseek2.cpp). In any other architecture that key divides the magnitude by
    0.1·mscale_all_dim·ln s + 1.

    Raises
    ------
    ExportError : no key gives these factors, or the architecture's prefix is not known.
    """
    spec: Any = task.spec
    prefix = architecture(task)
    if prefix in LATENT_ARCHITECTURES or spec.softmax_magnitude(1) != 1:
        return _log_multiplier(spec, prefix, runtime)
    in_file = carried_multiplier(task)
    derived = yarn_magnitude(spec.scaling_factor) / yarn_magnitude(spec.scaling_factor, in_file)
    wanted = spec.magnitude(1)
    if _close(wanted, derived):
        return None
    if prefix is None and spec.mscale_all_dim:
        raise refusal(
            spec,
            runtime,
            "with mscale_all_dim the factor on cos and sin depends on yarn_log_multiplier in the "
            "GGUF file, which conversion writes for some architectures only",
            "in the file",
        )
    if prefix is None:
        raise refusal(
            spec,
            runtime,
            "an attention factor other than the default 0.1·ln s + 1 has no effect there, whatever "
            "--yarn-attn-factor says; --override-kv could set rope.scaling.attn_factor to "
            f"{wanted / derived:.9g}, but needs the architecture's name in front, which a model "
            "with a known model_type gives",
        )
    return f"{prefix}.rope.scaling.{ATTN_FACTOR}=float:{number_text(wanted / derived)}"


def carried_multiplier(task: Task) -> float:
    """The mscale_all_dim of the model's own dict where conversion carries it over, else 0."""
    return 0.0 if task.model is None else multiplier_in_file(task.section, task.model.model_type)


def file_keys(task: Task) -> dict[str, Any]:
    """What the converted file holds beside the flags, as a key for whoever reads them back."""
    if task.model is None or task.model.model_type not in _MULTIPLIER_MODELS:
        return {}
    return {"rope_scaling": {"mscale_all_dim": carried_multiplier(task)}}


def multiplier_in_file(section: Mapping[str, Any], model_type: str) -> float:
    """mscale_all_dim as a converted file holds it in yarn_log_multiplier; 0 where it does not."""
    if model_type not in _MULTIPLIER_MODELS:
        return 0.0
    rope = section.get("rope_scaling") or section.get("rope_parameters")
    if not rope:
        return _MULTIPLIER_MODELS[model_type]
    given: Any = rope.get("mscale_all_dim") if isinstance(rope, Mapping) else None
    return float(given) if is_finite_number(given) and given >= 0 else 0.0


def architecture(task: Task) -> str | None:
    """The prefix of the model's GGUF keys; None where it is not known."""
    return None if task.model is None else ARCHITECTURES.get(task.model.model_type)


def refuse_softmax_side_effect(task: Task, runtime: str = TITLE) -> None:
    """DeepSeek's architecture takes any scaling for YaRN's when it scales the softmax.

    Raises
    ------
    ExportError : the spec scales without the correction in the softmax.
    """
    if architecture(task) in LATENT_ARCHITECTURES:
        raise refusal(task.spec, runtime, _SIDE_EFFECT)


def _log_multiplier(spec: Any, prefix: str | None, runtime: str) -> str:
    if prefix not in LATENT_ARCHITECTURES:
        raise refusal(
            spec,
            runtime,
            "the correction in the softmax comes from the GGUF file (yarn_log_multiplier), and "
            "--override-kv can set it for DeepSeek's architecture only",
            "in the file",
        )
    if spec.softmax_magnitude(1) == 1:
        raise refusal(spec, runtime, _SIDE_EFFECT)
    if not _close(spec.magnitude(1), 1.0):
        raise refusal(
            spec,
            runtime,
            "with a correction in the softmax it leaves cos and sin as they are, that is, it takes "
            "mscale to equal mscale_all_dim",
        )
    value = number_text(spec.mscale_all_dim / 10)
    return f"{prefix}.rope.scaling.{LOG_MULTIPLIER}=float:{value}"


def overridden(text: str) -> tuple[str, float] | None:
    """Which of the two keys an override sets, and to what; None for any other text."""
    match = _OVERRIDE.fullmatch(text)
    if match is None:
        return None
    try:
        return match[1], float(match[2])
    except ValueError:
        return None


def _close(one: float, two: float) -> bool:
    return math.isclose(one, two, rel_tol=1e-14)
