"""How a dict of rotary parameters is written: keys, names, nulls, texts, places, windows."""

from __future__ import annotations

from typing import Any

from tests.cases.formulas import bounds, longrope_magnitude, magnitude
from tests.cases.kind import (
    DYNAMIC,
    LINEAR,
    LLAMA3,
    LONGROPE,
    METHODS,
    PLAIN,
    YARN,
    Kind,
    scaled,
    without,
)

LOCAL: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e4}
TWO_TYPES: dict[str, Any] = {
    **without(PLAIN, "rope_theta"),
    "layer_types": ["sliding_attention", "full_attention"] * 16,
}

DICTS = (
    Kind(name="the dict is a text", config=scaled("yarn"), severity="error",
         says=(r"rope_scaling must be an object or null; got 'yarn'",)),
    Kind(name="the dict is a list", config=scaled([YARN]), severity="error",
         says=(r"rope_scaling must be an object",)),
    Kind(name="the dict is a number", config=scaled(4.0), severity="error",
         says=(r"rope_scaling must be an object",)),
    Kind(name="the dict is empty", config=scaled({}), severity="ok",
         numbers={"attention_factor": 1.0, "pairs": 64}),
    Kind(name="the dict is null", config=scaled(None), severity="ok", numbers={"pairs": 64}),
    Kind(name="type default", config=scaled({"type": "default"}), severity="ok"),
    Kind(name="type default with a factor", config=scaled({"rope_type": "default", "factor": 4.0}),
         severity="warn", says=(r"factor has no effect", r"nothing is scaled")),
    Kind(name="no type at all", config=scaled(without(YARN, "rope_type")), severity="warn",
         says=(r"names no rope_type", r"nothing is scaled")),
    Kind(name="rope_type null hides type", severity="warn",
         config=scaled({**without(YARN, "rope_type"), "rope_type": None, "type": "yarn"}),
         says=(r"null is not absent", r"hides the old key"), numbers={"attention_factor": 1.0}),
    Kind(name="type null beside rope_type", config=scaled({**YARN, "type": None}), severity="ok",
         numbers={"attention_factor": magnitude(4)}),
    Kind(name="both keys differ", config=scaled({**YARN, "type": "linear"}), severity="warn",
         says=(r"takes rope_type", r"vLLM refuses"), numbers={"ramp_low": 23, "ramp_high": 40}),
    Kind(name="a dict under both names", severity="warn",
         config=scaled(YARN, rope_parameters={"rope_type": "default", "rope_theta": 5e5}),
         says=(r"takes rope_scaling whole",), numbers={"base": 1e6}),
    Kind(name="the same dict under both names", config=scaled(YARN, rope_parameters=YARN),
         severity="ok"),
    Kind(name="a dict inside the dict", config=scaled({"rope_scaling": YARN}), severity="warn",
         says=(r"inside another one; only the outer one is read",)),
    Kind(name="scaling beside text_config", config={**scaled(YARN), "text_config": PLAIN},
         severity="warn", says=(r"text_config",)),
    Kind(name="an outer key of a keyed dict", severity="warn",
         config={**TWO_TYPES, "rope_parameters": {
             "rope_theta": 5e5, "full_attention": {**YARN, "rope_theta": 1e6},
             "sliding_attention": LOCAL}},
         says=(r"keyed by layer type, so rope_theta beside",)),
)  # fmt: skip

