"""Facts of single layers: types, two bases, windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.nope_layers import CODES as NOPE_CODES
from posviz.configs.checks.nope_layers import find_nope, ranges
from posviz.configs.checks.subject import Rotating, Subject
from posviz.parameters import closest, is_finite_number

CODES: Mapping[str, str] = {
    "PV280": "layer_types has another number of entries than there are layers, or unknown ones.",
    "PV281": "A layer type without a dict of rotary parameters of its own.",
    "PV282": "A dict of rotary parameters for a layer type that no layer has.",
    "PV283": "Several layer types, each with its own rotary parameters and layers.",
    "PV284": "Full and sliding layers have the same base in a class that has two.",
    "PV289": "The sliding window is no smaller than the context.",
    **NOPE_CODES,
}
_WITHOUT_ROTATION = ("linear_attention", "conv", "moe", "mamba")
"""Names of layer types that have no queries and keys to rotate."""
LAYER_TYPES = (
    "full_attention",
    "sliding_attention",
    "chunked_attention",
    "window_attention",
    "indexed_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
    "minimax_m3_sparse",
    "conv",
    "moe",
    "hybrid",
    "hybrid_sliding",
    "reference_sliding_attention",
    "linear_attention",
    "sparse",
    "dense",
)
"""transformers 5.24.0, configuration_utils.ALLOWED_LAYER_TYPES: it refuses any other."""
_OTHER_NAMES = ("main", "compress")
"""DeepSeek-V4 keys its dicts by these and not by layer types."""
_MOST_LAYERS = 10_000


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about single layers."""
    yield from _wrong_length(subject)
    yield from _unknown_types(subject)
    if not subject.model.layers:
        return
    yield from _missing_dicts(subject)
    yield from _schedules(subject)
    yield from _one_base(subject)
    yield from find_nope(subject)
    yield from _wide_window(subject)


def layer_count(subject: Subject) -> int | None:
    """num_hidden_layers where it is a usable number."""
    found = subject.section.given("num_hidden_layers", "n_layer", "num_layers")
    value: Any = None if found is None else found.value
    usable = is_finite_number(value) and value == int(value) and 1 <= value <= _MOST_LAYERS
    return int(value) if usable else None


def _types(subject: Subject) -> tuple[str, ...]:
    given = subject.section.data.get("layer_types")
    texts = isinstance(given, list) and given and all(isinstance(item, str) for item in given)
    return tuple(given) if texts and given is not None else ()


def _wrong_length(subject: Subject) -> Iterator[Diagnosis]:
    types, count = _types(subject), layer_count(subject)
    if not types or count is None or len(types) == count:
        return
    key = subject.section.key("layer_types")
    yield Diagnosis(
        code="PV280",
        severity="error" if subject.facts.known else "warn",
        message=(
            f"{key} has {len(types)} entries, but there are {count} layers (num_hidden_layers); "
            "transformers refuses to load it. Which layers have which base is then unknown."
        ),
        fields=(key, subject.section.key("num_hidden_layers")),
        values={"layer_types": len(types), "num_hidden_layers": count},
    )


def _unknown_types(subject: Subject) -> Iterator[Diagnosis]:
    """Of the library's own classes; another class may have names of its own."""
    unknown = sorted(set(_types(subject)).difference(LAYER_TYPES))
    if not unknown or not subject.facts.known:
        return
    key = subject.section.key("layer_types")
    yield Diagnosis(
        code="PV280",
        severity="error",
        message=(
            f"{key} names the type {unknown[0]!r:.60}, which transformers does not know and "
            f"refuses; {closest(unknown[0], LAYER_TYPES)}."
        ),
        fields=(key,),
        values={"unknown": unknown[:16]},
    )


