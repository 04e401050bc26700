"""Methods that follow the length: at which other lengths two of them must be compared too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import temperature

LONGEST_OTHER = 1 << 20
"""Tokens; the search for the first distance then takes a fraction of a second."""


def other_lengths(spec_a: RotaryEncoding, spec_b: RotaryEncoding, length: int) -> tuple[int, ...]:
    """The trained and the extended length, as far as a method rotates otherwise there than at
    ``length``; none where both have one rotation for all lengths, or are the same."""
    if spec_a == spec_b:
        return ()
    trained = [each for spec in (spec_a, spec_b) if (each := _trained(spec)) is not None]
    extended = [each for spec in (spec_a, spec_b) if (each := _extended(spec)) is not None]
    if not trained or not extended:
        return ()
    wanted = dict.fromkeys((min(trained), max(extended)))
    return tuple(
        each
        for each in wanted
        if each != length
        and 1 <= each <= max(length, LONGEST_OTHER)
        and any(_differs(spec, each, length) for spec in (spec_a, spec_b))
    )


def length_notes(
    spec_a: RotaryEncoding, spec_b: RotaryEncoding, length: int, others: tuple[int, ...]
) -> Iterator[str]:
    """What a method that follows the length does at each of the lengths compared."""
    for side, spec in (("A", spec_a), ("B", spec_b)):
        if any(_differs(spec, each, length) for each in others):
            told = [f"at {each:,} tokens {_state(spec, each)}" for each in (length, *others)]
            yield (
                f"The rotation of {side} follows the length ({spec.title}): {', '.join(told)}. So "
                "the two are compared at each of these lengths."
            )


def _trained(spec: Any) -> int | None:
    found: int | None = getattr(spec, "original_max_position_embeddings", None)
    return found


def _extended(spec: Any) -> int | None:
    trained = _trained(spec)
    if trained is None or spec.id == "longrope":
        found: int | None = getattr(spec, "max_position_embeddings", None)
        return found
    return round(trained * float(getattr(spec, "scaling_factor", 1.0)))


def _differs(spec: RotaryEncoding, one: int, other: int) -> bool:
    gains = [temperature(spec, length=length).gain for length in (one, other)]
    same = np.array_equal(spec.frequencies(one), spec.frequencies(other))
    return gains[0] != gains[1] or not same


def _state(spec: Any, length: int) -> str:
    if spec.id == "longrope":
        return f"by its {'long' if spec.is_long_at(length) else 'short'} list"
    plain = np.array_equal(spec.frequencies(length), spec.trained_frequencies())
    return "as trained" if plain else "extended"
