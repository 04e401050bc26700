"""What a tensor of divisors stands for: llama.cpp divides pair i's frequency by its entry i."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_NEVER = 1e20
"""Conversion writes 1e30 for pairs that do not rotate (proportional RoPE)."""
_TOLERANCE = 1e-5
"""Divisors are float32, and conversion works wavelengths out in float32."""
LOW, HIGH = 1.0, 4.0
"""Llama 3.1's bands. They stand in no file: a window and its bands can be told only together."""


@dataclass(frozen=True)
class Bands:
    """The llama3 rule that gives these divisors."""

    factor: float
    original: int


def rotating_share(divisors: Sequence[float]) -> int | None:
    """Number of leading pairs that rotate when all others never turn; None for other divisors."""
    count = next((i for i, value in enumerate(divisors) if value >= _NEVER), None)
    if not count:
        return None
    ones = all(value == 1 for value in divisors[:count])
    return count if ones and all(value >= _NEVER for value in divisors[count:]) else None


def llama3_bands(divisors: Sequence[float], base: float) -> Bands | None:
    """Llama 3.1's rule when it gives these divisors, for some original window L.

    The factor s is the divisor of the slowest pairs. It holds beyond the wavelength L/1, 1 below
    L/4, and 1/((1 - g)/s + g) between them with g = (L/wavelength - 1)/(4 - 1): so each pair in
    between tells L.
    """
    factor = max(divisors)
    if not 1 < factor < _NEVER or base <= 0:
        return None
    between = [pair for pair, value in enumerate(divisors) if 1 < value < factor]
    for pair in between[len(between) // 2 :][:1]:
        original = _original(divisors[pair], factor, _wavelength(pair, len(divisors), base))
        expected = _llama3(len(divisors), base, factor, original)
        pairs = zip(divisors, expected, strict=True)
        if original and all(math.isclose(got, want, rel_tol=_TOLERANCE) for got, want in pairs):
            return Bands(factor, original)
    return None


@dataclass(frozen=True)
class Step:
    """The llama3 rule with equal factors that gives these divisors."""

    factor: float
    pair: int
    """The first pair that is divided."""
    wavelengths: tuple[float, float]
    """Of the last pair that is kept and the first that is divided: the window lies between."""
    original: int


def llama3_step(divisors: Sequence[float], base: float) -> Step | None:
    """1 up to some pair and one factor from there on: llama3's rule without a band to blend in.

    Every window between the two wavelengths gives the same divisors. A power of two is taken where
    there is one between them, else a multiple of 1024, else the number in the middle.
    """
    factor = max(divisors)
    pair = next((i for i, value in enumerate(divisors) if value != 1), 0)
    if not pair or not 1 < factor < _NEVER or base <= 1:
        return None
    if any(value != factor for value in divisors[pair:]):
        return None
    low, high = (_wavelength(each, len(divisors), base) for each in (pair - 1, pair))
    if not math.isfinite(high):
        return None
    middle = round(math.sqrt(low * high))
    candidates = (2 ** math.floor(math.log2(high)), 1024 * math.floor(high / 1024), middle)
    original = next((each for each in candidates if low < each < high), None)
    return None if original is None else Step(factor, pair, (low, high), original)


def _wavelength(pair: int, pairs: int, base: float) -> float:
    return 2 * math.pi * math.pow(base, pair / pairs)


def _original(divisor: float, factor: float, wavelength: float) -> int:
    blend = (1 / divisor - 1 / factor) / (1 - 1 / factor)
    exact = wavelength * (LOW + blend * (HIGH - LOW))
    if not math.isfinite(exact):
        return 0
    usual = 1024 * round(exact / 1024)  # float32 leaves a long window inexact by some tokens
    return usual if math.isclose(exact, usual, rel_tol=1e-4) else round(exact)


def _llama3(pairs: int, base: float, factor: float, original: int) -> list[float]:
    result = []
    for pair in range(pairs):
        turns = original / _wavelength(pair, pairs, base)
        blend = min(max((turns - LOW) / (HIGH - LOW), 0.0), 1.0)
        result.append(1 / ((1 - blend) / factor + blend))
    return result
