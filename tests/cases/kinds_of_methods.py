"""Bookkeeping of windows, the methods' own numbers, and the length that is wanted."""

from __future__ import annotations

from tests.cases.formulas import (
    bounds,
    crossing,
    dynamic_alpha,
    longrope_magnitude,
    magnitude,
    raised,
)
from tests.cases.kind import (
    DYNAMIC,
    LINEAR,
    LLAMA3,
    LONGROPE,
    PLAIN,
    YARN,
    Kind,
    scaled,
)

ONES, GROWING = [1.0] * 64, LONGROPE["long_factor"]
LATENT = {"qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
DEEPSEEK = {**LATENT, "max_position_embeddings": 163840, "rope_theta": 10000}
FORTY = {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}
GPT_OSS = {"head_dim": 64, "rope_theta": 150000, "max_position_embeddings": 131072}
THIRTY_TWO = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}

BOOKS = (
    *(Kind(name=f"yarn, window {window}", severity="warn",
           config=scaled(YARN, max_position_embeddings=window),
           says=(f"factor × original = 131072 differs from max_position_embeddings = {window}",
                 r"explicit factor 4 is used"),
           numbers={"effective_factor": 4.0, "implicit_factor": window / 32768,
                    "extended_context": 131072, "attention_factor": magnitude(4)})
      for window in (32768, 40960, 65536, 262144)),
    Kind(name="yarn, a factor that is no whole number", config=scaled({**YARN, "factor": 3.7}),
         severity="warn", says=(r"121241\.6 differs", r"explicit factor 3\.7 is used, not 4"),
         numbers={"attention_factor": magnitude(3.7)}),
    Kind(name="yarn, the original above the window", severity="warn",
         config=scaled({**YARN, "original_max_position_embeddings": 262144}),
         says=(r"262144 is larger than max_position_embeddings = 131072",)),
    Kind(name="linear in a file that holds the extended window", severity="ok",
         config=scaled({**LINEAR, "original_max_position_embeddings": 4096},
                       max_position_embeddings=16384),
         says=(r"factor × original = 4 × 4096 = 16384, which is max_position_embeddings",),
         numbers={"extended_context": 16384}),
    *(Kind(name=f"{rope['rope_type']} with {len(rope)} keys reaches its window", severity="ok",
           config=scaled(rope), numbers={"extended_context": 131072})
      for rope in (LLAMA3, LONGROPE, {**LONGROPE, "factor": 32.0})),
    Kind(name="Gemma 3's window holds its factor already", severity="ok",
         config={"model_type": "gemma3_text", "head_dim": 256, "num_hidden_layers": 12,
                 "max_position_embeddings": 131072, "rope_theta": 1e6,
                 "rope_local_base_freq": 1e4,
                 "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
         numbers={"extended_context": 131072}, silent_about=(r"1048576",)),
    Kind(name="deepseek_yarn is multiplied once", severity="ok",
         config=scaled({**YARN, "rope_type": "deepseek_yarn"}),
         numbers={"extended_context": 131072}, silent_about=(r"524288",)),
    *(Kind(name=f"{name}, original {original}", severity="warn",
           config=scaled({**rope, "original_max_position_embeddings": original}),
           says=(f"{original} is not smaller than max_position_embeddings = 131072",))
      for name, rope in (("llama3", LLAMA3), ("longrope", LONGROPE))
      for original in (131072, 262144)),
    *(Kind(name=f"{rope['rope_type']} with an absurd factor", severity="error",
           config=scaled({**rope, "factor": 1e300}), says=(r": factor must be .*at most 1000000",),
           silent_about=(r"scaling_factor",))
      for rope in (YARN, LLAMA3, LINEAR, DYNAMIC)),
    Kind(name="factor 1 extends nothing", severity="ok",
         config=scaled({**YARN, "factor": 1, "original_max_position_embeddings": 131072}),
         numbers={"attention_factor": 1.0, "inv_freq[63]": 1e6 ** (-126 / 128)}),
)  # fmt: skip

RAMPS = (
    Kind(name="betas exchanged", config=scaled({**YARN, "beta_fast": 1, "beta_slow": 32}),
         severity="error", says=(r"beta_fast must be at least beta_slow",)),
    Kind(name="equal betas", config=scaled({**YARN, "beta_fast": 4, "beta_slow": 4}),
         severity="info", says=(r"both 4, so there is no blend",),
         numbers={"step_at_pair": crossing(4, 1e6, 128, 32768)}),
    *(Kind(name=f"beta_fast {value!r} stands for the default", severity="info",
           config=scaled({**YARN, "beta_fast": value}), says=(r"which transformers reads as 32",),
           numbers={"ramp_low": 23, "ramp_high": 40})
      for value in (0, None, 0.0)),
    Kind(name="beta_slow 0 stands for the default", config=scaled({**YARN, "beta_slow": 0}),
         severity="info", says=(r"which transformers reads as 1\b",)),
    *(Kind(name=f"beta_slow {value!r}", config=scaled({**YARN, "beta_slow": value}),
           severity="error", says=(r"beta_slow must be a number",))
      for value in (-1, "1", True)),
    Kind(name="other betas", config=scaled({**YARN, "beta_fast": 64, "beta_slow": 2}),
         severity="ok", numbers=dict(zip(("ramp_low", "ramp_high"),
                                         bounds(1e6, 128, 32768, 64, 2), strict=True))),
    Kind(name="truncate false", config={**PLAIN, **GPT_OSS, "rope_scaling": {
        **THIRTY_TWO, "truncate": False}}, severity="ok",
         numbers={"ramp_low": crossing(32, 150000, 64, 4096),
                  "ramp_high": crossing(1, 150000, 64, 4096)}),
    Kind(name="truncate left out", config={**PLAIN, **GPT_OSS, "rope_scaling": THIRTY_TWO},
         severity="ok", numbers={"ramp_low": 8, "ramp_high": 18}),
    Kind(name="truncate false in llama.cpp", ask={"runtime": "llama_cpp"}, severity="warn",
         config={**PLAIN, **GPT_OSS, "rope_scaling": {**THIRTY_TWO, "truncate": False}},
         says=(r"always rounds",)),
    Kind(name="truncate null", config=scaled({**YARN, "truncate": None}), severity="warn",
         says=(r"truncate is null, which transformers reads as false",)),
    Kind(name="truncate as text", config=scaled({**YARN, "truncate": "false"}), severity="error",
         says=(r"truncate must be true or false",)),
)  # fmt: skip

MAGNITUDES = (
    Kind(name="attention_factor 1", config=scaled({**YARN, "attention_factor": 1.0}),
         severity="ok", says=(r"counts in place of the default",),
         numbers={"attention_factor": 1.0, "default_attention_factor_would_be": magnitude(4)}),
    Kind(name="attention_factor null", config=scaled({**YARN, "attention_factor": None}),
         severity="ok",
         numbers={"attention_factor": magnitude(4), "logit_gain": magnitude(4) ** 2}),
    *(Kind(name=f"attention_factor {value!r}", severity="error",
           config=scaled({**YARN, "attention_factor": value}),
           says=(r"attention_factor must be a number",))
      for value in (0, -1.0, "1.0", True)),
    Kind(name="the logit gain as attention_factor", severity="warn",
         config=scaled({**YARN, "attention_factor": round(magnitude(4) ** 2, 6)}),
         says=(r"looks like the logit gain",)),
    Kind(name="the old attn_factor", config=scaled({**YARN, "attn_factor": 0.5}),
         severity="warn", says=(r"do not read it", r"older vLLM .*multiply"),
         numbers={"attention_factor": magnitude(4)}),
    Kind(name="keys of 2023", severity="info", says=(r"without effect: .*extrapolation_factor",),
         config=scaled({**YARN, "extrapolation_factor": 1.0, "finetuned": True})),
    Kind(name="mscale alone", config=scaled({**YARN, "mscale": 0.707}), severity="warn",
         says=(r"mscale without mscale_all_dim is ignored by transformers",),
         numbers={"attention_factor": magnitude(4), "attention_factor_mlx": magnitude(4, 0.707)}),
    Kind(name="mscale_all_dim alone", config=scaled({**YARN, "mscale_all_dim": 1.0}),
         severity="warn", says=(r"mscale_all_dim without mscale",)),
    Kind(name="the pair outside latent attention", severity="info",
         config=scaled({**YARN, "mscale": 1.0, "mscale_all_dim": 0.707}),
         says=(r"outside latent attention",),
         numbers={"attention_factor": magnitude(4) / magnitude(4, 0.707)}),
    Kind(name="the pair in latent attention, both 1", severity="ok",
         config={**PLAIN, **DEEPSEEK, "rope_scaling": {
             **FORTY, "mscale": 1.0, "mscale_all_dim": 1.0}},
         numbers={"attention_factor": 1.0, "softmax_scale_multiplier": magnitude(40) ** 2}),
    Kind(name="the pair in latent attention, unequal", severity="info",
         config={**PLAIN, **DEEPSEEK, "rope_scaling": {
             **FORTY, "mscale": 1.0, "mscale_all_dim": 0.707}},
         says=(r"two separate corrections",),
         numbers={"attention_factor": magnitude(40) / magnitude(40, 0.707),
                  "softmax_scale_multiplier": magnitude(40, 0.707) ** 2}),
    Kind(name="attention_factor in llama.cpp", ask={"runtime": "llama_cpp"}, severity="warn",
         config=scaled({**YARN, "attention_factor": 1.0}),
         says=(r"--yarn-attn-factor has no effect",)),
    Kind(name="llama3 has no attention_factor", severity="info",
         config=scaled({**LLAMA3, "attention_factor": 1.2}),
         says=(r"Not read for the rope type llama3.*attention_factor",),
         numbers={"attention_factor": 1.0}),
)  # fmt: skip

BANDS = (
    Kind(name="llama3, whole numbers", severity="ok",
         config=scaled({**LLAMA3, "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}),
         numbers={"attention_factor": 1.0}),
    Kind(name="llama3, equal bounds", config=scaled({**LLAMA3, "low_freq_factor": 4.0}),
         severity="info", says=(r"no blend but a step at the wavelength 2048",),
         numbers={"pairs_blended": 0}),
    Kind(name="llama3, bounds exchanged", severity="error",
         config=scaled({**LLAMA3, "low_freq_factor": 4.0, "high_freq_factor": 1.0}),
         says=(r"high_freq_factor must be at least low_freq_factor",)),
    *(Kind(name=f"llama3, {key} {value!r}", config=scaled({**LLAMA3, key: value}),
           severity="error", says=(key,))
      for key in ("low_freq_factor", "high_freq_factor") for value in (0, -1.0, "1", None)),
)  # fmt: skip

LISTS = (
    Kind(name="longrope", config=scaled(LONGROPE), severity="ok",
         numbers={"attention_factor": longrope_magnitude(32, 4096)}),
    *(Kind(name=f"longrope, {key} of {count}", severity="error",
           config=scaled({**LONGROPE, key: [1.0] * count}),
           says=(f"{key} length: {count} numbers, but there are 64 pairs",),
           numbers={"expected_length": 64, "got": count})
      for key in ("short_factor", "long_factor") for count in (0, 63, 65, 128)),
    *(Kind(name=f"longrope, long_factor {value!r:.12}", severity="error",
           config=scaled({**LONGROPE, "long_factor": value}), says=(r"long_factor",))
      for value in (None, "1.0", 2.0, ["1.0"] * 64, [0] * 64, [-1.0] * 64, [None] * 64)),
    Kind(name="longrope, multipliers in place of divisors", severity="warn",
         config=scaled({**LONGROPE, "long_factor": [1 / factor for factor in GROWING]}),
         says=(r"look like multipliers",)),
    Kind(name="longrope, lists exchanged", severity="warn",
         config=scaled({**LONGROPE, "short_factor": GROWING, "long_factor": ONES}),
         says=(r"look exchanged",)),
    Kind(name="longrope, a factor of its own", config=scaled({**LONGROPE, "factor": 4.0}),
         severity="warn", says=(r"factor is 4", r"131072 / 4096 = 32"),
         numbers={"attention_factor": longrope_magnitude(4, 4096),
                  "attention_factor_from_windows": longrope_magnitude(32, 4096)}),
    Kind(name="longrope, the factor of the windows", severity="ok",
         config=scaled({**LONGROPE, "factor": 32})),
    Kind(name="longrope, partly rotated", severity="ok",
         config=scaled({**LONGROPE, "short_factor": [1.0] * 48, "long_factor": [2.0] * 48},
                       partial_rotary_factor=0.75), numbers={"rotary_dim": 96}),
    Kind(name="longrope in MLX", config=scaled(LONGROPE), ask={"runtime": "mlx"}, severity="warn",
         says=(r"always .*the long",)),
)  # fmt: skip

LENGTHS = (
    *(Kind(name=f"dynamic at {length}", ask={"target_length": length},
           severity="warn" if length > 4096 else "info",
           config=scaled(DYNAMIC, max_position_embeddings=4096),
           says=(r"depends on the engine",),
           numbers={f"base_at_{length}": raised(1e6, dynamic_alpha(2, length, 4096), 128)})
      for length in (100, 4096, 5000, 16384)),
    Kind(name="dynamic with factor 1", severity="info",
         config=scaled({**DYNAMIC, "factor": 1.0}, max_position_embeddings=4096),
         numbers={"base_at_8192": raised(1e6, 2, 128)}),
    Kind(name="dynamic in vLLM", ask={"runtime": "vllm"}, severity="warn",
         config=scaled(DYNAMIC, max_position_embeddings=4096),
         says=(r"works the base out once", r"does nothing")),
    Kind(name="dynamic in llama.cpp", ask={"runtime": "llama_cpp"}, severity="warn",
         config=scaled(DYNAMIC), says=(r"no dynamic NTK at run time",)),
    Kind(name="HunYuan's alpha", severity="info", says=(r"fixed larger base",),
         config=scaled({"type": "dynamic", "alpha": 1000.0, "factor": 1.0},
                       model_type="hunyuan_v1_dense"),
         numbers={"effective_base": raised(1e6, 1000, 128), "extended_context": 131072}),
    Kind(name="Qwen's dynamic NTK", severity="info", says=(r"jumps from 1 to 3",),
         config={"model_type": "qwen", "kv_channels": 128, "seq_length": 2048,
                 "max_position_embeddings": 8192, "use_dynamic_ntk": True,
                 "rotary_emb_base": 10000}),
    *(Kind(name=f"static yarn at {length}", ask={"target_length": length}, severity="warn",
           config=scaled(YARN), says=(r"static factor applies to short inputs too",),
           numbers={"recommended_factor": max(1.0, length / 32768),
                    "score_gain": magnitude(4) ** 2})
      for length in (2000, 32768, 65536, 98304, 262144)),
    Kind(name="static yarn at all that it covers", ask={"target_length": 131072}, severity="ok",
         config=scaled(YARN)),
    Kind(name="yarn that the model was trained with", ask={"target_length": 2000}, severity="ok",
         config={**PLAIN, **DEEPSEEK, "model_type": "deepseek_v3", "rope_scaling": {
             **FORTY, "mscale": 1.0, "mscale_all_dim": 1.0}},
         says=(r"trained with this extension, so keep it",)),
    Kind(name="llama3 at a short length", ask={"target_length": 2000}, severity="ok",
         config=scaled(LLAMA3)),
    Kind(name="beyond a plain window", ask={"target_length": 8192}, severity="warn",
         config={**PLAIN, "max_position_embeddings": 4096},
         says=(r"no extension is configured",)),
    Kind(name="within a plain window", ask={"target_length": 2000}, severity="ok", config=PLAIN),
    *(Kind(name=f"the wanted length {value!r}", ask={"target_length": value}, severity="error",
           config=PLAIN, says=(r"target_length must be a whole number",))
      for value in (0, -1, 1.5, "4096", True, 10**30)),
    Kind(name="linear beyond what it covers", ask={"target_length": 65536}, severity="warn",
         config=scaled(LINEAR, max_position_embeddings=8192),
         says=(r"65536 tokens lie beyond",), numbers={"recommended_factor": 8.0}),
    Kind(name="partial rotation and NTK's exponent", severity="warn",
         ask={"target_length": 8192},
         config=scaled(DYNAMIC, max_position_embeddings=4096, partial_rotary_factor=0.25),
         numbers={"base_at_8192": raised(1e6, 3, 32)}),
)  # fmt: skip
