"""An exported config.json as the real transformers reads it: its frequencies and its factors."""

from __future__ import annotations

import importlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_CLASSES = {
    # model_type: module under transformers.models, prefix of its classes
    "cohere": ("cohere", "Cohere"),
    "deepseek_v2": ("deepseek_v2", "DeepseekV2"),
    "deepseek_v3": ("deepseek_v3", "DeepseekV3"),
    "falcon": ("falcon", "Falcon"),
    "gemma2": ("gemma2", "Gemma2"),
    "gemma3_text": ("gemma3", "Gemma3"),
    "gemma4_text": ("gemma4", "Gemma4Text"),
    "glm": ("glm", "Glm"),
    "gpt_neox": ("gpt_neox", "GPTNeoX"),
    "gpt_oss": ("gpt_oss", "GptOss"),
    "llama": ("llama", "Llama"),
    "mistral": ("mistral", "Mistral"),
    "modernbert": ("modernbert", "ModernBert"),
    "olmo3": ("olmo3", "Olmo3"),
    "phi": ("phi", "Phi"),
    "phi3": ("phi3", "Phi3"),
    "qwen2": ("qwen2", "Qwen2"),
    "qwen3": ("qwen3", "Qwen3"),
    "qwen3_moe": ("qwen3_moe", "Qwen3Moe"),
    "smollm3": ("smollm3", "SmolLM3"),
    "stablelm": ("stablelm", "StableLm"),
}


@dataclass(frozen=True)
class Rotary:
    """What a model class rotates by at one length."""

    inv_freq: Any
    attention_scaling: float


def loaded(config: Mapping[str, Any], folder: Path) -> Any:
    """The configuration object that AutoConfig makes of a config.json, without any network."""
    # The library reads this when it is imported; a folder on disk needs no network anyway.
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoConfig

    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return AutoConfig.from_pretrained(folder)


def complaints(config: Mapping[str, Any], folder: Path) -> list[str]:
    """What the library logs while it loads a config.json."""
    found: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("transformers")
    logger.addHandler(handler)
    try:
        loaded(config, folder)
    finally:
        logger.removeHandler(handler)
    return found


def rotary(config: Any, length: int, layer_type: str | None = None) -> Rotary:
    """A fresh rotary module of the model's class, after one call that ends at this length.

    Fresh, because the base that ``dynamic`` raised stays until a short call.
    """
    import torch

    module = _class(config, "RotaryEmbedding")(config)
    last = torch.tensor([[length - 1]])
    names = {} if layer_type is None else {"layer_type": layer_type}
    _ = module(torch.zeros(1, 1, 1, dtype=torch.float32), last, **names)
    prefix = "" if layer_type is None else f"{layer_type}_"
    return Rotary(
        getattr(module, f"{prefix}inv_freq").double().numpy(),
        float(getattr(module, f"{prefix}attention_scaling")),
    )


def softmax_factor(config: Any) -> float:
    """What a latent attention layer multiplies 1/√(head size) by."""
    attention = _class(config, "Attention")(config, 0)
    return float(attention.scaling * np.sqrt(attention.qk_head_dim))


def _class(config: Any, name: str) -> Any:
    module, prefix = _CLASSES[config.model_type]
    return getattr(
        importlib.import_module(f"transformers.models.{module}.modeling_{module}"), prefix + name
    )
