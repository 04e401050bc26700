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
from posviz.parameters import number_text

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
    (src/models/deepseek2.cpp).

    Raises
    ------
    ExportError : no key gives these factors, or the architecture's prefix is not known.
    """
    spec: Any = task.spec
    prefix = architecture(task)
    if prefix in LATENT_ARCHITECTURES or spec.softmax_magnitude(1) != 1:
        return _log_multiplier(spec, prefix, runtime)
    wanted, derived = spec.magnitude(1), yarn_magnitude(spec.scaling_factor)
    if _close(wanted, derived):
        return None
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


def architecture(task: Task) -> str | None:
    """The prefix of the model's GGUF keys; None where it is not known."""
    return None if task.model is None else ARCHITECTURES.get(task.model.model_type)


def refuse_softmax_side_effect(task: Task) -> None:
    """DeepSeek's architecture takes any scaling for YaRN's when it scales the softmax.

    Raises
    ------
    ExportError : the spec scales without the correction in the softmax.
    """
    if architecture(task) in LATENT_ARCHITECTURES:
        raise refusal(task.spec, TITLE, _SIDE_EFFECT)


def _log_multiplier(spec: Any, prefix: str | None, runtime: str) -> str:
    if prefix not in LATENT_ARCHITECTURES:
        raise refusal(
            spec,
            runtime,
            "the correction in the softmax comes from the GGUF file (yarn_log_multiplier), and "
            "--override-kv can set it for DeepSeek's architecture only",
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
