"""One rotating pair at one position: the hand of a clock, with and without the method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import BEYOND, at_least
from posviz.parameters import ParameterError, is_finite_number, sentence

_FULL_TURN = 2 * math.pi


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The hand of one pair; angles in radians, 0 … 2π, counter-clockwise from the x axis.

    Attributes
    ----------
    pair, position : which hand, and where the token stands.
    distance : tokens from position 0 as the rotation sees them; the position itself unless the
        method remaps distances.
    inv_freq : radians per token with the method.
    angle, turns, x, y : of the hand with the method; turns count whole rounds too; x and y lie on
        the unit circle.
    unscaled_angle, unscaled_turns, unscaled_x, unscaled_y : the same without the method.
    trained_turns : turns of the trained frequency within the trained window.
    trained_arc : share of the circle that training covered, min(1, trained_turns).
    outside : the hand stands where training never brought it, beyond the trained arc. A hand that
        goes around once more crosses that arc again.
    """

    pair: int
    position: float
    distance: float
    inv_freq: float
    angle: float
    turns: float
    x: float
    y: float
    unscaled_angle: float
    unscaled_turns: float
    unscaled_x: float
    unscaled_y: float
    trained_turns: float
    trained_arc: float
    outside: bool


def clock(
    spec: RotaryEncoding, *, pair: int, position: float, length: int, trained_length: int
) -> Clock:
    """The hand of ``pair`` for a token at ``position``, seen from position 0.

    Raises
    ------
    ParameterError : a pair that the spec does not have, a position below 0 or not finite, a length
        or trained length below 1.
    """
    at_least("rotating pair", "length", length, 1)
    at_least("rotating pair", "trained_length", trained_length, 1)
    frequencies, trained = spec.frequencies(length), spec.trained_frequencies()
    at_least("rotating pair", "pair", pair, 0, frequencies.shape[0] - 1)
    if not is_finite_number(position) or position < 0:
        raise ParameterError(
            sentence("rotating pair", "position", "a number of at least 0", position)
        )
    frequency, trained_frequency = float(frequencies[pair]), float(trained[pair])
    distance = float(spec.relative_distance(np.asarray([float(position)]), np.zeros(1))[0])
    angle, x, y = _hand(distance * frequency)
    unscaled_angle, unscaled_x, unscaled_y = _hand(position * trained_frequency)
    turned = distance * frequency / _FULL_TURN
    trained_turns = trained_length * trained_frequency / _FULL_TURN
    return Clock(
        pair=pair,
        position=float(position),
        distance=distance,
        inv_freq=frequency,
        angle=angle,
        turns=turned,
        x=x,
        y=y,
        unscaled_angle=unscaled_angle,
        unscaled_turns=position * trained_frequency / _FULL_TURN,
        unscaled_x=unscaled_x,
        unscaled_y=unscaled_y,
        trained_turns=trained_turns,
        trained_arc=min(1.0, trained_turns),
        outside=turned % 1.0 > trained_turns * (1 + BEYOND),
    )


def _hand(radians: float) -> tuple[float, float, float]:
    """Angle in 0 … 2π, x, y. Through atan2: arccos would fold 286° onto 74°."""
    x, y = math.cos(radians), math.sin(radians)
    return math.atan2(y, x) % _FULL_TURN, x, y
