"""Puts the trained window, and a factor that follows from it, into the values of a spec."""

from __future__ import annotations

from typing import Any

from posviz.configs.context import Context
from posviz.configs.findings import Findings
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.section import Found
from posviz.configs.windows import check_windows, original_window


def put_windows(
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
    check_windows(
        rope_type,
        values,
        original,
        context.window,
        findings,
        extended=context.facts.window_is_extended and rope_type == "linear",
    )
    if rope_type == "longrope" and context.window is not None:
        values["max_position_embeddings"] = context.window.value
    elif rope_type == "longrope" and "scaling_factor" not in values:
        findings.error(
            "PV131",
            "The rope type longrope needs max_position_embeddings or a factor; the configuration "
            "has neither.",
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
