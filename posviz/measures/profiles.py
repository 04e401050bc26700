"""How far two specs, usually two profiles of one method, are apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import at_least
from posviz.measures.logit_factors import logit_gain
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError
from posviz.results import frozen


@dataclass(frozen=True, kw_only=True)
class ProfileDifference:
    """Frequencies and factors of spec a against spec b. Arrays are (pairs,).

    Attributes
    ----------
    pairs : index of the pair.
    signed : f_a/f_b - 1; 0 where neither rotates, infinite where only a does.
    relative : its size, \\|f_a/f_b - 1\\|.
    largest, largest_pair : the largest size, and the first pair that has it.
    magnitude_a, magnitude_b : factor on cos and sin.
    gain_a, gain_b : the whole gain of the logits at the last position.
    """

    pairs: NDArray[np.int64]
    signed: Floats
    relative: Floats
    largest: float
    largest_pair: int
    magnitude_a: float
    magnitude_b: float
    gain_a: float
    gain_b: float


def profile_difference(
    spec_a: RotaryEncoding, spec_b: RotaryEncoding, *, length: int
) -> ProfileDifference:
    """Relative difference of the frequencies of two specs at one length.

    Raises
    ------
    ParameterError : the specs do not have the same number of pairs.
    """
    at_least("profile difference", "length", length, 1)
    a, b = np.asarray(spec_a.frequencies(length)), np.asarray(spec_b.frequencies(length))
    if a.shape != b.shape:
        raise ParameterError(
            "profile difference: both specs must have the same number of pairs; "
            f"got {a.size} in {spec_a.title} and {b.size} in {spec_b.title}."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        signed = np.where(a == b, 0.0, a / b - 1)
    relative = np.abs(signed)
    largest_pair = int(np.argmax(relative))
    return ProfileDifference(
        pairs=frozen(np.arange(a.size)),
        signed=frozen(signed),
        relative=frozen(relative),
        largest=float(relative[largest_pair]),
        largest_pair=largest_pair,
        magnitude_a=float(spec_a.magnitude(length)),
        magnitude_b=float(spec_b.magnitude(length)),
        gain_a=logit_gain(spec_a, length),
        gain_b=logit_gain(spec_b, length),
    )
