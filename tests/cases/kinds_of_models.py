"""Head dimensions, layers, sections, tables, biases, number formats and whole files."""

from __future__ import annotations

import math
from typing import Any

from tests.cases.formulas import slopes, slowest
from tests.cases.kind import LINEAR, LLAMA3, LONGROPE, PLAIN, YARN, Kind, scaled, without

LLAMA: dict[str, Any] = {**PLAIN, "model_type": "llama"}
GEMMA: dict[str, Any] = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "num_attention_heads": 8,
    "head_dim": 256,
    "num_hidden_layers": 12,
    "max_position_embeddings": 131072,
}
LOCAL = {"rope_type": "default", "rope_theta": 1e4}
GEMMA_TYPES = (["sliding_attention"] * 5 + ["full_attention"]) * 2
TWO = {**without(PLAIN, "rope_theta"), "num_hidden_layers": 4}
TWO_TYPES = {**TWO, "layer_types": ["sliding_attention", "full_attention"] * 2}
FULL = {**YARN, "rope_theta": 1e6}
SMOLLM = {
    "model_type": "smollm3",
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_hidden_layers": 8,
    "max_position_embeddings": 65536,
    "rope_theta": 5e6,
}
MROPE = {"rope_type": "default", "mrope_section": [16, 24, 24]}

