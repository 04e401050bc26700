"""Which models take their positions from a bias on the logits, and the numbers of that bias.

Read off and run: transformers 5.24.0 (Bloom, MPT, Falcon, T5 and its relatives).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz.configs.section import Found, Section
from posviz.encodings.buckets import t5_bucket
from posviz.encodings.slopes import alibi_slopes
from posviz.parameters import is_finite_number

LIBRARY_BUCKETS, LIBRARY_DISTANCE, LIBRARY_EXPONENT = 32, 128, 8.0
_ALIBI_CLASSES = ("bloom", "mpt", "gpt_refact")
_T5_CLASSES = (
    *("t5", "mt5", "umt5", "longt5", "switch_transformers", "pop2piano", "udop"),
    "pix2struct_text_model",
)
_DISTANCE_CLASSES: Mapping[str, str] = {
    "xlnet": "sinusoids of the distance (XLNet)",
    "transfo-xl": "sinusoids of the distance (Transformer-XL)",
    "funnel": "sinusoids of the distance (Funnel)",
}
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_MOST_HEADS = 512
_ENCODERS = ("bert", "jina_bert", "jinabert", "jina-bert-v2", "mosaic_bert")
_BAICHUAN_13B = 5120
"""hidden_size; model_type baichuan is also the 7B model, which rotates."""


@dataclass(frozen=True)
class AlibiBias:
    """ALiBi as a configuration has it.

    Attributes
    ----------
    told_by : the key, or the model class, that says so.
    heads : None where no usable number of heads stands anywhere.
    exponent : the last head of a power of two has the slope 2 to minus this.
    is_symmetric : an encoder's, minus slope times |distance|.
    """

    told_by: str
    heads: Found | None
    exponent: float
    exponent_key: str
    is_symmetric: bool

    @property
    def slopes(self) -> tuple[float, ...]:
        """One per head, as the authors' code orders them; empty without a number of heads."""
        if self.heads is None:
            return ()
        return tuple(float(slope) for slope in alibi_slopes(self.heads.value, self.exponent))


@dataclass(frozen=True)
class BucketBias:
    """T5's bias as a configuration has it; the raw values, as they may be no numbers."""

    buckets: Found
    distance: Found
    given: tuple[str, ...]
    """Which of the two the file gives."""


def alibi_bias(section: Section, model_type: str) -> AlibiBias | None:
    """ALiBi, where the configuration asks for it."""
    told_by = _alibi_told_by(section, model_type)
    if not told_by:
        return None
    exponent, key = _exponent(section)
    return AlibiBias(
        told_by=told_by,
        heads=_heads(section),
        exponent=exponent,
        exponent_key=key,
        is_symmetric=model_type in _ENCODERS or "alibi_starting_size" in section,
    )


def _alibi_told_by(section: Section, model_type: str) -> str:
    attention: Any = section.data.get("attn_config")
    if section.data.get("alibi") is True:
        return section.key("alibi")
    if section.data.get("position_embedding_type") == "alibi":
        return section.key("position_embedding_type")
    if isinstance(attention, Mapping) and attention.get("alibi") is True:
        return section.key("attn_config.alibi")
    if model_type in _ALIBI_CLASSES:
        return f"the model class {model_type}"
    if "alibi_starting_size" in section:
        return section.key("alibi_starting_size")
    if model_type == "baichuan" and section.data.get("hidden_size") == _BAICHUAN_13B:
        return f"the model class baichuan at hidden_size {_BAICHUAN_13B}"
    return ""


def _exponent(section: Section) -> tuple[float, str]:
    attention: Any = section.data.get("attn_config")
    inner: Mapping[str, Any] = attention if isinstance(attention, Mapping) else {}
    value: Any
    for value, key in (
        (inner.get("alibi_bias_max"), "attn_config.alibi_bias_max"),
        (section.data.get("alibi_bias_max"), "alibi_bias_max"),
    ):
        if is_finite_number(value) and 0 < value <= 64:
            return float(value), section.key(key)
    return LIBRARY_EXPONENT, ""


def _heads(section: Section) -> Found | None:
    found = section.given(*_HEADS)
    if found is None or not is_finite_number(found.value):
        return None
    whole = found.value == int(found.value) and 1 <= found.value <= _MOST_HEADS
    return Found(int(found.value), found.key) if whole else None


def bucket_bias(section: Section, model_type: str) -> BucketBias | None:
    """T5's bias; for WavLM and MPNet too, which took its buckets."""
    names = ("relative_attention_num_buckets", "relative_attention_max_distance")
    buckets, distance = LIBRARY_BUCKETS, LIBRARY_DISTANCE
    if model_type == "wavlm":
        names, buckets, distance = ("num_buckets", "max_bucket_distance"), 320, 800
    elif model_type not in (*_T5_CLASSES, "mpnet") and names[0] not in section:
        return None
    origin = f"default of {model_type or 'the library'}"
    found = section.find(names[0]) or Found(buckets, f"{names[0]}, {origin}")
    far = section.find(names[1]) or Found(distance, f"{names[1]}, {origin}")
    if model_type == "mpnet":
        far = Found(distance, "fixed by the model class mpnet")
    return BucketBias(found, far, tuple(name for name in names if name in section))


def other_bias(section: Section, model_type: str) -> str:
    """What else gives distances a say: DeBERTa's and XLNet's terms; empty for nothing."""
    if section.data.get("relative_attention") is True:
        return "terms of the distance in every attention layer (DeBERTa)"
    return _DISTANCE_CLASSES.get(model_type, "")


def last_bucket_start(buckets: int, distance: int, *, two_way: bool) -> int | None:
    """The distance, before the query, from which all share the last bucket.

    With N buckets a side and e = ⌊N/2⌋ it is the smallest whole n of at least
    e·(distance/e)^((N-1-e)/(N-e)). None where the numbers give no buckets.
    """
    side = buckets // 2 if two_way else buckets
    exact = side // 2
    if exact < 1 or distance <= exact:
        return None
    edge = exact * (distance / exact) ** ((side - 1 - exact) / (side - exact))
    near = np.arange(max(0.0, np.floor(edge) - 2), np.floor(edge) + 4)
    found = t5_bucket(-near, bidirectional=two_way, num_buckets=buckets, max_distance=distance)
    return int(near[np.asarray(found) == side - 1][0])
