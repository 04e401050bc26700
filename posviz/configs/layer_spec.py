"""Builds the spec of one layer type from its dict of rotary parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.model_classes import LIBRARY_BASE, ModelClass
from posviz.configs.numbers import number, shown
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.rope_type import RopeType, encoding_for, resolve_rope_type
from posviz.configs.rotary_dimension import RotaryDimension, rotary_dimension
from posviz.configs.section import Found, Section
from posviz.configs.type_values import type_values
from posviz.configs.windows import check_windows, original_window
from posviz.encodings.base import Encoding
from posviz.parameters import ParameterError

_NEEDS_ORIGINAL = ("yarn", "longrope", "llama3", "dynamic", "linear", "ntk")


@dataclass(frozen=True)
class Context:
    """What all layer types of a model share."""

    section: Section
    facts: ModelClass
    window: Found | None


def layer_spec(rope: RopeDict, context: Context, findings: Findings) -> Encoding | None:
    """The spec, or None after error messages that say why there is none."""
    rope_type = resolve_rope_type(rope, context.facts, findings)
    base = _base(rope, context, findings)
    if rope_type is None:
        # Null and text where a number belongs are worth knowing even when the type is unknown.
        _report_null_factor(rope, findings)
        return None
    size = rotary_dimension(context.section, rope, rope_type.name, context.facts, findings)
    rope_type, values = _values(rope, rope_type, size, context, findings)
    _check_mrope(rope, size, findings)
    if size is not None:
        _check_lists(values, size, findings)
    if findings.blocking(findings.layer_type) or base is None or size is None:
        return None
    values |= {"base": base, "layout": _layout(context, findings)}
    values |= {"head_dim": size.head_dim, "partial_rotary_factor": size.partial_rotary_factor}
    return _built(rope_type, values, findings)


def _built(rope_type: RopeType, values: dict[str, Any], findings: Findings) -> Encoding | None:
    try:
        spec = rope_type.encoding(**values)
    except ParameterError as error:
        findings.error("PV114", str(error))
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
    alpha = rope.section.given("alpha")
    if rope_type.name == "dynamic" and alpha is not None and alpha.value:
        return _static_alpha(alpha, rope, context, findings)
    values = dict(rope_type.values)
    values |= type_values(rope, rope_type.name, context.facts, findings)
    if rope_type.name == "yarn":
        _yarn_extras(rope, values, size, context, findings)
    if rope_type.name in _NEEDS_ORIGINAL:
        _windows(rope, rope_type.name, values, context, findings)
    return rope_type, values


def _static_alpha(
    alpha: Found, rope: RopeDict, context: Context, findings: Findings
) -> tuple[RopeType, dict[str, Any]]:
    """HunYuan's dynamic with a fixed alpha is NTK-aware scaling by alpha, at every length."""
    encoding = encoding_for("ntk")
    assert encoding is not None
    value = number(alpha, findings)
    findings.info(
        "PV104",
        f"{alpha.key} makes dynamic a fixed larger base, b·alpha^(d/(d-2)), at every length (HunYuan).",
        alpha.key,
    )
    values: dict[str, Any] = {} if value is None else {"scaling_factor": float(value)}
    if value is not None:
        findings.row("scaling_factor", float(value), alpha.key)
    original = original_window(
        context.section, rope, "linear", context.facts, context.window, findings
    )
    if original is not None:
        values["original_max_position_embeddings"] = original.value
    return RopeType("ntk", encoding), values


def _windows(
    rope: RopeDict, rope_type: str, values: dict[str, Any], context: Context, findings: Findings
) -> None:
    original = original_window(
        context.section, rope, rope_type, context.facts, context.window, findings
    )
    if original is None:
        if rope_type in ("linear", "ntk"):
            findings.row(
                "original_max_position_embeddings",
                4096,
                "default of PosViz, because the file gives no window; no frequency depends on it",
            )
        return
    values["original_max_position_embeddings"] = original.value
    findings.row("original_max_position_embeddings", original.value, original.key)
    _factor_from_windows(rope, rope_type, values, original, context.window, findings)
    check_windows(rope_type, values, original, context.window, findings)
    if rope_type == "longrope" and context.window is not None:
        values["max_position_embeddings"] = context.window.value
    elif rope_type == "longrope" and "scaling_factor" not in values:
        findings.error(
            "PV131",
            "The rope type longrope needs max_position_embeddings or a factor; the configuration has "
            "neither.",
            "max_position_embeddings",
        )


