"""The published formulas, written out here and nowhere taken from the package.

f_i = b^(-2i/d) with d the rotary dimension, L0 the window before any extension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def ladder(base: float, dim: int) -> list[float]:
    return [base ** (-2 * pair / dim) for pair in range(dim // 2)]


def slowest(base: float, dim: int) -> float:
    """Wavelength of the last pair, tokens."""
    return 2 * math.pi * base ** ((dim - 2) / dim)


def raised(base: float, alpha: float, dim: int) -> float:
    """NTK-aware: b·alpha^(d/(d-2))."""
    return float(base * alpha ** (dim / (dim - 2)))


def dynamic_alpha(factor: float, length: int, window: int) -> float:
    """transformers: s·L/L0 - (s - 1) beyond the window, 1 within it."""
    return factor * length / window - (factor - 1) if length > window else 1.0


def crossing(turns: float, base: float, dim: int, original: int) -> float:
    """The pair that makes so many turns in the window: d·ln(L0/(2π·n)) / (2·ln b)."""
    return dim * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))


def bounds(
    base: float, dim: int, original: int, fast: float = 32, slow: float = 1
) -> tuple[int, int]:
    """First and last pair of YaRN's ramp, rounded, clipped to 0 … d - 1."""
    low = max(math.floor(crossing(fast, base, dim, original)), 0)
    high = min(math.ceil(crossing(slow, base, dim, original)), dim - 1)
    return low, high


def yarn(base: float, dim: int, factor: float, ramp: tuple[float, float]) -> list[float]:
    low, high = ramp
    shares = [min(max((pair - low) / (high - low), 0), 1) for pair in range(dim // 2)]
    pairs = zip(ladder(base, dim), shares, strict=True)
    return [f * ((1 - share) + share / factor) for f, share in pairs]


def magnitude(factor: float, weight: float = 1.0) -> float:
    """0.1·k·ln s + 1."""
    return 0.1 * weight * math.log(factor) + 1


def llama3(
    base: float, dim: int, factor: float, low: float, high: float, original: int
) -> list[float]:
    found = []
    for f in ladder(base, dim):
        wavelength = 2 * math.pi / f
        if wavelength < original / high:
            found.append(f)
        elif wavelength > original / low:
            found.append(f / factor)
        else:
            share = (original / wavelength - low) / (high - low)
            found.append((1 - share) * f / factor + share * f)
    return found


def longrope(base: float, dim: int, factors: Sequence[float]) -> list[float]:
    return [f / divisor for f, divisor in zip(ladder(base, dim), factors, strict=True)]


def longrope_magnitude(factor: float, original: int) -> float:
    """√(1 + ln s / ln L0)."""
    return math.sqrt(1 + math.log(factor) / math.log(original))


def slopes(heads: int, largest: float = 8.0) -> list[float]:
    """ALiBi: the next lower power of two, then every second slope of its double."""
    power = 2 ** int(math.log2(heads))
    first = [2 ** (-largest * head / power) for head in range(1, power + 1)]
    second = [2 ** (-largest * head / (2 * power)) for head in range(1, 2 * power + 1)]
    return first + second[::2][: heads - power]
