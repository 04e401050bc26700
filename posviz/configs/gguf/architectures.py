"""What llama.cpp knows about an architecture beside the file.

Which ones rotate neighbours, halves or nothing was compared with ``llama_model_rope_type`` in its
public sources; M-RoPE's interleaving and some unscaled sliding layers are recalled.
The names of architectures are those of the ``gguf`` library (MODEL_ARCH_NAMES).
"""

from __future__ import annotations

from collections.abc import Mapping

_MODEL_TYPES: Mapping[str, str] = {
    # Where transformers' model_type is another name; the rest are the same on both sides.
    "llama4": "llama4_text",
    "llama-embed": "llama",
    "mistral3": "ministral3",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2_vl_text",
    "qwen3moe": "qwen3_moe",
    "qwen3next": "qwen3_next",
    "qwen3vl": "qwen3_vl_text",
    "qwen3vlmoe": "qwen3_vl_moe_text",
    "qwen35": "qwen3_5_text",
    "qwen35moe": "qwen3_5_moe_text",
    "phi2": "phi",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "gemma-embedding": "gemma3_text",
    "gptneox": "gpt_neox",
    "gpt-oss": "gpt_oss",
    "command-r": "cohere",
    "deepseek2": "deepseek_v2",
    "glm4moe": "glm4_moe",
    "glm-dsa": "glm_moe_dsa",
    "modern-bert": "modernbert",
    "nomic-bert": "nomic_bert",
    "exaone-moe": "exaone_moe",
    "granitehybrid": "granitemoehybrid",
    "ernie4_5-moe": "ernie4_5_moe",
    "falcon-h1": "falcon_h1",
    "hunyuan-dense": "hunyuan_v1_dense",
    "hunyuan-moe": "hunyuan_v1_moe",
    "hunyuan_vl": "hunyuan_vl_text",
    "lfm2moe": "lfm2_moe",
    "minimax-m2": "minimax_m2",
    "nemotron_h_moe": "nemotron_h",
    "kimi-linear": "kimi_linear",
    "mimo2": "mimo_v2_flash",
    "step35": "step3p5",
    "paddleocr": "paddleocr_vl_text",
    "starcoder": "gpt_bigcode",
    "t5encoder": "t5",
}

UNROTATED = (
    "gpt2",
    "mpt",
    "refact",
    "bloom",
    "mamba",
    "mamba2",
    "jamba",
    "jina-bert-v2",
    "t5",
    "t5encoder",
    "jais",
    "rwkv6",
    "rwkv6qwen2",
    "rwkv7",
    "arwkv7",
    "wavtokenizer-dec",
    "nemotron_h",
    "nemotron_h_moe",
    "kimi-linear",
    "bert",
    "starcoder",
)
"""Architectures whose queries and keys llama.cpp does not rotate: LLAMA_ROPE_TYPE_NONE, and the two
that have a type without using it, BERT and StarCoder."""
NAMED_ONLY = ("gptj",)
"""Architectures that llama.cpp knows by name and does not run."""
ALIBI = ("mpt", "refact", "bloom", "jina-bert-v2", "jais")

NEIGHBOURS_ROTATE = (
    "llama",
    "llama-embed",
    "deci",
    "baichuan",
    "internlm2",
    "minicpm",
    "xverse",
    "olmo",
    "arctic",
    "deepseek",
    "plm",
    "granite",
    "granitemoe",
    "granitehybrid",
    "chameleon",
    "bailingmoe",
    "smollm3",
    "arcee",
    "mistral3",
    "maincoder",
)
"""Architectures where llama.cpp rotates pairs of neighbours (LLAMA_ROPE_TYPE_NORM) and the model's
own code rotates halves. Of the same type, but interleaved in both, so that no row moves: command-r,
cohere2, llama4, deepseek2, mistral4, glm-dsa, glm4, chatglm, ernie4_5 and their relatives."""
INTERLEAVED_SECTIONS = ("qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe")
"""Architectures that deal M-RoPE's three coordinates out in turn (LLAMA_ROPE_TYPE_IMROPE)."""
ROTATES_WHOLE_HEADS = ("llama", "llama-embed", "deci", "falcon")
"""Architectures that llama.cpp refuses when rope.dimension_count is not the head dimension."""

SLIDING_BASE = 10000.0
OWN_SLIDING_BASE = (
    "gemma3",
    "gemma3n",
    "gemma4",
    "gemma-embedding",
    "laguna",
    "modern-bert",
)
"""Architectures whose sliding layers have the base 10000 unless rope.freq_base_swa says another."""
UNSCALED_SLIDING = (*OWN_SLIDING_BASE, "olmo2")
"""Architectures whose sliding layers are not scaled, whatever rope.scaling says."""


def model_type_of(architecture: str, has_sliding_window: bool) -> str:
    """transformers' model_type behind an architecture, as far as there is one."""
    if architecture == "olmo2" and has_sliding_window:
        return "olmo3"
    return _MODEL_TYPES.get(architecture, architecture)
