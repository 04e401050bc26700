"""What each runtime does with what the reader found; only where they differ."""

from __future__ import annotations

from collections.abc import Mapping

from posviz.configs.checks.places import Place
from posviz.configs.messages import Message
from posviz.configs.writers.llama_cpp_slots import WHERE, slot_cap

BEHAVIOURS: Mapping[str, Mapping[str, str]] = {
    "PV101": {
        "transformers": "warns on loading and stops with KeyError when the rotary module is built.",
        "vllm": "refuses it as an unknown scaling type.",
        "mlx": "refuses it as an unsupported type.",
    },
    "PV102": {
        "transformers": "keeps the null and stops with KeyError when the rotary module is built.",
        "mlx": "refuses it as an unsupported type.",
    },
    "PV103": {
        "transformers": "takes rope_type and says nothing.",
        "vllm": "refuses the file.",
        "mlx": "takes type, the old key, first.",
    },
    "PV105": {
        "transformers": "takes rope_scaling whole and nothing of rope_parameters.",
        "transformers_v4": "knows rope_scaling only.",
    },
    "PV106": {"transformers": "reads the dicts of the layer types only."},
    "PV107": {"transformers": "takes false, an empty list and null as no scaling; refuses text."},
    "PV110": {
        "transformers": "refuses the file with KeyError on loading.",
        "vllm": "refuses the file with KeyError.",
    },
    "PV111": {"transformers": "stops with TypeError, since null is not absent."},
    "PV113": {
        "transformers": "loads it with a warning and multiplies the frequencies instead of "
        "dividing them.",
        "llama_cpp": "takes the reciprocal under the name --rope-freq-scale.",
    },
    "PV115": {
        "transformers": "reads 0 and null as the default.",
        "vllm": "takes the value as it stands; a beta of 0 divides by zero.",
        "mlx": "takes the value as it stands; a beta of 0 divides by zero.",
    },
    "PV116": {
        "transformers": "does not round.",
        "transformers_v4": "does not round in 4.55 and later; 4.53 and older always round.",
        "vllm": "does not round.",
        "llama_cpp": "always rounds.",
        "mlx": "always rounds.",
    },
    "PV117": {
        "transformers": "takes max_position_embeddings / original.",
        "transformers_v4": "takes max_position_embeddings / original in 4.51 to 4.55; other "
        "releases need the number.",
        "vllm": "needs the number.",
        "mlx": "needs the number.",
    },
    "PV120": {
        "transformers": "falls back to max_position_embeddings.",
        "transformers_v4": "falls back to max_position_embeddings for yarn and longrope; stops "
        "with KeyError for llama3.",
        "vllm": "takes what transformers filled in; a dict given by --hf-overrides must have it.",
        "mlx": "falls back to 4096 for yarn and 8192 for llama3, and refuses longrope without it.",
        "llama_cpp": f"takes {WHERE} where rope.scaling.original_context_length is missing; "
        "--yarn-orig-ctx sets it.",
        "ollama": f"takes {WHERE} where rope.scaling.original_context_length is missing.",
    },
    "PV121": {
        "transformers": "uses the explicit factor.",
        "transformers_v4": "uses the explicit factor in 4.56 and 4.57; 4.51 to 4.55 take "
        "max_position_embeddings / original, and older releases read no original length.",
        "vllm": "uses the explicit factor, and lets max_position_embeddings limit the length.",
    },
    "PV122": {"transformers": "takes the top-level one."},
    "PV123": {"transformers": "takes max_position_embeddings and warns about the other key."},
    "PV140": {
        "transformers": "rotates the whole head for rope type default.",
        "vllm": "rotates the part that the factor says.",
    },
    "PV146": {
        "transformers": "takes the one inside the dict.",
        "transformers_v4": "takes the top-level one.",
        "vllm_old": "takes the top-level one.",
    },
    "PV160": {
        "transformers": "reads truncate from the outer dict only.",
        "vllm": "reads truncate from the dict of the layer type.",
        "llama_cpp": "always rounds.",
        "mlx": "always rounds.",
    },
    "PV164": {
        "transformers": "does not read it.",
        "vllm": "does not read it.",
        "vllm_old": "multiplies the attention factor by it.",
        "sglang": "multiplies the attention factor by it.",
        "mlx": "does not read it.",
    },
}
_LONE_MSCALE = {
    "transformers": "ignores it.",
    "transformers_v4": "ignores it.",
    "sglang": "ignores it outside its DeepSeek classes.",
    "vllm": "ignores it for yarn and counts it for deepseek_yarn.",
    "mlx": "counts it: the missing one is 1 for mscale, 0 for mscale_all_dim.",
    "llama_cpp": "reads mscale_all_dim only.",
}
_BOTH_MSCALES = {
    "transformers": "takes the ratio of the two magnitudes.",
    "transformers_v4": "takes the ratio of the two magnitudes from 4.51 on; older releases read "
    "neither.",
    "sglang": "takes the ratio of the two magnitudes.",
    "vllm": "takes the ratio of the two magnitudes.",
    "mlx": "takes the ratio of the two magnitudes.",
    "llama_cpp": "does not read mscale.",
}
READ_BY_OTHERS: Mapping[str, Mapping[str, str]] = {
    "attn_factor": {
        "vllm_old": "multiplies the attention factor by attn_factor.",
        "sglang": "multiplies the attention factor by attn_factor.",
    },
    "extrapolation_factor": {
        "vllm_old": "weights the ramp by extrapolation_factor.",
        "sglang": "weights the ramp by extrapolation_factor.",
        "llama_cpp": "has it as --yarn-ext-factor.",
    },
    "alpha": dict.fromkeys(("vllm", "sglang"), "takes alpha before factor for the type dynamic."),
    "rope_dim": {"vllm": "takes rope_dim as the rotary dimension."},
    "mixed_b": {"vllm": "reads mixed_b for the type ntk only."},
}


