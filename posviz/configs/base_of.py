"""Where the base of the ladder comes from."""

from __future__ import annotations

from posviz.configs.context import Context
from posviz.configs.findings import Findings
from posviz.configs.model_classes import LIBRARY_BASE, ModelClass
from posviz.configs.numbers import number, shown
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.section import Found

_LARGEST = 1e15
"""What the encodings take; far beyond the base of any model."""

_FIXED_BASE = ("esm", "baichuan", "chatglm")
"""Classes outside the table whose own code has the library's base and no key for it."""
_MULTIPLIED = ("chatglm",)
"""Classes that multiply the base by rope_ratio."""


def base_of(rope: RopeDict, context: Context, findings: Findings) -> float | None:
    assert rope.section is not None
    inside = rope.section.find("rope_theta")
    outside = context.section.find(*rope.base_keys)
    if rope.layer_type in context.facts.top_level_base and outside and outside.value is not None:
        inside = None if rope.section.path.startswith(context.facts.origin) else inside
    _report_unread_base(rope, context, findings)
    if (
        inside
        and outside
        and inside.value is not None
        and inside.value != outside.value
        and not rope.per_layer
    ):
        findings.warn(
            "PV146",
            f"{inside.key} is {shown(inside.value)} and {outside.key} is {shown(outside.value)}; "
            "the one inside the dict is used.",
            inside.key,
            outside.key,
        )
    found = inside or outside or rope.base_default
    if found is None:
        _report_lost_base(rope, context, findings)
        found = _default_base(context.facts, findings)
    value = number(found, findings)
    ratio = context.section.given("rope_ratio") if context.facts.name in _MULTIPLIED else None
    if ratio is not None and value is not None:
        times = number(ratio, findings)
        value = None if times is None else times * value
        found = Found(value, f"{ratio.key} × {found.key}")
    if value is None:
        return None
    if not 1 < value <= _LARGEST:
        allowed = f"a number above 1 and at most {_LARGEST:g}"
        findings.error("PV114", f"{found.key} must be {allowed}; got {shown(value)}.", found.key)
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


def _report_lost_base(rope: RopeDict, context: Context, findings: Findings) -> None:
    """A known class has a default; some dicts are written with a base by everything that saves."""
    assert rope.section is not None
    facts, data = context.facts, rope.section.data
    if not facts.known or not data or facts.base != LIBRARY_BASE:
        return
    own_dict = rope.section.path.startswith(facts.origin)
    new_spelling = "rope_parameters" in rope.section.path
    if own_dict or not (new_spelling or data.get("rope_type", data.get("type")) == "llama3"):
        return
    why = (
        "no released model has the bands of llama3 over that base"
        if not new_spelling
        else "what saves rope_parameters writes the base into it"
    )
    findings.warn(
        "PV145",
        f"rope_theta is missing, so the default of the class {facts.name} is used, "
        f"{LIBRARY_BASE}; {why}. Give the base that the model was trained with.",
        "rope_theta",
        base=LIBRARY_BASE,
    )


def _default_base(facts: ModelClass, findings: Findings) -> Found:
    if facts.known or facts.name in _FIXED_BASE:
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
