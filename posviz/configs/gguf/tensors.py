"""The tensors of divisors: what they mean, and how transformers would spell it."""

from __future__ import annotations

from posviz.configs.gguf.divisors import HIGH, LOW, Step, llama3_bands, llama3_step, rotating_share
from posviz.configs.gguf.fields import Draft, Fields
from posviz.configs.gguf.header import rotary_tensor_names
from posviz.configs.gguf.placing import Rotation, put, put_lists
from posviz.configs.gguf.scaling import Scaling


def divisors_of(
    fields: Fields, draft: Draft, rotation: Rotation, name: str
) -> tuple[float, ...] | None:
    values = fields.header.divisors.get(name)
    pairs = rotation.pairs
    if values is None or pairs is None or len(values) == pairs:
        return values
    if len(values) > pairs:
        draft.note(
            "info", f"{name} has {len(values)} entries; the first {pairs}, one a pair, count."
        )
        return values[:pairs]
    draft.note(
        "error",
        f"{name} has {len(values)} entries for {pairs} pairs, and llama.cpp refuses the file.",
    )
    return values


def put_divisors(
    draft: Draft, rotation: Rotation, scaling: Scaling, values: tuple[float, ...]
) -> None:
    name = rotary_tensor_names()[0]
    if scaling.has_ramp:
        draft.note(
            "error",
            f"The file has both YaRN ({scaling.kind_name or scaling.factor_name}) and {name}; "
            f"llama.cpp applies both, and only the divisors of {name} are shown here.",
        )
        scaling = scaling.without_factor()
    plain = scaling.factor == 1 and scaling.attention == 1
    share = rotating_share(values)
    bands = llama3_bands(values, rotation.base)
    step = llama3_step(values, rotation.base)
    if share is not None and plain:
        put(draft, rotation, "rope_type", "proportional", name)
        put(draft, rotation, "partial_rotary_factor", share / len(values), name)
        draft.note(
            "info",
            f"{name} lets the first {share} of {len(values)} pairs rotate and stops the others: "
            "proportional RoPE.",
        )
    elif bands is not None and plain:
        _put_llama3(draft, rotation, (bands.factor, HIGH, bands.original), name)
        draft.note(
            "info",
            f"{name} holds the divisors of the llama3 rule with factor {bands.factor:g}, original "
            f"window {bands.original}, low_freq_factor {LOW:g} and high_freq_factor {HIGH:g}: the "
            "numbers are read off the tensor, the file does not name them.",
        )
    elif step is not None and plain:
        _put_llama3(draft, rotation, (step.factor, LOW, step.original), name)
        _note_step(draft, step, name)
    elif any(value != 1 for value in values) or not plain:
        draft.note(
            "warn",
            f"{name} holds divisors that "
            + ("follow no rule known here" if plain else "stand beside another factor")
            + "; they are shown as the lists of longrope, the same for short and long contexts.",
        )
        put_lists(draft, rotation, scaling, values, values, (name, name))


def _note_step(draft: Draft, step: Step, name: str) -> None:
    low, high = step.wavelengths
    draft.note(
        "info",
        f"{name} is 1 up to pair {step.pair - 1} and {step.factor:g} from pair {step.pair} on: the "
        f"llama3 rule with equal factors, as in Llama 4 Scout. Every original window between "
        f"{low:.6g} and {high:.6g} tokens, over low_freq_factor {LOW:g}, gives these divisors; "
        f"{step.original} is taken.",
    )


def _put_llama3(
    draft: Draft, rotation: Rotation, numbers: tuple[float, float, int], name: str
) -> None:
    factor, high, original = numbers
    values = {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": LOW,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }
    for key, value in values.items():
        put(draft, rotation, key, value, name)


def put_longrope(
    fields: Fields,
    draft: Draft,
    rotation: Rotation,
    scaling: Scaling,
    long: tuple[float, ...] | None,
    short: tuple[float, ...] | None,
) -> None:
    _, long_name, short_name = rotary_tensor_names()
    if scaling.has_ramp:
        draft.note(
            "error",
            f"The file has both YaRN ({scaling.kind_name or scaling.factor_name}) and {long_name}; "
            "llama.cpp applies both, and only the divisors of the tensors are shown here.",
        )
        scaling = scaling.without_factor()
    present = long or short or ()
    if long is None or short is None:
        absent, other = (long_name, short_name) if long is None else (short_name, long_name)
        draft.note(
            "warn",
            f"{other} is there without {absent}: llama.cpp then divides by nothing where it would "
            f"take {absent}.",
        )
    ones = tuple(1.0 for _ in present)
    put_lists(draft, rotation, scaling, short or ones, long or ones, (short_name, long_name))
    limit = (
        fields.key("{arch}.context_length") if scaling.original is None else (scaling.original_name)
    )
    draft.note(
        "info",
        f"llama.cpp picks {long_name} or {short_name} once, by whether its context size is beyond "
        f"{limit}; transformers picks by the length of each call.",
    )
