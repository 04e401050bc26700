"""From beta_fast and beta_slow to the pairs between which the ramp runs, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posviz.encodings.ramps import kept_by_pair_index, pair_at_turns, ramp_bounds
from posviz.parameters import ParameterError, is_finite_number, sentence
from posviz.solver.given import (
    checked_base,
    checked_length,
    checked_rotary_dim,
    written,
)

_OWNER = "beta range"


@dataclass(frozen=True, kw_only=True)
class BetaRange:
    """The pairs at which a ramp starts and ends.

    Attributes
    ----------
    beta_fast, beta_slow : turns within the trained window.
    low, high : first and last pair of the ramp as the runtimes take them: rounded outward where
        asked, then clamped to 0 … d - 1.
    exact_low, exact_high : the pairs that make beta_fast and beta_slow turns, neither rounded nor
        clamped.
    kept, blended, divided : how many pairs keep their frequency, lie on the ramp, and are divided
        by the whole factor; bounds that cross are taken as transformers takes them.
    notes : sentences.
    """

    beta_fast: float
    beta_slow: float
    low: float
    high: float
    exact_low: float
    exact_high: float
    kept: int
    blended: int
    divided: int
    notes: tuple[str, ...] = ()


def beta_range(
    *,
    original: int,
    base: float,
    rotary_dim: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
) -> BetaRange:
    """The pair that makes n turns within L is i = d·ln(L/(2π·n)) / (2·ln b).

    jquesnelle/yarn 995db5b and all runtimes after it; YaRN, arXiv:2309.00071.

    Parameters
    ----------
    original : the window that the model was trained with; tokens.
    base, rotary_dim : of the model as trained.
    beta_fast, beta_slow : turns; beta_fast at least beta_slow.
    truncate : round the bounds outward to whole pairs.

    Raises
    ------
    ParameterError : a number that cannot be used, or beta_fast below beta_slow.

    Examples
    --------
    >>> found = beta_range(original=4096, base=10000, rotary_dim=128)
    >>> found.low, found.high, round(found.exact_low, 5), round(found.exact_high, 5)
    (20, 46, 20.94448, 45.02688)
    """
    window, b, d = _model(original, base, rotary_dim)
    fast = _beta("beta_fast", beta_fast)
    slow = _beta("beta_slow", beta_slow)
    if fast < slow:
        raise ParameterError(
            f"{_OWNER}: beta_fast must be at least beta_slow; got beta_fast {written(fast)} and "
            f"beta_slow {written(slow)}."
        )
    low, high = ramp_bounds(d, b, window, slow, fast, rounded=truncate)
    pairs = d // 2
    ramp = kept_by_pair_index(pairs, low, high, xp=np, device=None)
    kept, divided = int(np.count_nonzero(ramp == 1)), int(np.count_nonzero(ramp == 0))
    return BetaRange(
        beta_fast=fast,
        beta_slow=slow,
        low=low,
        high=high,
        exact_low=pair_at_turns(fast, d, b, window),
        exact_high=pair_at_turns(slow, d, b, window),
        kept=kept,
        blended=pairs - kept - divided,
        divided=divided,
        notes=tuple(_notes(low, high, pairs, window)),
    )


def betas_at(
    *, original: int, base: float, rotary_dim: int, low: float, high: float
) -> tuple[float, float]:
    """beta_fast and beta_slow whose ramp runs from pair ``low`` to pair ``high``, unrounded.

    n = L·b^(-2i/d) / 2π, the turns that a pair makes within the trained window. With ``truncate``
    the bounds are rounded outward again, so a whole pair stays what it is only up to rounding.

    Returns
    -------
    beta_fast, beta_slow : turns.

    Raises
    ------
    ParameterError : a pair outside 0 … d - 1, or low above high.

    Examples
    --------
    >>> fast, slow = betas_at(original=4096, base=10000, rotary_dim=128, low=20, high=46)
    >>> round(fast, 4), round(slow, 4)
    (36.659, 0.8693)
    """
    window, b, d = _model(original, base, rotary_dim)
    first, last = _pair("low", low, d), _pair("high", high, d)
    if first > last:
        raise ParameterError(
            f"{_OWNER}: low must be at most high; got low {written(first)} and high "
            f"{written(last)}."
        )
    fast, slow = (window * b ** (-2 * pair / d) / (2 * math.pi) for pair in (first, last))
    return fast, slow


def _model(original: int, base: float, rotary_dim: int) -> tuple[int, float, int]:
    return (
        checked_length(_OWNER, "original", original),
        checked_base(_OWNER, "base", base),
        checked_rotary_dim(_OWNER, rotary_dim),
    )


def _beta(name: str, value: float) -> float:
    """A number of turns, within what an encoding takes."""
    if not is_finite_number(value) or not 1e-6 <= value <= 1e6:
        allowed = "a number of at least 1e-06 and at most 1000000"
        raise ParameterError(sentence(_OWNER, name, allowed, value))
    return float(value)


def _pair(name: str, value: float, rotary_dim: int) -> float:
    if not is_finite_number(value) or not 0 <= value <= rotary_dim - 1:
        allowed = f"a pair from 0 to {rotary_dim - 1}"
        raise ParameterError(sentence(_OWNER, name, allowed, value))
    return float(value)


def _notes(low: float, high: float, pairs: int, window: int) -> list[str]:
    notes = []
    if low > high:
        notes.append(
            f"The bounds cross (low {written(low)}, high {written(high)}): transformers and vLLM "
            "run the ramp backwards, llama.cpp makes a step."
        )
    if high > pairs - 1:
        notes.append(f"The ramp ends beyond the last pair, {pairs - 1}: no pair is fully divided.")
    if window < 2 * math.pi:
        notes.append(f"Within {window} tokens no pair finishes a turn.")
    return notes