NAMES = (
    *(Kind(name=f"unknown type {name!r}", config=scaled({**YARN, "rope_type": name}),
           severity="error", says=(r"no rope type", r"known types: .*yarn"))
      for name in ("YARN", "yarn_scaling", "ntk-aware", "dynamic-yarn", "", "yarn ", "rope")),
    Kind(name="a type that is a number", config=scaled({**YARN, "rope_type": 4}), severity="error",
         says=(r"rope_type must be a name; got 4",)),
    Kind(name="su without a class", config=scaled({**LONGROPE, "rope_type": "su"}), severity="ok",
         numbers={"attention_factor": longrope_magnitude(32, 4096)}),
    Kind(name="su in a class that has it", severity="info",
         config=scaled({**LONGROPE, "rope_type": "su"}, model_type="phi3"),
         says=(r"su means longrope in phi3",)),
    Kind(name="su in a class without it", severity="warn",
         config=scaled({**LONGROPE, "rope_type": "su"}, model_type="llama"),
         says=(r"spelling of the Phi-3 models", r"fails in transformers")),
    Kind(name="yarn means longrope in phi3", severity="info",
         config=scaled({**LONGROPE, "rope_type": "yarn"}, model_type="phi3"),
         says=(r"yarn means longrope in phi3",)),
    Kind(name="mrope in a class without it", severity="warn",
         config=scaled({"rope_type": "mrope", "mrope_section": [16, 24, 24]}, model_type="llama"),
         says=(r"spelling of the M-RoPE models",)),
    Kind(name="a vendor's name", config=scaled({**YARN, "rope_type": "telechat3-yarn"}),
         severity="info", says=(r"0\.07·ln\(factor\) \+ 1",),
         numbers={"attention_factor": 1.0 + 0.07 * 1.3862943611198906}),
)  # fmt: skip

NUMBERS = (
    *(Kind(name=f"{method} with the factor as text", severity="error",
           config=scaled({**METHODS[method], "factor": "4"}),
           says=(r"factor must be a number", r"write 4 without quotes"))
      for method in ("yarn", "linear", "dynamic", "llama3", "longrope")),
    *(Kind(name=f"{method} with the factor {value!r}", severity="error",
           config=scaled({**METHODS[method], "factor": value}), says=(r"factor must be",),
           silent_about=(r"Traceback", r"ZeroDivision"))
      for method in ("yarn", "linear", "dynamic", "llama3")
      for value in (0, -2.0, True, [4], "NaN", float("nan"), float("inf"))),
    *(Kind(name=f"{method} with the frequency scale as its factor", severity="error",
           config=scaled({**METHODS[method], "factor": 0.25}),
           says=(r"must be at least 1; got 0\.25", r"0\.25 looks like a frequency scale"),
           numbers={"suggested_factor": 4.0})
      for method in ("yarn", "linear", "dynamic", "llama3")),
    *(Kind(name=f"{method} with the factor null", severity="error",
           config=scaled({**METHODS[method], "factor": None}), says=(r"factor is null",))
      for method in ("linear", "dynamic", "llama3")),
    Kind(name="yarn with the factor null", config=scaled({**YARN, "factor": None}),
         severity="warn", says=(r"131072 / 32768 = 4",),
         numbers={"scaling_factor": 4.0, "attention_factor": magnitude(4)}),
    *(Kind(name=f"{method} without {key}", severity="error",
           config=scaled(without(METHODS[method], key)), says=(f"needs {key}",))
      for method, key in (("yarn", "factor"), ("linear", "factor"), ("dynamic", "factor"),
                          ("llama3", "factor"), ("llama3", "low_freq_factor"),
                          ("llama3", "high_freq_factor"), ("longrope", "short_factor"),
                          ("longrope", "long_factor"))),
    Kind(name="the factor under another name", severity="error",
         config=scaled({**without(YARN, "factor"), "scaling_factor": 4.0}),
         says=(r"needs factor", r"scaling_factor .* the key is factor")),
    Kind(name="a slip in a key", severity="warn",
         config=scaled({**without(YARN, "original_max_position_embeddings"),
                        "original_max_position_embedding": 32768}),
         says=(r"the key is original_max_position_embeddings",)),
    *(Kind(name=f"yarn with the factor {value!r}", config=scaled({**YARN, "factor": value}),
           severity="ok", numbers={"extended_context": 131072, "attention_factor": magnitude(4)})
      for value in (4, 4.0)),
)  # fmt: skip