def _missing_dicts(subject: Subject) -> Iterator[Diagnosis]:
    types = set(_types(subject))
    names = {layer.name for layer in subject.model.layers}
    labelled = _labels(subject)
    if not types or not labelled or labelled & set(_OTHER_NAMES):
        return
    for name in sorted(types - names):
        if name not in _WITHOUT_ROTATION:
            yield _missing(name, sorted(labelled), subject)
    for name in sorted(labelled - types):
        yield Diagnosis(
            code="PV282",
            severity="info",
            message=(
                f"There is a dict of rotary parameters for {name!r:.60}, but no layer in "
                f"layer_types is of that type ({', '.join(sorted(types))[:120]}): nothing reads it."
            ),
            fields=(subject.section.key("layer_types"),),
        )


def _labels(subject: Subject) -> set[str]:
    """Layer types that have a dict of their own in the file."""
    for key in ("rope_scaling", "rope_parameters"):
        value = subject.section.data.get(key)
        if isinstance(value, Mapping) and value:
            return {
                name
                for name, inner in value.items()
                if isinstance(inner, Mapping) or (inner is None and name.endswith("_attention"))
            }
    return set()


def _missing(name: str, labels: Sequence[str], subject: Subject) -> Diagnosis:
    return Diagnosis(
        code="PV281",
        severity="error",
        message=(
            f"layer_types names the type {name!r:.60}, but the rotary parameters have no dict for "
            f"it; {closest(name[:60], labels)}. transformers stops with a KeyError. A type that "
            "does not rotate has null there."
        ),
        fields=(subject.section.key("layer_types"),),
    )


def _schedules(subject: Subject) -> Iterator[Diagnosis]:
    several = [each for each in subject.rotating if each.rope.per_layer]
    if len(several) < 2:
        return
    told = "; ".join(f"{each.layer.name} {_told(each)}" for each in several)
    count = {2: "Two layer types, two schedules"}.get(
        len(several), f"{len(several)} layer types, each with its own schedule"
    )
    yield Diagnosis(
        code="PV283",
        severity="ok",
        message=f"{count}: {told}.",
        values={
            f"{each.layer.name}.{name}": value
            for each in several
            for name, value in (("base", each.spec.base), ("layers", each.layer.indices))
        },
        panel="wavelengths",
    )


def _told(each: Rotating) -> str:
    factor = getattr(each.spec, "scaling_factor", None)
    scaled = "unscaled" if factor is None else f"{each.spec.id} with factor {factor:g}"
    where = f" in layers {ranges(each.layer.indices)}" if each.layer.indices else ""
    return f"has base {each.spec.base:g}, {scaled}{where}"


def _one_base(subject: Subject) -> Iterator[Diagnosis]:
    if not subject.facts.name.startswith(("gemma3", "modernbert", "t5gemma2")):
        return
    bases = {each.layer.name: each.spec.base for each in subject.rotating}
    if len(bases) < 2 or len(set(bases.values())) > 1:
        return
    base = next(iter(bases.values()))
    defaults: Any = subject.facts.rope_parameters
    usual = {
        name: inner.get("rope_theta") for name, inner in defaults.items() if name in bases
    }  # fmt: skip
    yield Diagnosis(
        code="PV284",
        severity="info",
        message=(
            f"Full and sliding layers all have the base {base:g}, in a class that has two ("
            + ", ".join(f"{name} {value:g}" for name, value in usual.items() if value)
            + " by default). Check that the model was trained so."
        ),
        values={"base": base},
        panel="wavelengths",
    )


def _wide_window(subject: Subject) -> Iterator[Diagnosis]:
    found = subject.section.given("sliding_window")
    window = subject.model.window
    sliding = any(name == "sliding_attention" for name in subject.model.layer_types)
    if found is None or window is None or not sliding or not is_finite_number(found.value):
        return
    if found.value < window or subject.section.data.get("use_sliding_window") is False:
        return
    yield Diagnosis(
        code="PV289",
        severity="info",
        message=(
            f"{found.key} is {found.value:g}, not below the context of {window} tokens: the "
            "sliding layers see all of it, like the full ones."
        ),
        fields=(found.key,),
        values={"sliding_window": found.value, "max_position_embeddings": window},
    )
