"""Which dict of rotary parameters holds for which layer type.

transformers 5.24.0: rope_scaling wins over rope_parameters, whole; a dict that is keyed by layer
types holds one dict per layer type, null meaning no rotation. Gemma 3 and
ModernBERT have two bases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.numbers import shown
from posviz.configs.section import Found, Section

FULL, SLIDING = "full_attention", "sliding_attention"
_LABEL_ENDINGS = ("_attention",)
_NEVER_LABELS = ("rope_scaling", "rope_parameters", "rope_type", "type")
_DUAL_BASES: tuple[tuple[str, str], ...] = (
    # key of the base of the full layers, key of the base of the sliding layers
    ("rope_theta", "rope_local_base_freq"),
    ("global_rope_theta", "local_rope_theta"),
)

_COMPRESSED_BASE = 160_000.0
"""DeepSeek-V4's own base for the layers with compressed keys."""


@dataclass(frozen=True)
class RopeDict:
    """The rotary parameters of one layer type; ``section`` is None where it does not rotate."""

    layer_type: str
    section: Section | None
    base_keys: tuple[str, ...] = ()
    """Top-level keys that may hold the base when the dict does not."""
    per_layer: bool = False
    """Whether the dict stood under a layer type's name."""
    outer: Section = field(default_factory=lambda: Section({}))
    """The dict around a per-layer-type dict."""
    base_default: Found | None = None
    """The class's own base for this layer type, where it has two."""


def rope_dicts(section: Section, facts: ModelClass, findings: Findings) -> tuple[RopeDict, ...]:
    """One entry per layer type; a model without layer types has one, full_attention."""
    dual = _dual_bases(section, facts)
    if dual is not None:
        return _dual(section, facts, dual, findings)
    chosen = _chosen(section, facts, findings)
    if facts.name == "deepseek_v4" and not {"main", "compress"} <= set(chosen.data):
        return _main_and_compressed(chosen, facts)
    labels = _labels(chosen.data, section)
    if not labels:
        return (RopeDict(FULL, chosen, base_keys=facts.base_keys),)
    _report_outer_keys(chosen, labels, findings)
    return tuple(_one_of(chosen, label, facts) for label in labels)


def _main_and_compressed(chosen: Section, facts: ModelClass) -> tuple[RopeDict, ...]:
    """DeepSeek-V4: a flat dict scales the compressed layers only, and never cos and sin."""
    scaled = {key: value for key, value in chosen.data.items() if key != "rope_theta"}
    if "yarn" in (scaled.get("rope_type"), scaled.get("type")):
        scaled = {"attention_factor": 1.0, **scaled}
    default = Found(_COMPRESSED_BASE, facts.origin)
    compressed = Section(scaled, chosen.path)
    return (
        RopeDict("main", Section({}), base_keys=("rope_theta",), per_layer=True),
        RopeDict(
            "compress",
            compressed,
            base_keys=("compress_rope_theta",),
            per_layer=True,
            base_default=default,
        ),
    )


def _chosen(section: Section, facts: ModelClass, findings: Findings) -> Section:
    scaling = _object(section, "rope_scaling", findings)
    parameters = _object(section, "rope_parameters", findings)
    if scaling and scaling.data:
        if parameters and parameters.data and dict(parameters.data) != dict(scaling.data):
            findings.warn(
                "PV105",
                f"{scaling.path} and {parameters.path} both hold something; transformers takes "
                f"{scaling.path} whole and nothing of {parameters.path}, its rope_theta included.",
                scaling.path,
                parameters.path,
            )
        return scaling
    if parameters and parameters.data:
        return parameters
    if facts.rope_parameters and parameters is None:
        return Section(facts.rope_parameters, facts.origin)
    empty = scaling or parameters
    return empty if empty is not None else Section({}, "")


def _object(section: Section, name: str, findings: Findings) -> Section | None:
    found = section.given(name)
    if found is None:
        return None
    if not isinstance(found.value, Mapping):
        findings.error(
            "PV107", f"{found.key} must be an object or null; got {shown(found.value)}.", found.key
        )
        return None
    return Section(found.value, found.key)


