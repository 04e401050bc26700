"""Reads a model's config.json as transformers 5.24.0 would, and says where every number came "
"from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from posviz.configs.context import Context
from posviz.configs.errors import ConfigError
from posviz.configs.families import family_of
from posviz.configs.findings import Findings
from posviz.configs.gguf import is_gguf, read_gguf
from posviz.configs.json_limits import load
from posviz.configs.layer_spec import layer_spec
from posviz.configs.layers import LayerPlan, layer_plan
from posviz.configs.model import FULL, Layer, Model
from posviz.configs.model_classes import ModelClass, model_class
from posviz.configs.other_positions import describe_other_positions, gives_positions_otherwise
from posviz.configs.rope_dicts import RopeDict, rope_dicts
from posviz.configs.section import Section, text_section
from posviz.configs.windows import read_window

_ROTARY_KEYS = (
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rotary_pct",
    "rotary_emb_base",
    "rotary_dim",
    "partial_rotary_factor",
    "qk_rope_head_dim",
    "rope_local_base_freq",
    "global_rope_theta",
    "local_rope_theta",
    "rope_ratio",
)
_ROTARY_TYPES = ("baichuan", "chatglm")
"""Model types outside transformers that rotate without a key that says so."""
_ROTARY_KINDS = ("rotary", "rope", "rotary_embedding")


def read(config: Mapping[str, Any] | str | bytes | Path) -> Model:
    """Read a configuration: a mapping, JSON text, bytes, or the path of a file, JSON or GGUF.

    Of a GGUF file the header is read, never the weights.

    Returns
    -------
    Model with every resolved number and its origin. Numbers that cannot be used become messages of
    severity error, and the model then refuses its spec with that sentence.

    Raises
    ------
    ConfigError : nothing that could be a configuration, or one that says nothing about positions.

    Examples
    --------
    >>> from posviz import configs
    >>> text = '{"head_dim": 128, "rope_theta": 500000.0, "max_position_embeddings": 8192}'
    >>> configs.read(text).spec().rotary_dim
    128
    """
    file = read_gguf(config) if isinstance(config, Path | bytes) and is_gguf(config) else None
    if file is None:
        return _model(config)
    model = _model(file.config)
    rows = tuple(
        replace(row, origin=file.names.get(row.origin, row.origin)) for row in model.resolved
    )
    return replace(model, resolved=rows, gguf=file)


def _model(config: Mapping[str, Any] | str | bytes | Path) -> Model:
    findings = Findings()
    data = load(config, findings)
    section, model_type = text_section(data)
    facts = model_class(model_type)
    if not _is_rotary(section, model_type, facts):
        return _without_rotation(data, section, model_type, findings)
    window = read_window(section, facts, findings)
    plan = layer_plan(section, facts, findings)
    context = Context(section, facts, window)
    dicts = rope_dicts(section, facts, findings)
    _layer_rows(dicts, plan, findings)
    layers = tuple(_layer(rope, context, plan, findings) for rope in dicts)
    _runtime_notes(section, findings)
    return Model(
        layers=_refused(layers, findings),
        resolved=tuple(findings.rows),
        messages=tuple(findings.messages),
        window=None if window is None else window.value,
        trained_window=_trained_window(layers, None if window is None else window.value),
        model_type=model_type,
        family=family_of(model_type),
        unrotated_layers=plan.unrotated,
        config=data,
        text_path=section.path,
    )


def _is_rotary(section: Section, model_type: str, facts: ModelClass) -> bool:
    if gives_positions_otherwise(section, model_type, rotary_class=facts.known):
        return False
    if section.data.get("position_embedding_type") in _ROTARY_KINDS:
        return True
    if section.data.get("position_encoding_2d") is True:
        return False  # the first ChatGLM rotates by two positions, which no schedule here shows
    named = facts.known or model_type in _ROTARY_TYPES
    return named or any(key in section for key in _ROTARY_KEYS)


def _without_rotation(
    data: Mapping[str, Any], section: Section, model_type: str, findings: Findings
) -> Model:
    if not describe_other_positions(section, model_type, findings):
        raise ConfigError(
            "Nothing in this configuration is about rotary positions: there is no rope_theta, "
            "rope_scaling, rope_parameters or the like, and "
            + (f"the model type {model_type!r} is not known." if model_type else "no model_type.")
        )
    usable = next((row.value for row in findings.rows if row.name == "usable_positions"), None)
    return Model(
        layers=(),
        resolved=tuple(findings.rows),
        messages=tuple(findings.messages),
        window=usable,
        trained_window=usable,
        model_type=model_type,
        family=family_of(model_type),
        config=data,
        text_path=section.path,
    )


def _layer_rows(dicts: tuple[RopeDict, ...], plan: LayerPlan, findings: Findings) -> None:
    if len(dicts) > 1:
        names = tuple(rope.layer_type for rope in dicts)
        count = {2: "two layer types, two schedules"}.get(len(names), f"{len(names)} layer types")
        findings.row("layer types", names, f"{count}: each has its own rotary parameters")
        for name in names:
            if plan.indices(name):
                findings.row(f"layers of type {name}", plan.indices(name), plan.origin)
    if plan.unrotated:
        findings.row("layers without rotation", plan.unrotated, "layer list of the configuration")


def _layer(rope: RopeDict, context: Context, plan: LayerPlan, findings: Findings) -> Layer:
    indices = plan.indices(rope.layer_type)
    findings.layer_type = rope.layer_type if rope.layer_type != FULL or rope.per_layer else ""
    if rope.section is None:
        findings.row("rotation", None, "null: layers of this type do not rotate")
        findings.layer_type = ""
        return Layer(rope.layer_type, None, rotates=False, indices=indices)
    spec = layer_spec(rope, context, findings)
    problem = findings.blocking(findings.layer_type)
    findings.layer_type = ""
    return Layer(rope.layer_type, spec, problem=problem, indices=indices)


def _refused(layers: tuple[Layer, ...], findings: Findings) -> tuple[Layer, ...]:
    """Errors about the whole model refuse every spec, also those that were built before them."""
    problem = findings.blocking("")
    if not problem:
        return layers
    return tuple(
        Layer(layer.name, None, layer.problem or problem, layer.rotates, layer.indices)
        for layer in layers
    )


def _trained_window(layers: tuple[Layer, ...], window: int | None) -> int | None:
    for layer in sorted(layers, key=lambda item: item.name != FULL):
        trained = getattr(layer.spec, "original_max_position_embeddings", None)
        if trained is not None and window is not None:
            return int(trained)
        if trained is not None and layer.spec is not None and layer.spec.id not in ("linear",):
            return int(trained)
    return window


def _runtime_notes(section: Section, findings: Findings) -> None:
    if section.data.get("use_logn_attn") is True:
        findings.info(
            "PV172",
            "use_logn_attn multiplies each query by ln(position)/ln(seq_length) beyond the trained "
            "length, per position and never below 1; it is not part of the rotation shown here.",
            "use_logn_attn",
        )
    if section.data.get("use_dynamic_ntk") is True:
        findings.info(
            "PV173",
            "use_dynamic_ntk raises the base with the length in the model's own code, in steps; "
            "the rotation shown here is the one up to the trained length.",
            "use_dynamic_ntk",
        )
