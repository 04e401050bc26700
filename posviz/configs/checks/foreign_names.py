"""Names that other tools give to the numbers of a rotary dict, and ordinary names that look alike.

Sources: llama.cpp's flags; ExLlama's and text-generation-webui's options; Megatron-LM's arguments;
the inference code of DeepSeek.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

How = Literal["same", "reciprocal", "alpha", "unlike"]


@dataclass(frozen=True)
class Foreign:
    """A name of another tool."""

    whose: str
    real: str
    """The key of the configuration that holds this number."""
    how: How = "same"
    """How its number turns into that key's."""


_LLAMA = "llama.cpp"
_EXLLAMA = "ExLlama"
_WEBUI = "text-generation-webui"
_MEGATRON = "Megatron-LM"
_OTHERS = "other tools"
_ORIGINAL = "original_max_position_embeddings"
_SHARE = "partial_rotary_factor"

FOREIGN: Mapping[str, Foreign] = {
    # Written without capitals, hyphens and underscores.
    "ropefreqbase": Foreign(_LLAMA, "rope_theta"),
    "freqbase": Foreign(_LLAMA, "rope_theta"),
    "ropefreqscale": Foreign(_LLAMA, "factor", "reciprocal"),
    "freqscale": Foreign(_LLAMA, "factor", "reciprocal"),
    "ropescale": Foreign(_LLAMA, "factor"),
    "ropescalingtype": Foreign(_LLAMA, "rope_type"),
    "yarnorigctx": Foreign(_LLAMA, _ORIGINAL),
    "nctxorig": Foreign(_LLAMA, _ORIGINAL),
    "nctxorigyarn": Foreign(_LLAMA, _ORIGINAL),
    "yarnextfactor": Foreign(_LLAMA, "attention_factor", "unlike"),
    "yarnattnfactor": Foreign(_LLAMA, "attention_factor", "unlike"),
    "yarnbetafast": Foreign(_LLAMA, "beta_fast"),
    "yarnbetaslow": Foreign(_LLAMA, "beta_slow"),
    "compressposemb": Foreign(f"{_EXLLAMA} and {_WEBUI}", "factor"),
    "scaleposemb": Foreign(_EXLLAMA, "factor"),
    "alphavalue": Foreign(f"{_EXLLAMA} and {_WEBUI}", "rope_theta", "alpha"),
    "scalealphavalue": Foreign(_EXLLAMA, "rope_theta", "alpha"),
    "ropealpha": Foreign(_EXLLAMA, "rope_theta", "alpha"),
    "ntkalpha": Foreign("the NTK-aware proposal", "rope_theta", "alpha"),
    "rotarybase": Foreign(_MEGATRON, "rope_theta"),
    "rotarypercent": Foreign(_MEGATRON, _SHARE),
    # Megatron-LM divides positions by it, Nomic's own code means dynamic NTK by it.
    "rotaryscalingfactor": Foreign(f"{_MEGATRON} and Nomic", "factor", "unlike"),
    "ropescalingfactor": Foreign(_MEGATRON, "factor"),
    "ropecondenseratio": Foreign("FastChat (LongChat)", "factor"),
    "ropepct": Foreign("the first StableLM files", _SHARE),
    "ropepercent": Foreign(_OTHERS, _SHARE),
    "ropefraction": Foreign(_OTHERS, _SHARE),
    "rotarypercentage": Foreign(_OTHERS, _SHARE),
    "rotaryfraction": Foreign(_OTHERS, _SHARE),
    "seqleninterpolationfactor": Foreign(_MEGATRON, "factor"),
    "rotaryseqleninterpolationfactor": Foreign(_MEGATRON, "factor"),
    "yarnrotaryscalingfactor": Foreign(_MEGATRON, "factor"),
    "yarnoriginalmaxpositionembeddings": Foreign(_MEGATRON, _ORIGINAL),
    "yarnmscale": Foreign(_MEGATRON, "mscale"),
    "yarnmscalealldim": Foreign(_MEGATRON, "mscale_all_dim"),
    "originalseqlen": Foreign("DeepSeek's inference code", _ORIGINAL),
    "ropefactor": Foreign("DeepSeek's inference code", "factor"),
    "originalmaxseqlen": Foreign(_OTHERS, _ORIGINAL),
    "originalcontextlength": Foreign(_OTHERS, _ORIGINAL),
    "originalmaxposition": Foreign(_OTHERS, _ORIGINAL),
    "originalmaxpositions": Foreign(_OTHERS, _ORIGINAL),
    "maxpositionembeddingsoriginal": Foreign(_OTHERS, _ORIGINAL),
    "origctx": Foreign(_OTHERS, _ORIGINAL),
    "yarnfactor": Foreign(_OTHERS, "factor"),
    "scalingfactor": Foreign(_OTHERS, "factor"),
    "scalefactor": Foreign(_OTHERS, "factor"),
    "scale": Foreign(_OTHERS, "factor"),
    "ropebase": Foreign(_OTHERS, "rope_theta"),
    "ropebasefreq": Foreign(_OTHERS, "rope_theta"),
    "ropeembbase": Foreign(_OTHERS, "rope_theta"),
    "basefreq": Foreign(_OTHERS, "rope_theta"),
    "base": Foreign(_OTHERS, "rope_theta"),
    "theta": Foreign(_OTHERS, "rope_theta"),
    "attentionscalingfactor": Foreign(_OTHERS, "attention_factor"),
    "attentionscaling": Foreign(_OTHERS, "attention_factor"),
}
"""By the bare letters of the name."""
INSIDE_ONLY = frozenset({"scale", "scalefactor", "theta", "attentionscaling"})
"""Names that mean something else beside the dict."""
NOT_A_SLIP = frozenset(
    {
        "left_max_position_embeddings",
        "max_2d_position_embeddings",
        "mrope_interleaved",
        "num_position_embeddings",
        "partial_rotary_factors",
        "qk_nope_head_dim",
        "right_max_position_embeddings",
        "short_mscale",
        "long_mscale",
    }
)
"""Real keys of released models that differ by a letter or two."""

_NOTHING_WITH_1 = ("factor", _SHARE)


def changes_nothing(foreign: Foreign | None, value: object) -> bool:
    """Whether the number of another tool says what holds without it: null, or a scaling by 1."""
    if value is None:
        return True
    neutral = foreign is not None and (foreign.how == "alpha" or foreign.real in _NOTHING_WITH_1)
    return neutral and not isinstance(value, bool) and value == 1