def _labels(data: Mapping[str, Any], section: Section) -> tuple[str, ...]:
    """Layer types under which dicts stand; none for a flat dict."""
    declared = section.data.get("layer_types")
    names = _texts(declared)
    nested = [
        name
        for name, value in data.items()
        if isinstance(value, Mapping) and _is_label(name, names, data)
    ]
    null = [
        name
        for name, value in data.items()
        if value is None and (name in names or name.endswith(_LABEL_ENDINGS))
    ]
    if not nested and not null:
        return ()
    return tuple(name for name in data if name in nested or name in null)


def _is_label(name: str, declared: set[str], data: Mapping[str, Any]) -> bool:
    """Whether a dict inside the dict is that of a layer type, and not just one key too many."""
    if name in declared or name.endswith(_LABEL_ENDINGS):
        return True
    flat = any(isinstance(data.get(key), str) for key in ("rope_type", "type"))
    return not flat and name not in _NEVER_LABELS


def _texts(value: Any) -> set[str]:
    items = value if isinstance(value, list) else []
    return {item for item in items if isinstance(item, str)}


def _one_of(chosen: Section, label: str, facts: ModelClass) -> RopeDict:
    value = chosen.data[label]
    inner = None if value is None else Section(value, chosen.key(label))
    return RopeDict(label, inner, base_keys=facts.base_keys, per_layer=True, outer=chosen)


def _report_outer_keys(chosen: Section, labels: tuple[str, ...], findings: Findings) -> None:
    stray = [name for name in chosen.data if name not in labels and name != "truncate"]
    if stray:
        findings.warn(
            "PV106",
            f"{chosen.path} is keyed by layer type, so {', '.join(stray)} beside the layer types "
            "is not read; move it into the dict of a layer type.",
            *(chosen.key(name) for name in stray),
        )


def _dual_bases(section: Section, facts: ModelClass) -> tuple[str, str] | None:
    for full_key, sliding_key in _DUAL_BASES:
        if sliding_key in section or (full_key != "rope_theta" and full_key in section):
            return full_key, sliding_key
    if facts.name == "olmo3":
        # Its sliding layers take the class's own base, whatever rope_theta says.
        return "rope_theta", ""
    if facts.name.startswith(("gemma3", "t5gemma2")):
        return _DUAL_BASES[0]
    return _DUAL_BASES[1] if facts.name.startswith("modernbert") else None


def _dual(
    section: Section, facts: ModelClass, keys: tuple[str, str], findings: Findings
) -> tuple[RopeDict, ...]:
    scaling = _object(section, "rope_scaling", findings) or Section({}, "")
    parameters = _object(section, "rope_parameters", findings) or Section({}, "")
    labels = _labels(parameters.data, section)
    if labels:
        _report_outer_keys(parameters, labels, findings)
    elif parameters.data:
        findings.warn(
            "PV106",
            f"{parameters.path} must be keyed by layer type for this model; its flat keys "
            f"{', '.join(parameters.data)} are not read.",
            parameters.path,
        )
    result = []
    for label, base_key in ((FULL, keys[0]), (SLIDING, keys[1])):
        own = parameters.data.get(label) if label in labels else None
        inner = Section(own or {}, parameters.key(label))
        if scaling.data and (label == FULL or keys == _DUAL_BASES[1]):
            inner = Section({**_own_type(own, facts), **inner.data, **scaling.data}, scaling.path)
        default = facts.rope_parameters.get(label, {}).get("rope_theta")
        result.append(
            RopeDict(
                label,
                inner,
                base_keys=(base_key,) if base_key else (),
                per_layer=True,
                outer=parameters,
                base_default=None if default is None else Found(default, facts.origin),
            )
        )
    return tuple(result)


def _own_type(own: Mapping[str, Any] | None, facts: ModelClass) -> dict[str, Any]:
    """What rope_scaling is laid over: these classes start from rope_type default.

    So the old spelling, type, does not reach them. Gemma 3 lays rope_scaling over its full layers,
    ModernBERT over both.
    """
    return {"rope_type": "default"} if own is None and facts.known else {}
