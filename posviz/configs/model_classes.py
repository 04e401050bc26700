"""What a model class takes when its configuration does not say: defaults and conventions.

The table beside this file was read off the configuration classes of transformers 5.24.0.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

LIBRARY_BASE = 10000
"""transformers' base for a class that does not set its own."""

_ALIASES = {"kimi_k2": "deepseek_v3"}
"""Model types of which transformers makes another: kimi_k25 reads its text model so."""
_COMPOSITE_TEXT = ("_text", "_text_model")

_FULL_LAYER_EVERY: Mapping[str, tuple[int, int]] = {
    # model class: (period, which layer of each period is the full one)
    "gemma2": (2, 1),
    "gemma3_text": (6, 5),
    "gemma3n_text": (5, 4),
    "gemma4_text": (6, 5),
    "cohere2": (4, 3),
    "modernbert": (3, 0),
    "modernbert-decoder": (3, 0),
    "olmo3": (4, 3),
    "exaone4": (4, 3),
}
_NO_ROPE_INTERVAL = {"llama4_text": 4, "smollm3": 4}
_UNROTATED_FULL_LAYERS = ("cohere2", "exaone4", "exaone_moe", "afmoe")
"""Classes whose full-attention layers carry no rotation; only the sliding ones rotate."""
_GLOBAL_HEAD_DIM = {"gemma4_text": 512, "gemma4_unified_text": 512}
_ORIGINAL_WINDOW = {"phi3": 4096, "phi4_multimodal": 4096}
"""Classes with a top-level original_max_position_embeddings of their own."""
_OWN_NAMES = {
    "gpt_neox": ("rotary_emb_base", "rotary_pct"),
    "gpt_neox_japanese": ("rotary_emb_base", "rotary_pct"),
}
"""Classes that read the base and the partial factor under their own names, and only there."""
_SPLIT_HEADS = ("mistral4", "deepseek_v4", "dots3_note_text")
"""Latent attention whose head_dim is the whole head, with the rotated part as a partial factor."""
_READ_ROTARY_DIM = ("codegen", "gptj", "minimax_m2")
"""The classes that read a count of rotary dimensions; every other one passes it over."""
_COUNT_ONLY = ("codegen", "gptj")
"""Classes that read no share of a head, only the count."""
_READ_ROPE_INTERLEAVE = ("axk1", "deepseek_v3", "glm4_moe_lite", "mistral4", "youtu")
"""The classes whose attention asks rope_interleave; every other one has one layout."""
_TOP_LEVEL_BASE = {
    "dots3_note_text": ("indexed_attention",),
    "neomme": ("full_attention", "sliding_attention"),
    "step3p5": ("full_attention",),
}
"""Classes whose own bases of these layer types give way to one rope_theta beside the dict."""
_WIDENED = {"zamba2": 2}
"""Classes whose attention works on a multiple of the hidden size."""


@dataclass(frozen=True, kw_only=True)
class ModelClass:
    """Facts about one ``model_type``; everything neutral when the class is unknown."""

    name: str = ""
    known: bool = False
    base: float = LIBRARY_BASE
    partial_rotary_factor: float | None = None
    rotates_partially: bool = True
    """Whether the class obeys partial_rotary_factor for rope_type default."""
    interleaved: bool = False
    reads_rope_interleave: bool = True
    """Whether the class obeys rope_interleave; unknown classes are believed."""
    head_dim: int | None = None
    hidden_size: int | None = None
    num_attention_heads: int | None = None
    widened: int = 1
    """How many hidden sizes the heads share."""
    global_head_dim: int | None = None
    rotary_dim: int | None = None
    reads_rotary_dim: bool = True
    """Whether the class obeys a count of rotary dimensions; unknown classes are believed."""
    qk_rope_head_dim: int | None = None
    splits_heads: bool = False
    max_position_embeddings: int | None = None
    original_window: int | None = None
    window_is_extended: bool = False
    """Whether max_position_embeddings already includes the factor of type linear."""
    base_keys: tuple[str, ...] = ("rope_theta", "rotary_emb_base")
    partial_keys: tuple[str, ...] = ("partial_rotary_factor", "rotary_pct")
    top_level_base: tuple[str, ...] = ()
    """Layer types for which a rope_theta beside the dict beats that of the class's own dict."""
    softmax_correction: bool = False
    rope_parameters: Mapping[str, Any] = field(default_factory=dict)
    full_layer_every: tuple[int, int] | None = None
    no_rope_interval: int | None = None
    full_layers_rotate: bool = True

    @property
    def origin(self) -> str:
        """How a row names a default of this class."""
        return f"default of the model class {self.name}"


