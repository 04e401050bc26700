"""attn_factor, which some runtimes multiply the factor on cos and sin by, and others pass over."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.numbers import shown
from posviz.configs.section import Section
from posviz.parameters import is_finite_number

NAME = "attn_factor"
_LARGEST = 1e6
"""Beyond any factor that somebody means."""
_SAME = 1e-6
"""Relative; a product written down with seven digits says the same."""


def total_magnitude(data: Mapping[str, Any]) -> float | None:
    """attn_factor · (0.1·ln s + 1), what those who read it come to; None where that is not sure.

    With both mscales SGLang multiplies their ratio instead and older vLLM does not, so no one
    number suits both.
    """
    attn: Any = data.get(NAME)
    factor: Any = data.get("factor")
    ratio = data.get("mscale") is not None and data.get("mscale_all_dim") is not None
    if ratio or not is_finite_number(attn) or not is_finite_number(factor):
        return None
    usable = factor >= 1 and 0 < attn <= _LARGEST
    return float(attn * (0.1 * math.log(factor) + 1)) if usable else None


def says_the_same(data: Mapping[str, Any]) -> bool:
    """Whether attention_factor beside it is that very number, so that all runtimes agree."""
    total = total_magnitude(data)
    given: Any = data.get("attention_factor")
    if total is None or not is_finite_number(given):
        return False
    return math.isclose(given, total, rel_tol=_SAME)


def report_attn_factor(section: Section, findings: Findings) -> None:
    """PV164, for the rope type yarn."""
    found, total = section.given(NAME), total_magnitude(section.data)
    if found is None or says_the_same(section.data):
        return
    both = (
        ""
        if not total
        else f" Write both keys: attention_factor = {shown(found.value)} × (0.1·ln "
        f"{shown(section.data['factor'])} + 1) = {total:.9g}."
    )
    findings.warn(
        "PV164",
        f"{found.key} is {shown(found.value)}: older vLLM and SGLang multiply the factor on cos "
        "and sin by it; transformers 5.24 and vLLM 0.33 do not read it but attention_factor "
        f"instead, which those two do not read. It is not used here.{both}",
        found.key,
        **({"attention_factor": total} if total else {}),
    )