BASES = (
    *(Kind(name=f"the base {value!r}", config={**PLAIN, "rope_theta": value}, severity="error",
           says=(r"rope_theta",))
      for value in (0, -1.0, 1.0, 0.5, "500000.0", None, True, 10**400, float("nan"), [1e4])),
    Kind(name="the base within the dict null", config=scaled({**YARN, "rope_theta": None}),
         severity="error", says=(r"rope_scaling\.rope_theta is null",)),
    Kind(name="two bases", config=scaled({**YARN, "rope_theta": 5e5}), severity="warn",
         says=(r"rope_scaling\.rope_theta is 500000 and rope_theta is 1000000",
               r"the one inside the dict is used"),
         numbers={"base": 5e5}),
    Kind(name="no base and no class", config=without(scaled(YARN), "rope_theta"),
         severity="warn", says=(r"rope_theta is missing", r"10000 is assumed"),
         numbers={"base": 1e4, "ramp_low": bounds(1e4, 128, 32768)[0]}),
    Kind(name="no base in a class that has one",
         config={**without(PLAIN, "rope_theta"), "model_type": "llama"},
         severity="ok", numbers={"base": 1e4}),
    Kind(name="a slip in the base", severity="warn",
         config={**without(PLAIN, "rope_theta"), "rope_theat": 1e6, "model_type": "llama"},
         says=(r"rope_theat is not read", r"the key is rope_theta"), numbers={"base": 1e4}),
    Kind(name="llama.cpp's name of the base", severity="warn",
         config={**without(PLAIN, "rope_theta"), "rope_freq_base": 1e6, "model_type": "llama"},
         says=(r"a name of llama\.cpp", r"the key is rope_theta")),
)  # fmt: skip

WINDOWS = (
    *(Kind(name=f"the window {value!r}", config={**PLAIN, "max_position_embeddings": value},
           severity="error", says=(r"max_position_embeddings must be",))
      for value in (0, -1, 4096.5, "4096", True, 1e30, float("inf"))),
    Kind(name="the window as a decimal", config={**PLAIN, "max_position_embeddings": 4096.0},
         severity="ok", numbers={"max_position_embeddings": 4096}),
    Kind(name="the window null in a known class", severity="error",
         config={**PLAIN, "model_type": "llama", "max_position_embeddings": None},
         says=(r"max_position_embeddings is null",)),
    Kind(name="dynamic without a window", severity="error",
         config=without(scaled(DYNAMIC), "max_position_embeddings"),
         says=(r"dynamic needs max_position_embeddings",)),
    *(Kind(name=f"the original window {value!r}", severity="error",
           config=scaled({**YARN, "original_max_position_embeddings": value}),
           says=(r"original_max_position_embeddings",))
      for value in (0, -4096, "32768", None, 0.5)),
    *(Kind(name=f"{method} without the original window", severity="warn",
           config=scaled(without(METHODS[method], "original_max_position_embeddings")),
           says=(r"original_max_position_embeddings is missing", r"131072",
                 r"may already be the extended length"),
           numbers={"fallback": 131072})
      for method in ("yarn", "llama3", "longrope")),
    *(Kind(name=f"{method} with the original window beside the dict", severity="ok",
           config=scaled(without(METHODS[method], "original_max_position_embeddings"),
                         original_max_position_embeddings=32768),
           numbers={"original_max_position_embeddings": 32768})
      for method in ("yarn", "llama3", "longrope")),
    *(Kind(name=f"{method} with two original windows", severity="warn",
           config=scaled(METHODS[method], original_max_position_embeddings=16384),
           says=(r"takes the top-level one",),
           numbers={"original_max_position_embeddings": 16384})
      for method in ("yarn", "llama3", "longrope")),
    Kind(name="dynamic with an original window", severity="warn",
         config=scaled({**DYNAMIC, "original_max_position_embeddings": 4096}),
         says=(r"takes the trained length from max_position_embeddings",)),
    Kind(name="linear has no window of its own", config=scaled(LINEAR), severity="ok"),
    Kind(name="llama3's factor is no ratio of the windows", config=scaled(LLAMA3), severity="ok",
         silent_about=(r"differs from max_position_embeddings",)),
)  # fmt: skip
