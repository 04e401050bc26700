"""What a configuration says of its layers."""

from __future__ import annotations

from typing import Any


def layer_types(case: dict[str, Any], spec: Any, expected: Any) -> list[str]:
    assert spec.layers == case["params"]["num_hidden_layers"]
    return list(spec.encode([0, 1]).layers)


def last_reach(case: dict[str, Any], spec: Any, expected: Any) -> float:
    return float(spec.encode([0, 1]).reach[-1])
