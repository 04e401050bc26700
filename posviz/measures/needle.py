"""The weight of one matching key among many equal ones, as the context grows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import at_least
from posviz.measures.logit_factors import logit_gain
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, sentence
from posviz.results import frozen


@dataclass(frozen=True, kw_only=True)
class Needle:
    """Softmax weight of one needle against length.

    Attributes
    ----------
    lengths : (lengths,) tokens.
    weights : (lengths,) share of the attention that the needle gets, 0 … 1.
    margin : logit by which the needle stands out, before any factor of the method.
    """

    lengths: Floats
    weights: Floats
    margin: float


def needle_weight(
    spec: RotaryEncoding,
    *,
    lengths: ArrayLike,
    trained_length: int,
    weight_at_trained: float = 0.9,
) -> Needle:
    """e^(G·g) / (e^(G·g) + ℓ - 1) at each length ℓ, with G the method's gain at that length.

    The margin g is the one that gives ``weight_at_trained`` among trained_length - 1 equal keys
    without any factor: g = ln(w·(L - 1)/(1 - w)).

    Parameters
    ----------
    lengths : (lengths,) whole numbers of tokens, at least 1; the gain is asked for each of them, so
        a few dozen are meant.

    Raises
    ------
    ParameterError : a trained length below 2, where there is nothing to stand out from; a weight
        outside 0 … 1; a length that is no whole number of at least 1.
    """
    at_least("needle weight", "trained_length", trained_length, 2)
    if not 0 < weight_at_trained < 1:
        allowed = "a number above 0 and below 1"
        raise ParameterError(
            sentence("needle weight", "weight_at_trained", allowed, weight_at_trained)
        )
    at = [_whole_length(one) for one in np.asarray(lengths).tolist()]
    margin = math.log(weight_at_trained * (trained_length - 1) / (1 - weight_at_trained))
    gains = np.asarray([logit_gain(spec, length) for length in at], dtype=np.float64)
    tokens = np.asarray(at, dtype=np.float64)
    # Divided through by e^(G·g), which overflows for the large factors that a spec allows.
    weights = 1 / (1 + (tokens - 1) * np.exp(-gains * margin))
    return Needle(lengths=frozen(tokens), weights=frozen(weights), margin=margin)


def _whole_length(value: float) -> int:
    return at_least("needle weight", "lengths", int(value) if value // 1 == value else value, 1)
