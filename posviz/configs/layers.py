"""Which layers are of which type, and which of them do not rotate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.rope_dicts import FULL, SLIDING
from posviz.configs.section import Section

_MAX_LAYERS = 10_000


@dataclass(frozen=True)
class LayerPlan:
    """Layer indices (from 0) by layer type, the origin of that, and the layers that do not "
    "rotate."""

    types: tuple[str, ...]
    """The type of every layer; empty when it cannot be derived."""
    origin: str
    unrotated: tuple[int, ...] = ()

    def indices(self, layer_type: str) -> tuple[int, ...]:
        """Layers of this type."""
        return tuple(index for index, name in enumerate(self.types) if name == layer_type)


def layer_plan(section: Section, facts: ModelClass, findings: Findings) -> LayerPlan:
    """Read layer_types, or work them out from a pattern and the number of layers."""
    count = _layer_count(section)
    types, origin = _types(section, facts, count)
    unrotated = _unrotated(section, facts, types, count)
    if unrotated:
        findings.info(
            "PV174",
            f"{len(unrotated)} of the layers carry no rotation: {_ranges(unrotated)}.",
            layers=unrotated,
        )
    return LayerPlan(types, origin, unrotated)


def _layer_count(section: Section) -> int:
    found = section.given("num_hidden_layers", "n_layer", "num_layers")
    value = None if found is None else found.value
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_LAYERS
    return int(value) if usable and value is not None else 0


def _types(section: Section, facts: ModelClass, count: int) -> tuple[tuple[str, ...], str]:
    declared = section.data.get("layer_types")
    if isinstance(declared, list) and declared and all(isinstance(item, str) for item in declared):
        return tuple(declared), section.key("layer_types")
    period = _period(section, facts)
    if period is None or not count:
        return (), ""
    every, full_at, origin = period
    types = tuple(FULL if index % every == full_at else SLIDING for index in range(count))
    return types, origin


def _period(section: Section, facts: ModelClass) -> tuple[int, int, str] | None:
    for name in ("sliding_window_pattern", "_sliding_window_pattern"):
        value = section.data.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value, value - 1, f"{section.key(name)}: every {value}th layer is full"
    value = section.data.get("global_attn_every_n_layers")
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        key = section.key("global_attn_every_n_layers")
        full_at = facts.full_layer_every[1] if facts.full_layer_every else 0
        return value, full_at, f"{key}: every {value}th layer is full"
    if facts.full_layer_every is None:
        return None
    every, full_at = facts.full_layer_every
    return every, full_at, f"{facts.origin}: every {every}th layer is full"


def _unrotated(
    section: Section, facts: ModelClass, types: Sequence[str], count: int
) -> tuple[int, ...]:
    marks = section.data.get("no_rope_layers")
    if isinstance(marks, list) and marks and all(mark in (0, 1) for mark in marks):
        # The field is called no_rope_layers, yet 1 means that the layer rotates.
        return tuple(index for index, mark in enumerate(marks) if not mark)
    interval: Any = section.data.get("no_rope_layer_interval", facts.no_rope_interval)
    if isinstance(interval, int) and not isinstance(interval, bool) and interval > 0:
        return tuple(range(interval - 1, count, interval))
    if not facts.full_layers_rotate and section.data.get("sliding_window") is not None:
        return tuple(index for index, name in enumerate(types) if name != SLIDING)
    return ()


def _ranges(indices: Sequence[int]) -> str:
    text = ", ".join(str(index) for index in indices[:12])
    return text + (", …" if len(indices) > 12 else "")
