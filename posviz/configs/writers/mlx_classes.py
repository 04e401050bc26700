"""What the model classes of mlx-lm 0.32.2 do with a configuration's rotary keys.

Read off its files mlx_lm/models/*.py: most hand rope_theta and rope_scaling to one shared
function, some read the base alone, and a few have rules of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from posviz.configs.writers.settings import Task

READS_SCALING = frozenset(
    {
        "apertus",
        "bitnet",
        "deepseek_v2",
        "deepseek_v3",
        "dots1",
        "exaone4",
        "gemma3",
        "gemma3_text",
        "gpt_oss",
        "granite",
        "granitemoe",
        "kimi_k2",
        "llama",
        "mimo",
        "minicpm",
        "mistral",
        "olmo2",
        "olmoe",
        "phi3",
        "qwen2",
        "qwen2_5_vl",
        "qwen2_vl",
        "qwen3",
        "seed_oss",
        "smollm3",
    }
)
"""Classes that read rope_scaling, all or in part."""
READS_BASE_ONLY = frozenset(
    {
        "cohere",
        "cohere2",
        "ernie4_5",
        "gemma",
        "gemma2",
        "glm4",
        "gpt_neox",
        "mixtral",
        "olmo",
        "phi",
        "qwen2_moe",
        "qwen3_moe",
        "stablelm",
        "starcoder2",
    }
)
"""Classes that rotate with the base alone, whatever rope_scaling says."""
KNOWN = READS_SCALING | READS_BASE_ONLY
ONLY_TYPE: Mapping[str, str] = {"phi3": "longrope", "deepseek_v2": "yarn"}
"""Classes that know one type.

Phi-3's has linear too, but refuses any dict without a long_factor.
"""
NO_WINDOW = ("gpt_oss",)
"""Classes that do not pass max_position_embeddings on, which dynamic and longrope need."""
ROTATES_PARTIALLY = ("glm4", "gpt_neox", "phi", "phi3", "stablelm")
TWO_BASES = ("gemma3", "gemma3_text")
WANTS_TYPE = ("phi3",)
"""Classes that read the type under ``type`` alone."""


def class_name(task: Task) -> str:
    """The model_type that mlx-lm looks up: the top level's, or the text model's own."""
    if task.model is None:
        return ""
    outer = str(task.model.config.get("model_type") or "")
    return outer if outer in KNOWN else task.model.model_type


def reason_against(task: Task, rope_type: str) -> str:
    """Why a known class does not rotate by this type; empty where it does."""
    name = class_name(task)
    if name not in KNOWN:
        return ""
    if rope_type == "default":
        return "its class needs a dict of type yarn" if name == "deepseek_v2" else ""
    if name in READS_BASE_ONLY:
        return f"its class for {name} reads the base only, not the rope type {rope_type}"
    only = ONLY_TYPE.get(name)
    if name == "phi3" and rope_type != only:
        return "its class for phi3 refuses a dict without long_factor, which only longrope has"
    if only is not None and rope_type != only:
        return f"its class for {name} reads the rope type {only} only, not {rope_type}"
    if name in NO_WINDOW and rope_type in ("dynamic", "longrope"):
        return f"its class for {name} leaves {rope_type} without max_position_embeddings"
    return ""