def _factor_from_windows(
    rope: RopeDict,
    rope_type: str,
    values: dict[str, Any],
    original: Found,
    window: Found | None,
    findings: Findings,
) -> None:
    assert rope.section is not None
    found = rope.section.find("factor")
    if rope_type != "yarn" or found is None or found.value is not None:
        return
    if window is None:
        findings.error(
            "PV111", f"{found.key} is null and there is no max_position_embeddings.", found.key
        )
        return
    factor = window.value / original.value
    findings.warn(
        "PV117",
        f"{found.key} is null; transformers takes max_position_embeddings / original = "
        f"{window.value} / {original.value} = {factor:g}.",
        found.key,
        factor=factor,
    )
    if factor < 1:
        findings.error("PV113", f"That factor must be at least 1; got {factor:g}.", found.key)
        return
    values["scaling_factor"] = factor
    findings.row("scaling_factor", factor, f"{found.key} is null: the ratio of the windows")


def _base(rope: RopeDict, context: Context, findings: Findings) -> float | None:
    assert rope.section is not None
    inside = rope.section.find("rope_theta")
    outside = context.section.find(*rope.base_keys)
    _report_unread_base(rope, context, findings)
    if inside and outside and inside.value != outside.value and not rope.per_layer:
        findings.warn(
            "PV146",
            f"{inside.key} is {shown(inside.value)} and {outside.key} is {shown(outside.value)}; the "
            "one inside the dict is used.",
            inside.key,
            outside.key,
        )
    found = inside or outside or rope.base_default
    if found is None:
        found = _default_base(context.facts, findings)
    value = number(found, findings)
    if value is None:
        return None
    findings.row("base", float(value), found.key)
    return float(value)


def _report_unread_base(rope: RopeDict, context: Context, findings: Findings) -> None:
    stray = context.section.given("rope_theta")
    if stray is not None and rope.base_keys and "rope_theta" not in rope.base_keys:
        if rope.base_keys != ("rotary_emb_base",):
            return  # the other of two bases
        findings.warn(
            "PV146",
            f"{stray.key} is {shown(stray.value)}, but {context.facts.name} reads its base under "
            "rotary_emb_base only.",
            stray.key,
        )


def _default_base(facts: ModelClass, findings: Findings) -> Found:
    if facts.known:
        return Found(facts.base, facts.origin)
    name = f"the model class {facts.name} is unknown" if facts.name else "there is no model_type"
    findings.warn(
        "PV145",
        f"rope_theta is missing and {name}; {LIBRARY_BASE} is assumed, transformers' default for "
        "classes without their own.",
        "rope_theta",
        base=LIBRARY_BASE,
    )
    return Found(LIBRARY_BASE, "transformers' default, because rope_theta is missing")


def _report_null_factor(rope: RopeDict, findings: Findings) -> None:
    assert rope.section is not None
    found = rope.section.find("factor")
    if found is not None:
        number(found, findings)


def _layout(context: Context, findings: Findings) -> str:
    found = context.section.given("rope_interleave")
    if found is not None and isinstance(found.value, bool):
        layout, origin = ("interleaved" if found.value else "half_split"), found.key
    elif context.facts.known:
        layout = "interleaved" if context.facts.interleaved else "half_split"
        origin = f"convention of the model class {context.facts.name}"
    else:
        layout, origin = "half_split", "the usual convention; the model class is not known"
    findings.row("layout", layout, origin)
    return layout


def _yarn_extras(
    rope: RopeDict,
    values: dict[str, Any],
    size: RotaryDimension | None,
    context: Context,
    findings: Findings,
) -> None:
    outer = rope.outer.find("truncate")
    if rope.per_layer and outer is not None and isinstance(outer.value, bool):
        values["truncate"] = outer.value
        findings.row("truncate", outer.value, outer.key)
    latent = size is not None and (size.latent or context.facts.splits_heads)
    over_all, mscale = values.get("mscale_all_dim"), values.get("mscale")
    corrects = latent and bool(over_all)
    corrects = corrects and (context.facts.softmax_correction or not context.facts.known)
    if corrects:
        values["softmax_correction"] = True
    if corrects and over_all != 1 and values.get("scaling_factor", 1) > 1:
        _note_two_corrections(values["scaling_factor"], mscale, over_all, findings)
    elif not latent and values.get("mscale_rule") is None and (mscale or over_all):
        _note_mscale(mscale, over_all, findings)