_OUTSIDE: Mapping[str, ModelClass] = {
    # ChatGLM2 and later, with their own code: neighbours rotate, in the first half of a head.
    "chatglm": ModelClass(name="chatglm", partial_rotary_factor=0.5, interleaved=True),
}
"""Classes outside transformers whose own code settles what the file leaves open."""


def model_class(model_type: str) -> ModelClass:
    """Facts about the class behind ``model_type``; composite names find their text class."""
    table = _table()
    model_type = _ALIASES.get(model_type, model_type)
    for name in (model_type, *(model_type + ending for ending in _COMPOSITE_TEXT)):
        if name in table["known"]:
            return _facts(name)
    return _OUTSIDE.get(model_type, ModelClass(name=model_type))


@functools.cache
def _facts(name: str) -> ModelClass:
    table = _table()
    base = _value(table["base"], name)
    partial = _value(table["partial_rotary_factor"], name)
    own_names = _OWN_NAMES.get(name)
    return ModelClass(
        name=name,
        known=True,
        base=LIBRARY_BASE if base is None else base,
        partial_rotary_factor=partial,
        rotates_partially=name in table["rotates_partially"],
        interleaved=name in table["interleaved"],
        reads_rope_interleave=name in _READ_ROPE_INTERLEAVE,
        head_dim=_whole(table["head_dim"], name),
        hidden_size=_whole(table["hidden_size"], name),
        num_attention_heads=_whole(table["num_attention_heads"], name),
        widened=_WIDENED.get(name, 1),
        global_head_dim=_GLOBAL_HEAD_DIM.get(name),
        rotary_dim=_whole(table["rotary_dim"], name),
        reads_rotary_dim=name in _READ_ROTARY_DIM,
        qk_rope_head_dim=_whole(table["qk_rope_head_dim"], name),
        splits_heads=name in _SPLIT_HEADS,
        max_position_embeddings=_whole(table["max_position_embeddings"], name),
        original_window=_ORIGINAL_WINDOW.get(name),
        window_is_extended=name.startswith("gemma3"),
        base_keys=own_names[:1] if own_names else ("rope_theta",),
        partial_keys=_partial_keys(name),
        top_level_base=_TOP_LEVEL_BASE.get(name, ()),
        softmax_correction=name in table["softmax_correction"],
        rope_parameters=table["rope_parameters"].get(name, {}),
        full_layer_every=_FULL_LAYER_EVERY.get(name),
        no_rope_interval=_NO_ROPE_INTERVAL.get(name),
        full_layers_rotate=name not in _UNROTATED_FULL_LAYERS,
    )


def _partial_keys(name: str) -> tuple[str, ...]:
    if name in _COUNT_ONLY:
        return ()
    return _OWN_NAMES[name][1:] if name in _OWN_NAMES else ("partial_rotary_factor",)


@functools.cache
def _table() -> dict[str, Any]:
    text = (files("posviz.configs") / "model_classes.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def _value(groups: Mapping[str, list[str]], name: str) -> float | None:
    """The value whose group names the class; the table lists classes by value."""
    return next((float(value) for value, names in groups.items() if name in names), None)


def _whole(groups: Mapping[str, list[str]], name: str) -> int | None:
    value = _value(groups, name)
    return None if value is None else int(value)
