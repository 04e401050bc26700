"""Checks of the numbers that a person gives, and how numbers are written into sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from posviz.parameters import ParameterError, is_finite_number, sentence

LONGEST = 1 << 40
"""Tokens; the largest window that an encoding takes."""
LARGEST_BASE = 1e15
"""The largest base that an encoding takes."""
LARGEST_FACTOR = 1e6
"""The largest factor that an encoding takes."""


def number_above(owner: str, name: str, value: Any, lowest: float = 0.0) -> float:
    """The value as a float; ParameterError when it is no finite number above ``lowest``."""
    number = plain_number(value)
    if not is_finite_number(number) or number <= lowest:
        allowed = f"a finite number above {lowest:g}"
        raise ParameterError(sentence(owner, name, allowed, value))
    return float(number)


def checked_base(owner: str, name: str, value: Any) -> float:
    """A base of RoPE: above 1, at most 1e15."""
    number = plain_number(value)
    if not is_finite_number(number) or not 1 < number <= LARGEST_BASE:
        allowed = f"a number above 1 and at most {LARGEST_BASE:g}"
        raise ParameterError(sentence(owner, name, allowed, value))
    return float(number)


def checked_factor(owner: str, name: str, value: Any) -> float:
    """A factor: above 0, at most 1e6."""
    factor = number_above(owner, name, value)
    if factor > LARGEST_FACTOR:
        raise ParameterError(sentence(owner, name, f"at most {LARGEST_FACTOR:g}", factor))
    return factor


def checked_length(owner: str, name: str, value: Any) -> int:
    """A number of tokens: whole, at least 1, at most 2^40; 4096.0 counts as whole."""
    number = plain_number(value)
    whole = is_finite_number(number) and number == int(number)
    if not whole or not 1 <= number <= LONGEST:
        allowed = f"a whole number of at least 1 and at most {LONGEST}"
        raise ParameterError(sentence(owner, name, allowed, value))
    return int(number)


def checked_rotary_dim(owner: str, value: Any) -> int:
    """An even whole number of at least 4: with one pair the exponent d/(d-2) has no value."""
    number = plain_number(value)
    whole = is_finite_number(number) and number == int(number)
    if not whole or number < 4 or number % 2 or number > 8192:
        allowed = "an even whole number of at least 4 and at most 8192"
        raise ParameterError(sentence(owner, "rotary_dim", allowed, value))
    return int(number)


def plain_number(value: Any) -> Any:
    """NumPy's numbers as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def written(value: float) -> str:
    """A number inside a sentence or a formula: at most ten digits, no trailing zeros."""
    return f"{value:.10g}"


def listed(words: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