HEADS = (
    Kind(name="ignored by a class that rotates whole heads", severity="warn",
         config={**LLAMA, "partial_rotary_factor": 0.5},
         says=(r"rotates whole heads", r"any other rope type the same class obeys it"),
         numbers={"rotary_dim": 128}),
    Kind(name="obeyed by the same class with linear", severity="ok",
         config=scaled(LINEAR, model_type="llama", partial_rotary_factor=0.5),
         numbers={"rotary_dim": 64, "pairs": 32}),
    Kind(name="obeyed by a class that rotates partly", severity="ok",
         config={**PLAIN, "model_type": "phi", "partial_rotary_factor": 0.5},
         numbers={"rotary_dim": 64, "slowest_wavelength": slowest(1e6, 64)}),
    *(Kind(name=f"the share {value!r}", config={**PLAIN, "partial_rotary_factor": value},
           severity="error", says=(r"partial_rotary_factor must",))
      for value in (0, -0.5, 1.5, "0.5", True)),
    Kind(name="a share that makes an odd dimension", severity="error",
         config={**PLAIN, "head_dim": 80, "partial_rotary_factor": 0.3125},
         says=(r"rotary dimension must be even", r"gives 25")),
    Kind(name="rotary_pct", severity="ok", numbers={"rotary_dim": 32, "base": 1e4},
         config={"model_type": "gpt_neox", "hidden_size": 2048, "num_attention_heads": 16,
                 "rotary_pct": 0.25, "rotary_emb_base": 10000, "max_position_embeddings": 2048}),
    Kind(name="rotary_dim counts dimensions", severity="ok",
         numbers={"rotary_dim": 64, "unrotated_dims": 192},
         config={"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 64}),
    Kind(name="an odd rotary_dim", severity="error", says=(r"must be even",),
         config={"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 65}),
    Kind(name="more rotated than there is", severity="error", says=(r"larger than head_dim",),
         config={"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 512}),
    Kind(name="proportional", severity="ok",
         config={"head_dim": 512, "max_position_embeddings": 131072, "rope_parameters": {
             "rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25}},
         says=(r"other frequencies, and other dimensions",),
         numbers={"rotating_pairs": 64, "inv_freq[63]": 1e6 ** (-126 / 512)}),
    Kind(name="head_dim beside another quotient", config={**PLAIN, "head_dim": 96},
         severity="ok", says=(r"head_dim is given, so it counts",), numbers={"pairs": 48}),
    *(Kind(name=f"head_dim {value!r}", config={**PLAIN, "head_dim": value}, severity="error",
           says=(r"head_dim|rotary dimension",))
      for value in (0, -64, 65, "128", 64.5, True)),
    Kind(name="head_dim as a decimal", config={**PLAIN, "head_dim": 128.0}, severity="ok"),
    Kind(name="hidden_size that does not divide", config={**PLAIN, "hidden_size": 4100},
         severity="warn", says=(r"not a multiple", r"rounded down to 128"),
         numbers={"head_dim": 128}),
    Kind(name="no heads", config={**PLAIN, "num_attention_heads": 0}, severity="error",
         says=(r"num_attention_heads must be a positive integer",)),
    Kind(name="no sizes at all", config={"rope_theta": 1e4}, severity="error",
         says=(r"head dimension cannot be derived",)),
    Kind(name="latent attention counts its rotated part", severity="ok",
         config={**PLAIN, "qk_rope_head_dim": 64, "head_dim": 192}, numbers={"rotary_dim": 64}),
    Kind(name="latent attention with a share", severity="warn",
         config={**PLAIN, "qk_rope_head_dim": 64, "partial_rotary_factor": 0.5},
         says=(r"already is the part that rotates",)),
    *(Kind(name=f"the layout of {name}", severity="ok", config={**PLAIN, "model_type": name},
           texts={"layout": layout})
      for name, layout in (("llama", "half_split"), ("qwen2", "half_split"),
                           ("glm4", "interleaved"), ("cohere", "interleaved"))),
    Kind(name="a layout that the class is not trained with", severity="warn",
         config={**PLAIN, "model_type": "deepseek_v3", "qk_rope_head_dim": 64,
                 "rope_interleave": False},
         says=(r"trained with interleaved pairs",), texts={"layout": "half_split"}),
    Kind(name="latent attention, odd", config={**PLAIN, "qk_rope_head_dim": 63},
         severity="error", says=(r"must be even",)),
)  # fmt: skip

SECTIONS = (
    *(Kind(name=f"{place} section off by {off}", severity="error", config=config,
           says=(f"mrope_section sum: .* = {64 + off}, but there are 64 pairs",),
           numbers={"sum": 64 + off, "expected": 64})
      for off in (-4, 1)
      for place, config in (
          ("default", scaled({**MROPE, "mrope_section": [16, 24, 24 + off]})),
          ("mrope", scaled({"type": "mrope", "mrope_section": [16, 24, 24 + off]})),
          ("yarn", scaled({**YARN, "mrope_section": [16, 24, 24 + off]})),
          ("text_config", {"text_config": scaled({**MROPE, "mrope_section": [16, 24, 24 + off]})}),
          ("rope_parameters", {**without(PLAIN, "rope_theta"), "rope_parameters": {
              **MROPE, "rope_theta": 1e6, "mrope_section": [16, 24, 24 + off]}}))),
    Kind(name="a section that fits", config=scaled(MROPE), severity="ok",
         numbers={"section_sum": 64}),
    Kind(name="a section of the whole head where a part rotates", severity="error",
         config={**PLAIN, "head_dim": 256, "partial_rotary_factor": 0.25, "rope_scaling": {
             "rope_type": "default", "mrope_section": [44, 44, 40]}},
         says=(r"= 128, but there are 32 pairs",)),
    *(Kind(name=f"the section {value!r}", severity="error", says=(r"mrope_section",),
           config=scaled({**MROPE, "mrope_section": value}))
      for value in ("16,24,24", ["16", "24", "24"], [-16, 40, 40], [16.5, 23.5, 24], 64)),
    Kind(name="two parts", config=scaled({**MROPE, "mrope_section": [32, 32]}), severity="info",
         says=(r"has 2 parts",)),
    Kind(name="interleaved without a section", severity="warn", says=(r"no mrope_section",),
         config=scaled({"rope_type": "default", "mrope_interleaved": True})),
    Kind(name="mrope without a section", config=scaled({"type": "mrope"}), severity="warn",
         says=(r"no mrope_section",)),
    Kind(name="yarn and a section", config=scaled({**YARN, "mrope_section": [16, 24, 24]}),
         severity="info", says=(r"vLLM works the ramp out with 4 × 32768",),
         numbers={"ramp_low": 23, "ramp_high": 40}),
)  # fmt: skip

LAYERS = (
    Kind(name="Gemma 3, new spelling", severity="ok", says=(r"two schedules",),
         config={**GEMMA, "layer_types": GEMMA_TYPES, "rope_parameters": {
             "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
             "sliding_attention": LOCAL}},
         numbers={"global.slowest_wavelength": 8 * slowest(1e6, 256),
                  "local.slowest_wavelength": slowest(1e4, 256)}),
    Kind(name="Gemma 3, old spelling with type", severity="warn",
         config={**GEMMA, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
                 "rope_scaling": {"type": "linear", "factor": 8.0}},
         says=(r"Write rope_type instead",), numbers={"global.inv_freq[0]": 1.0}),
    Kind(name="Gemma 3, flat dict", severity="warn", says=(r"must be keyed by layer type",),
         config={**GEMMA, "rope_parameters": {"rope_type": "linear", "factor": 8.0}}),
    Kind(name="ModernBERT's two bases", severity="ok", says=(r"two schedules",),
         config={"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12,
                 "num_hidden_layers": 22, "max_position_embeddings": 8192,
                 "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
                 "global_attn_every_n_layers": 3},
         numbers={"global.slowest_wavelength": slowest(160000, 64),
                  "local.slowest_wavelength": slowest(10000, 64),
                  "global_layers": [0, 3, 6, 9, 12, 15, 18, 21]}),
    Kind(name="a layer type without a dict", severity="error", says=(r"no dict for it",),
         config={**TWO_TYPES, "rope_parameters": {"full_attention": FULL}}),
    Kind(name="a layer type that is null", severity="ok",
         config={**TWO_TYPES, "rope_parameters": {
             "full_attention": FULL, "sliding_attention": None}}),
    Kind(name="a dict for no layer", severity="info", says=(r"chunked_attention", r"nothing reads"),
         config={**TWO_TYPES, "rope_parameters": {
             "full_attention": FULL, "sliding_attention": LOCAL, "chunked_attention": LOCAL}}),
    Kind(name="truncate inside a layer type", severity="warn", says=(r"outer dict only",),
         config={**TWO_TYPES, "rope_parameters": {
             "full_attention": {**FULL, "truncate": False}, "sliding_attention": LOCAL}}),
    Kind(name="an unknown layer type", severity="error", says=(r"'weird'", r"layer_types"),
         config={**LLAMA, "layer_types": ["weird"] * 32}),
    Kind(name="too few layer types", severity="warn", says=(r"2 entries, but there are 4 layers",),
         config={**TWO, "layer_types": ["sliding_attention", "full_attention"],
                 "rope_parameters": {"full_attention": FULL, "sliding_attention": LOCAL}}),
    Kind(name="1 means that the layer rotates", severity="info",
         config={**SMOLLM, "no_rope_layers": [1, 1, 1, 0] * 2}, says=(r"3, 7",),
         numbers={"layers_without_rotation": [3, 7]}),
    Kind(name="read backwards", severity="warn", says=(r"wrong way round",),
         config={**SMOLLM, "no_rope_layers": [0, 0, 0, 1] * 2}),
    Kind(name="no layer rotates", config={**SMOLLM, "no_rope_layers": [0] * 8}, severity="warn",
         says=(r"no layer rotates",)),
    Kind(name="too few marks", config={**PLAIN, "no_rope_layers": [1, 1, 1, 0]}, severity="warn",
         says=(r"4 entries, but there are 32 layers",)),
    Kind(name="Llama 4", severity="info", says=(r"3, 7, 11", r"step"),
         config=scaled({**LLAMA3, "factor": 16.0, "high_freq_factor": 1.0},
                       model_type="llama4_text", no_rope_layers=[1, 1, 1, 0] * 8)),
)  # fmt: skip


def table(model_type: str, **keys: Any) -> dict[str, Any]:
    return {"model_type": model_type, "hidden_size": 768, "num_attention_heads": 12, **keys}


TABLES = (
    *(Kind(name=f"{model} ends at {rows}", severity="error", ask={"target_length": rows + 1},
           config=table(model, max_position_embeddings=size),
           says=(f"position {rows} does not exist", f"last valid position is {rows - 1}"),
           numbers={"last_valid_position": rows - 1})
      for model, size, rows in (("bert", 512, 512), ("gpt2", 1024, 1024), ("opt", 2048, 2048),
                                ("bart", 1024, 1024), ("roberta", 514, 512),
                                ("xlm-roberta", 514, 512), ("marian", 512, 512))),
    *(Kind(name=f"{model} within its table", severity="info", ask={"target_length": rows},
           config=table(model, max_position_embeddings=size), numbers={"usable_positions": rows})
      for model, size, rows in (("bert", 512, 512), ("opt", 2048, 2048), ("roberta", 514, 512))),
    Kind(name="OPT starts at row 2", config=table("opt", max_position_embeddings=2048),
         severity="info", numbers={"first_position_id": 2, "table_size": 2050}),
    *(Kind(name=f"RoBERTa with padding index {pad}", severity="info",
           config=table("roberta", max_position_embeddings=514, pad_token_id=pad),
           says=(f"offset by the padding index {pad}",),
           numbers={"usable_positions": 513 - pad, "first_position_id": pad + 1})
      for pad in (0, 1, 2, 5)),
    Kind(name="RoBERTa without a padding index", severity="error", says=(r"pad_token_id is null",),
         config=table("roberta", max_position_embeddings=514, pad_token_id=None)),
    Kind(name="a table of no rows", config=table("bert", max_position_embeddings=0),
         severity="error", says=(r"must be a positive integer",),
         silent_about=(r"size is not given",)),
    Kind(name="a scaling that no table reads", severity="warn", says=(r"does not rotate",),
         config=table("bert", max_position_embeddings=512, rope_scaling=YARN)),
)  # fmt: skip

BIASES = (
    *(Kind(name=f"ALiBi with {heads} heads", severity="info", numbers={"slopes": slopes(heads)},
           config={"model_type": "bloom", "hidden_size": 64 * heads, "n_head": heads})
      for heads in (1, 2, 3, 6, 8, 12, 16, 24, 40, 112)),
    Kind(name="MPT with another exponent", severity="warn", says=(r"flattest slope is 2\^-16",),
         config={"model_type": "mpt", "d_model": 1024, "n_heads": 16,
                 "attn_config": {"alibi": True, "alibi_bias_max": 16}},
         numbers={"slopes": slopes(16, 16.0)}),
    Kind(name="Falcon divides its bias", severity="info", says=(r"divided by 8",),
         config={"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71,
                 "alibi": True}),
    Kind(name="ALiBi and a scaling", severity="warn", says=(r"does not rotate",),
         config={"model_type": "bloom", "hidden_size": 1024, "n_head": 16, "rope_scaling": YARN}),
    Kind(name="T5 without max_distance", severity="info", says=(r"91 .* 113",),
         config={"model_type": "t5", "d_model": 512, "relative_attention_num_buckets": 32},
         numbers={"max_distance": 128, "last_bucket_from_two_way": 91,
                  "last_bucket_from_causal": 113}),
    Kind(name="T5 with another max_distance", severity="info",
         says=(r"llama\.cpp always takes 128",),
         config={"model_type": "t5", "d_model": 512, "relative_attention_num_buckets": 32,
                 "relative_attention_max_distance": 256},
         # two ways: 8 + ⌊ln(n/8)/ln(256/8)·8⌋ is 15 from n = 8·32^(7/8) = 166.0 on
         numbers={"last_bucket_from_two_way": math.ceil(8 * 32 ** (7 / 8))}),
    Kind(name="T5 without buckets", severity="error", says=(r"number of buckets must be",),
         config={"model_type": "t5", "d_model": 512, "relative_attention_num_buckets": 1}),
    Kind(name="log-n", severity="info", says=(r"per position, not per sequence", r"never below 1"),
         config={"model_type": "qwen", "kv_channels": 128, "rotary_emb_base": 1e4,
                 "use_logn_attn": True, "seq_length": 8192},
         numbers={"multiplier": [1.0, 1.0, 14 / 13, 15 / 13]}),
    Kind(name="log-n without its length", config={**PLAIN, "use_logn_attn": True},
         severity="warn", says=(r"seq_length",)),
)  # fmt: skip

FILES = (
    Kind(name="a key twice", severity="warn", says=(r"stands twice", r"the last one counts"),
         config='{"head_dim": 128, "rope_theta": 1e4, "rope_theta": 1e6}',
         numbers={"base": 1e6}),
    *(Kind(name=f"the text {text!r:.20}", config=text, severity="error", says=(said,))
      for text, said in (
          ("", r"not JSON"), ("{", r"not JSON"), ("[1]", r"must be a JSON object"),
          ('{"rope_theta": 1e4,}', r"not JSON"), ("{}", r"Nothing in this configuration"),
          ('{"rope_theta": NaN, "head_dim": 64}', r"finite"),
          ('{"rope_theta": Infinity, "head_dim": 64}', r"finite"),
          ('{"rope_theta": 1e999, "head_dim": 64}', r"rope_theta"),
          ("[" * 100_000, r"nested deeper"), ("\x00", r"not JSON"))),
    Kind(name="nothing about positions", config={"vocab_size": 32000}, severity="error",
         says=(r"Nothing in this configuration",)),
    Kind(name="an unknown runtime", config=PLAIN, ask={"runtime": "vllmm"}, severity="error",
         says=(r"no runtime 'vllmm'; closest: vllm",)),
    Kind(name="the new spelling in transformers 4", ask={"runtime": "transformers_v4"},
         severity="warn", says=(r"rope_parameters .*not read",),
         config={"head_dim": 128, "max_position_embeddings": 131072, "rope_parameters": FULL}),
    *(Kind(name=f"{rope['rope_type']} lives in the GGUF file", ask={"runtime": "llama_cpp"},
           severity="info", config=scaled(rope), says=(r"written at conversion",),
           silent_about=(r"will not rotate",))
      for rope in (LLAMA3, LONGROPE)),
    Kind(name="bfloat16 is no complaint", config={**PLAIN, "torch_dtype": "bfloat16"},
         severity="ok", says=(r"does not grow with the position", r"collapse beyond 256")),
    Kind(name="the rotation itself in bfloat16", config={**PLAIN, "rope_dtype": "bfloat16"},
         severity="warn", says=(r"collapse beyond 256",)),
)  # fmt: skip
