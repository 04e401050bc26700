"""What was really trained: an encoding's values after they were fitted to the tiny model."""

from __future__ import annotations

from typing import Any

from posviz.catalog import parse
from posviz.encodings.base import Encoding
from posviz.lab.training.trained import Trained

SIZES = frozenset({"heads", "head_dim", "model_dim", "layers", "typed_queries", "typed_keys"})
"""Parameters of an encoding that are those of the model whatever it says."""


def fitted_values(spec: Encoding, one: Trained) -> dict[str, tuple[Any, Any]]:
    """Parameters that were trained with another value than is asked for: (asked, used)."""
    used = parse(one.fitted)
    if type(used) is not type(spec):
        return {}
    pairs = {
        name: (getattr(spec, name), getattr(used, name))
        for name in type(spec).model_fields
        if name not in SIZES
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def fitted_in_words(spec: Encoding, one: Trained) -> str:
    """The same for a note: "trained with beta_fast 8 instead of 32"; empty where nothing is."""
    found = fitted_values(spec, one)
    told = [
        f"{name} {_shown(used)} instead of {_shown(asked)}" for name, (asked, used) in found.items()
    ]
    return f"fitted to L = {one.length}: {', '.join(told)}" if told else ""


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def is_scaled_from_the_start(one: Trained) -> float:
    """The factor of extension that an encoding was trained with; 1 where it has none."""
    return float(getattr(parse(one.fitted), "scaling_factor", None) or 1.0)