def _note_two_corrections(
    factor: float, mscale: float | None, over_all: float, findings: Findings
) -> None:
    in_softmax = (0.1 * over_all * math.log(factor) + 1) ** 2
    findings.info(
        "PV163",
        f"There are two separate corrections: cos and sin carry m(mscale {mscale})/m(mscale_all_dim "
        f"{over_all:g}), and the softmax scale is multiplied by m(mscale_all_dim)² = {in_softmax:.9g}, "
        "in the attention layer.",
        "mscale",
        "mscale_all_dim",
        softmax_scale_multiplier=in_softmax,
    )


def _note_mscale(mscale: float | None, over_all: float | None, findings: Findings) -> None:
    if mscale and over_all:
        findings.info(
            "PV162",
            f"mscale {mscale:g} and mscale_all_dim {over_all:g} outside latent attention: transformers "
            "and vLLM take the ratio of the two magnitudes, llama.cpp does not read mscale.",
            "mscale",
            "mscale_all_dim",
        )
        return
    lone, missing = ("mscale", "mscale_all_dim") if mscale else ("mscale_all_dim", "mscale")
    findings.warn(
        "PV162",
        f"{lone} without {missing} is ignored by transformers and by vLLM's yarn; vLLM's "
        "deepseek_yarn and MLX count it.",
        lone,
    )


def _check_mrope(rope: RopeDict, size: RotaryDimension | None, findings: Findings) -> None:
    assert rope.section is not None
    found = rope.section.given("mrope_section")
    if found is None:
        return
    sections = found.value
    whole = isinstance(sections, list) and all(
        isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in sections
    )
    if not whole:
        findings.error("PV150", f"{found.key} must be a list of whole numbers of pairs.", found.key)
        return
    findings.row("mrope_section", tuple(sections), f"{found.key}: pairs for time, height, width")
    if rope.section.data.get("mrope_interleaved"):
        findings.row("mrope_interleaved", True, rope.section.key("mrope_interleaved"))
    if size is None:
        return
    pairs = int(size.head_dim * size.partial_rotary_factor) // 2
    if sum(sections) != pairs:
        findings.error(
            "PV150",
            f"mrope_section sum: {' + '.join(map(str, sections))} = {sum(sections)}, but there are "
            f"{pairs} pairs, half of the rotary dimension.",
            found.key,
            sum=sum(sections),
            expected=pairs,
        )


def _check_lists(values: dict[str, Any], size: RotaryDimension, findings: Findings) -> None:
    expected = int(size.head_dim * size.partial_rotary_factor) // 2
    for key in ("short_factor", "long_factor"):
        if key in values and len(values[key]) != expected:
            findings.error(
                "PV151",
                f"{key} length: {len(values[key])} numbers, but there are {expected} pairs, half of "
                f"the rotary dimension {2 * expected}.",
                key,
                expected_length=expected,
                got=len(values[key]),
            )


def _derived_rows(spec: Encoding, values: dict[str, Any], findings: Findings) -> None:
    given = {row.name for row in findings.rows if row.layer_type == findings.layer_type}
    shown_already = given | set(values)
    for declaration in spec.declarations():
        if declaration.name not in shown_already:
            findings.row(
                declaration.name, declaration.default, f"default of the method {spec.title}"
            )
    for name, value in values.items():
        if name not in given:
            findings.row(name, value, "follows from the rope type and the model class")
    result = spec.encode([0.0])  # type: ignore[attr-defined]
    rule = "given" if values.get("attention_factor") is not None else "worked out by the method"
    findings.row("factor on cos and sin", result.attention_factor, rule)
    findings.row("factor on all logits (softmax)", result.softmax_factor, rule)
    bounds = getattr(spec, "bounds", None)
    if bounds is not None:
        findings.row("ramp (pairs)", bounds, "from base, rotary_dim, trained window and the betas")
