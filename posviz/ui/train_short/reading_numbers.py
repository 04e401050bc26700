"""Numbers as tables write them."""

from __future__ import annotations

import math


def shown(value: float) -> str:
    """Three digits after the point; a dash where there is no number."""
    return "–" if math.isnan(value) else f"{value:.3f}"
