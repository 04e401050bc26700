"""Builds the spec of one layer type from its dict of rotary parameters."""

from __future__ import annotations

from typing import Any

from posviz.configs.base_of import base_of
from posviz.configs.context import Context
from posviz.configs.findings import Findings
from posviz.configs.fixed_alpha import fixed_alpha, static_alpha
from posviz.configs.numbers import number
from posviz.configs.pair_lists import check_lists, check_mrope
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.rope_type import RopeType, resolve_rope_type
from posviz.configs.rotary_dimension import RotaryDimension, rotary_dimension
from posviz.configs.type_values import type_values
from posviz.configs.type_windows import put_windows
from posviz.configs.yarn_rules import yarn_extras
from posviz.encodings.base import Encoding
from posviz.parameters import ParameterError
from posviz.results import RotaryResult

_NEEDS_ORIGINAL = ("yarn", "longrope", "llama3", "dynamic", "linear", "ntk")


def layer_spec(rope: RopeDict, context: Context, findings: Findings) -> Encoding | None:
    """The spec, or None after error messages that say why there is none."""
    rope_type = resolve_rope_type(rope, context.facts, findings)
    base = base_of(rope, context, findings)
    if rope_type is None:
        # Null and text where a number belongs are worth knowing even when the type is unknown.
        _report_null_factor(rope, findings)
        return None
    fixed = fixed_alpha(rope, rope_type, context.facts)
    # HunYuan works its fixed larger base out for the whole head, as for the type default.
    kind = rope_type.name if fixed is None else "default"
    size = rotary_dimension(context.section, rope, kind, context.facts, findings)
    rope_type, values = _values(rope, rope_type, size, context, findings)
    check_mrope(rope, size, findings)
    if size is not None:
        check_lists(values, size, findings)
    if findings.blocking(findings.layer_type) or base is None or size is None:
        return None
    values |= {"base": base, "layout": _layout(context, findings)}
    values |= {"head_dim": size.head_dim, "partial_rotary_factor": size.partial_rotary_factor}
    return _built(rope_type, values, findings, key="factor" if fixed is None else "alpha")


def _built(
    rope_type: RopeType, values: dict[str, Any], findings: Findings, *, key: str
) -> Encoding | None:
    """``key`` is what the file calls the scaling factor."""
    try:
        spec = rope_type.encoding(**values)
    except ParameterError as error:
        findings.error("PV114", str(error).replace("scaling_factor", key))
        return None
    _derived_rows(spec, values, findings)
    return spec


def _values(
    rope: RopeDict,
    rope_type: RopeType,
    size: RotaryDimension | None,
    context: Context,
    findings: Findings,
) -> tuple[RopeType, dict[str, Any]]:
    assert rope.section is not None
    alpha = fixed_alpha(rope, rope_type, context.facts)
    if alpha is not None:
        return static_alpha(alpha, rope, context, findings)
    values = dict(rope_type.values)
    values |= type_values(rope, rope_type.name, context.facts, findings)
    if rope_type.name == "yarn":
        yarn_extras(rope, values, size, context, findings)
    if rope_type.name in _NEEDS_ORIGINAL:
        put_windows(rope, rope_type.name, values, context, findings)
    return rope_type, values


def _report_null_factor(rope: RopeDict, findings: Findings) -> None:
    assert rope.section is not None
    found = rope.section.find("factor")
    if found is not None:
        number(found, findings)


def _layout(context: Context, findings: Findings) -> str:
    found = context.section.given("rope_interleave")
    read = found is not None and context.facts.reads_rope_interleave
    if found is not None and read and isinstance(found.value, bool):
        layout, origin = ("interleaved" if found.value else "half_split"), found.key
    elif context.facts.name == "chatglm":
        original = context.section.given("original_rope")
        halves = original is not None and original.value is False
        layout = "half_split" if halves else "interleaved"
        origin = original.key if original is not None else context.facts.origin
    elif context.facts.known:
        layout = "interleaved" if context.facts.interleaved else "half_split"
        origin = f"convention of the model class {context.facts.name}"
    else:
        layout, origin = "half_split", "the usual convention; the model class is not known"
    findings.row("layout", layout, origin)
    return layout


def _derived_rows(spec: Encoding, values: dict[str, Any], findings: Findings) -> None:
    given = {row.name for row in findings.rows if row.layer_type == findings.layer_type}
    shown_already = given | set(values)
    for declaration in spec.declarations():
        if declaration.name not in shown_already | {"attention_factor"}:
            findings.row(
                declaration.name, declaration.default, f"default of the method {spec.title}"
            )
    for name, value in values.items():
        if name not in given and value is not None:
            findings.row(name, value, "follows from the rope type and the model class")
    result = spec.encode([0.0])
    assert isinstance(result, RotaryResult)  # a rope type is always a rotary encoding
    if "attention_factor" not in given:
        rule = f"worked out by {spec.title}; on cos and sin, so squared on the logits"
        findings.row("attention_factor", result.attention_factor, rule)
    if result.softmax_factor != 1:
        rule = "m(factor, mscale_all_dim)², in the softmax scale of the attention layer"
        findings.row("softmax_factor", result.softmax_factor, rule)
    bounds = getattr(spec, "bounds", None)
    if bounds is not None:
        findings.row("ramp (pairs)", bounds, "from base, rotary_dim, trained window and the betas")
