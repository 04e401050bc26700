"""Lists that must have one entry for each pair, or add up to the number of pairs."""

from __future__ import annotations

from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.rotary_dimension import RotaryDimension


def check_mrope(rope: RopeDict, size: RotaryDimension | None, findings: Findings) -> None:
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


def check_lists(values: dict[str, Any], size: RotaryDimension, findings: Findings) -> None:
    expected = int(size.head_dim * size.partial_rotary_factor) // 2
    for key in ("short_factor", "long_factor"):
        if key in values and len(values[key]) != expected:
            findings.error(
                "PV151",
                f"{key} length: {len(values[key])} numbers, but there are {expected} pairs, half "
                f"of the rotary dimension {2 * expected}.",
                key,
                expected_length=expected,
                got=len(values[key]),
            )
