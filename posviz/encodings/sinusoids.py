"""Sinusoids of positions in every layout that is met: shared by all encodings built on them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.parameters import Parameter
from posviz.results import Array, device_of

WaveLayout = Literal["alternating", "halves", "cos_first"]
"""Where sine and cosine of a frequency stand: side by side, in two halves, or cosine first."""
Ladder = Literal["standard", "closed"]
"""Frequencies b^(-2i/d), or b^(-i/(d/2 - 1)), which reaches the end point b (Tensor2Tensor)."""

ModelDim = Annotated[
    int,
    Ge(1),
    Le(8192),
    Parameter(
        help="Size of the vector that each position gets.",
        symbol="d",
        unit="dimensions",
        slider=(8, 512),
        step=8,
    ),
]


def wave_frequencies(
    model_dim: int, base: float, ladder: Ladder = "standard", *, xp: Any = np, device: Any = None
) -> Array:
    """One frequency per sine and cosine, float64: (⌈model_dim / 2⌉,) radians per token.

    An odd model_dim leaves the last sine without its cosine. The closed ladder rounds its number of
    frequencies down, and one alone has frequency 1.
    """
    if ladder == "standard":
        values = base ** (-np.arange(0, model_dim, 2) / model_dim)
    else:
        count = max(1, model_dim // 2)
        values = base ** (-np.arange(count) / max(1, count - 1))
    # Powers differ in the last bit between libraries, which far positions would magnify.
    return xp.asarray(values, dtype=xp.float64, device=device)


def waves(positions: Array, inv_freq: Array, model_dim: int, layout: WaveLayout) -> Array:
    """Sines and cosines of positions: (positions, model_dim).

    Parameters
    ----------
    positions : (positions,) tokens.
    inv_freq : (frequencies,) radians per token.
    model_dim : columns; those beyond the last frequency are 0, as the closed ladder pads.
    layout : where sine and cosine stand.
    """
    xp = array_namespace(positions)
    angles = positions[:, None] * xp.astype(inv_freq, positions.dtype)[None, :]
    return arranged(xp.sin(angles), xp.cos(angles), model_dim, layout)


def arranged(sine: Array, cosine: Array, model_dim: int, layout: WaveLayout) -> Array:
    """(positions, frequencies) twice, put together as (positions, model_dim)."""
    xp = array_namespace(sine)
    if layout == "halves":
        joined = xp.concat((sine, cosine[:, : model_dim - sine.shape[1]]), axis=1)
    else:
        first, second = (cosine, sine) if layout == "cos_first" else (sine, cosine)
        joined = xp.reshape(xp.stack((first, second), axis=2), (sine.shape[0], 2 * sine.shape[1]))
    joined = joined[:, :model_dim]
    missing = model_dim - joined.shape[1]
    if not missing:
        return joined
    padding = xp.zeros((joined.shape[0], missing), dtype=joined.dtype, device=device_of(joined))
    return xp.concat((joined, padding), axis=1)


def wave_lengths(inv_freq: Array, model_dim: int, layout: WaveLayout) -> Array:
    """Tokens per turn of every column: (model_dim,); infinite for a padding column."""
    xp = array_namespace(inv_freq)
    row = arranged(inv_freq[None, :], inv_freq[None, :], model_dim, layout)[0]
    return xp.where(row > 0, 2 * math.pi / xp.where(row > 0, row, xp.ones_like(row)), math.inf)
