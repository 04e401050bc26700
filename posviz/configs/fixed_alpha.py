"""HunYuan's dynamic with a fixed alpha, which is NTK-aware scaling at every length."""

from __future__ import annotations

from typing import Any

from posviz.configs.context import Context
from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.numbers import number
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.rope_type import RopeType, encoding_for
from posviz.configs.section import Found
from posviz.configs.windows import original_window


def fixed_alpha(rope: RopeDict, rope_type: RopeType, facts: ModelClass) -> Found | None:
    assert rope.section is not None
    alpha = rope.section.given("alpha")
    reads_it = not facts.known or facts.name.startswith(("hunyuan", "hy_"))
    return alpha if rope_type.name == "dynamic" and alpha and alpha.value and reads_it else None


def static_alpha(
    alpha: Found, rope: RopeDict, context: Context, findings: Findings
) -> tuple[RopeType, dict[str, Any]]:
    """HunYuan's dynamic with a fixed alpha is NTK-aware scaling by alpha, at every length."""
    encoding = encoding_for("ntk")
    assert encoding is not None
    value = number(alpha, findings)
    findings.info(
        "PV104",
        f"{alpha.key} makes dynamic a fixed larger base, b·alpha^(d/(d-2)), at every length "
        "(HunYuan).",
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
