"""How far RoPE turns a vector from one position to the next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

from posviz.parameters import ParameterError, sentence
from posviz.results import Array


def neighbour_granularity(inv_freq: Any) -> float:
    """mean over i of sin f_i: the sine similarity of a vector at two neighbouring positions.

    Im⟨R_(n+1)x, R_n x⟩ / |x|² of Xiong et al., arXiv:2309.16039, appendix B, for a vector whose
    dimensions all have the same size. A vector with other sizes has its own weights in the mean.
    For 64 pairs and base 10000 it is 0.0290 with positions divided by 4 and 0.0788 with the base
    raised 50 times; the 0.027 and 0.076 of the paper are :func:`limit_granularity`.

    Parameters
    ----------
    inv_freq : (pairs,) radians per token; NumPy, torch or plain numbers.

    Returns
    -------
    Mean sine, without unit; 0 where neighbours cannot be told apart.

    Raises
    ------
    ParameterError : inv_freq that is not one row with at least one frequency.
    """
    frequencies = frequency_row("neighbour granularity", inv_freq)
    xp = array_namespace(frequencies)
    return float(xp.mean(xp.sin(frequencies)))


def limit_granularity(base: float, *, scaling_factor: float = 1.0) -> float:
    """1 / (s · ln b): what the paper prints for the granularity.

    Xiong et al., arXiv:2309.16039, theorem 1: 0.027 for PI (b = 10000, s = 4) and 0.076 for a base
    raised 50 times (b = 500000, s = 1). It is the limit of the mean angle, mean over i of f_i / s,
    for ever more pairs, where 1 - 1/b is taken as 1 and sin f as f; a head of D dimensions has a
    mean angle larger by about 1/(s·D). The sums of the paper's proof lack the factor 2/D that
    makes them means: without it they grow with D and have no limit.

    Parameters
    ----------
    base : above 1.
    scaling_factor : what positions are divided by; above 0.

    Raises
    ------
    ParameterError : a base not above 1, or a scaling_factor not above 0.
    """
    if not (math.isfinite(base) and base > 1):
        raise ParameterError(sentence("granularity", "base", "a finite number above 1", base))
    if not (math.isfinite(scaling_factor) and scaling_factor > 0):
        allowed = "a finite number above 0"
        raise ParameterError(sentence("granularity", "scaling_factor", allowed, scaling_factor))
    return 1 / (scaling_factor * math.log(base))


def adjacent_similarity(inv_freq: Any, step: float = 1.0) -> float:
    """mean over i of cos(step · f_i): the cosine similarity of a vector ``step`` tokens apart.

    The cosine beside the sine of :func:`neighbour_granularity`, again for a vector whose dimensions
    all have the same size.

    Parameters
    ----------
    inv_freq : (pairs,) radians per token; NumPy, torch or plain numbers.
    step : tokens, whole or not.

    Returns
    -------
    Mean cosine, without unit; 1 where the two positions cannot be told apart.

    Raises
    ------
    ParameterError : inv_freq that is not one row with at least one frequency.
    """
    frequencies = frequency_row("adjacent similarity", inv_freq)
    xp = array_namespace(frequencies)
    return float(xp.mean(xp.cos(step * frequencies)))


def frequency_row(owner: str, inv_freq: Any) -> Array:
    """(pairs,) float64, of the same kind of array; plain numbers become NumPy."""
    array = inv_freq if is_array_api_obj(inv_freq) else np.asarray(inv_freq, dtype=np.float64)
    if array.ndim != 1 or array.shape[0] == 0:
        allowed = "one row with at least one frequency"
        shape = tuple(array.shape)
        raise ParameterError(f"{owner}: inv_freq must be {allowed}; got the shape {shape}.")
    xp = array_namespace(array)
    if not bool(xp.all(xp.isfinite(array))):
        raise ParameterError(f"{owner}: inv_freq must be finite numbers; got NaN or infinity.")
    return xp.astype(array, xp.float64)