_REFUSED = "refuses it on loading."
_COMPARED = "refuses it on loading, when it compares it with another number of the dict."
_BUILT = "loads it and stops with TypeError when the rotary module is built."
_AS_TENSOR = "loads it and stops when it makes a tensor of the list."
_NO_NUMBER: Mapping[str, str] = {
    # What transformers 5.24 does with text, a list or an object where a number belongs.
    **dict.fromkeys(("max_position_embeddings", "head_dim", "hidden_size"), _REFUSED),
    **dict.fromkeys(("num_attention_heads", "original_max_position_embeddings"), _REFUSED),
    **dict.fromkeys(("beta_fast", "beta_slow"), _COMPARED),
    **dict.fromkeys(("low_freq_factor", "high_freq_factor"), _COMPARED),
    **dict.fromkeys(("factor", "mscale", "mscale_all_dim"), _BUILT),
    **dict.fromkeys(("short_factor", "long_factor"), _AS_TENSOR),
    "rope_theta": "loads it and stops with TypeError when it raises it to a power, as the rotary "
    "module is built.",
    "attention_factor": "loads it and stops with TypeError in the first call.",
    "truncate": "takes it as Python does: 0 and what is empty is false, everything else true.",
}


def _of_no_number(message: Message) -> dict[str, str]:
    """A switch counts as 0 or 1 in a dict, and a fraction is a number: nothing sure to say."""
    name = message.fields[0].rpartition(".")[2].partition("[")[0] if message.fields else ""
    unsure = "a switch" in message.text or "a whole number" in message.text
    if name not in _NO_NUMBER or unsure:
        return {}
    return {"transformers": _NO_NUMBER[name]}


def behaviours(message: Message, place: Place) -> dict[str, str]:
    """One predicate for each runtime that is known to do something of its own."""
    if message.code == "PV112":
        return _of_no_number(message)
    if message.code == "PV161":
        return _of_unread(message)
    if message.code == "PV121":
        return {**BEHAVIOURS["PV121"], **_by_the_file(place)}
    if message.code == "PV162":
        both = place.given("mscale") and place.given("mscale_all_dim")
        return dict(_BOTH_MSCALES if both else _LONE_MSCALE)
    if message.code == "PV104" and "alpha" in message.text:
        return {
            "transformers": "knows it for HunYuan only.",
            **dict.fromkeys(("vllm", "sglang"), "knows it for every model."),
        }
    return dict(BEHAVIOURS.get(message.code, {}))


def _by_the_file(place: Place) -> dict[str, str]:
    """The two that read a GGUF file, which holds factor, original window and context length."""
    window = place.subject.model.window
    return {
        "llama_cpp": f"uses the explicit factor; {slot_cap(window, 'its')}.",
        "ollama": f"uses the explicit factor, and cuts num_ctx to {window} tokens, {WHERE}.",
    }


def _of_unread(message: Message) -> dict[str, str]:
    told: dict[str, list[str]] = {}
    for field in message.fields:
        for runtime, text in READ_BY_OTHERS.get(field.rpartition(".")[2], {}).items():
            told.setdefault(runtime, []).append(text)
    return {runtime: " ".join(texts) for runtime, texts in told.items()}
