"""The ramps that decide which pairs an extension keeps and which it divides.

Both published forms answer 1 for a pair that is kept, 0 for one that is divided, and agree on where
these bands end; they differ in between (YaRN paper, arXiv:2309.00071, equation 18, against its
code).
"""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace

from posviz.results import Array


def turns(inv_freq: Array, length: float) -> Array:
    """Full turns of each pair within ``length`` tokens, L·f_i / 2π: (pairs,)."""
    return length * inv_freq / (2 * math.pi)


def kept_by_turns(inv_freq: Array, length: float, beta_slow: float, beta_fast: float) -> Array:
    """Linear in the turns r_i: clip((r_i - α)/(β - α), 0, 1); a step at β where α = β.

    YaRN paper, equation 18; llama3's low and high frequency factors are the same α and β.
    """
    xp = array_namespace(inv_freq)
    done = turns(inv_freq, length)
    if beta_fast == beta_slow:
        return xp.astype(done >= beta_fast, inv_freq.dtype)
    return xp.clip((done - beta_slow) / (beta_fast - beta_slow), 0.0, 1.0)


def pair_at_turns(count: float, rotary_dim: int, base: float, length: float) -> float:
    """The (fractional) pair that makes n = ``count`` turns in L: d·ln(L/2πn) / (2·ln b)."""
    return rotary_dim * math.log(length / (2 * math.pi * count)) / (2 * math.log(base))


def ramp_bounds(
    rotary_dim: int,
    base: float,
    length: float,
    beta_slow: float,
    beta_fast: float,
    *,
    rounded: bool,
) -> tuple[float, float]:
    """Pairs between which the ramp in the pair index runs, clamped as all code does.

    The upper clamp is d - 1, not the last pair d/2 - 1: transformers, vLLM and the authors agree.
    Clamping can cross the bounds: in a short window no pair turns ``beta_slow`` times and the upper
    bound falls below 0; in a very long one the lower bound passes d - 1.
    """
    low = pair_at_turns(beta_fast, rotary_dim, base, length)
    high = pair_at_turns(beta_slow, rotary_dim, base, length)
    if rounded:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, rotary_dim - 1)


def kept_by_pair_index(
    pairs: int, low: float, high: float, *, crossed_is_step: bool = False, xp: Any, device: Any
) -> Array:
    """Linear in the pair index: 1 - clip((i - low)/(high - low), 0, 1): (pairs,).

    Equal bounds would divide by zero; every implementation widens them by the same 0.001. Crossed
    bounds run the ramp backwards in transformers, vLLM and the authors' code; llama.cpp takes a
    width of at least 0.001, which makes a step at ``low`` of them (``crossed_is_step``).
    """
    width = high - low
    if width == 0 or (crossed_is_step and width < 0.001):
        width = 0.001
    index = xp.arange(pairs, dtype=xp.float64, device=device)
    return 1.0 - xp.clip((index - low) / width, 0.0, 1.0)
