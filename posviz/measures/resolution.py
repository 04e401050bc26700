"""Attention resolution: how sharply the weights of the last query tell neighbours apart."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike

from posviz.encodings.base import Encoding
from posviz.measures.content import Content
from posviz.measures.contexts import weight_profile
from posviz.measures.lengths import at_least
from posviz.measures.rows import logit_row, longest_row
from posviz.measures.running import running_softmax
from posviz.measures.split_angle import Floats
from posviz.results import Array, frozen


@dataclass(frozen=True, kw_only=True)
class ResolutionCurve:
    """Attention resolution against context length; every array is (lengths,).

    Attributes
    ----------
    lengths : tokens; those beyond what the encoding can give are left out.
    resolution : Σ w_i (w_i - w_{i+1}), between 0 and 1, without unit.
    """

    lengths: Floats
    resolution: Floats


def attention_resolution(logits: Array) -> Array:
    """R = Σ_i e^(s_i)·(e^(s_i) - e^(s_(i+1))) / (Σ_i e^(s_i))², for every beginning of a row.

    The last key of a context has its farther neighbour outside of it, which is not seen: its weight
    counts as 0. So t equal keys have 1/t², one key has 1, and no row has less than 0:
    R = (w_first² + w_last² + Σ (w_i - w_(i+1))²)/2, which is how it is worked out, since that is a
    sum of positive numbers and loses no digits where neighbours are nearly alike.

    Time and memory are linear in the number of keys. Accuracy is that of
    :func:`posviz.measures.running_softmax`, relative to R, and four roundings of the logits and of
    ln Σe^s.

    Parameters
    ----------
    logits : (keys,) finite, the key nearest to the query first.

    Returns
    -------
    (keys,) resolution of the first 1, 2, … keys.

    Raises
    ------
    ParameterError : a row that is empty or has a logit that is not finite.

    Source: Sun et al. (2022), arXiv:2212.10554, section 3 (attention resolution).

    Examples
    --------
    >>> import numpy as np
    >>> attention_resolution(np.zeros(4)).round(4)
    array([1.    , 0.25  , 0.1111, 0.0625])
    """
    xp = array_namespace(logits)
    log_total = running_softmax(logits).log_total
    ends = xp.exp(2 * (logits[0] - log_total)) + xp.exp(2 * (logits - log_total))
    if logits.shape[0] == 1:
        return ends / 2
    larger = xp.where(logits[1:] > logits[:-1], logits[1:], logits[:-1])
    gap = xp.abs(logits[1:] - logits[:-1])
    # Equal neighbours differ by nothing, whose logarithm is not finite; the square of this is 0.
    nothing = xp.full_like(gap, float(xp.finfo(gap.dtype).smallest_normal))
    apart = -xp.expm1(-gap)
    log_step = 2 * (larger + xp.log(xp.where(apart > nothing, apart, nothing)))
    steps = xp.exp(running_softmax(log_step).log_total - 2 * log_total[1:])
    return (ends + xp.concat((xp.zeros_like(ends[:1]), steps))) / 2


def resolution_curve(
    spec: Encoding, lengths: ArrayLike, *, content: Content | None = None, head: int = 0
) -> ResolutionCurve:
    """Attention resolution of the last query, at each of some lengths.

    One pass over the distances serves all lengths whose rows begin alike; a needle lies elsewhere
    in every context, so that each length then needs its own. Keys beyond a window do not count.

    Parameters
    ----------
    lengths : (lengths,) whole numbers of tokens, at least 1.
    content : the model of the content; all keys alike by default.
    head : which head of a bias, from 0; the last one where it has fewer.

    Raises
    ------
    ParameterError : a length that is no whole number of at least 1; an encoding without a row.
    """
    content = content or Content()
    wanted = [_whole_length(one) for one in np.asarray(lengths).ravel().tolist()]
    longest_allowed = longest_row(spec)
    allowed = [length for length in wanted if length <= longest_allowed]
    groups: dict[Hashable, list[int]] = {}
    for length in allowed:
        is_alone = content.content == "needle"
        kind = length if is_alone else logit_row(spec, length).kind
        groups.setdefault(kind, []).append(length)
    found: dict[int, float] = {}
    for members in groups.values():
        logits = weight_profile(spec, max(members), content=content, head=head).logits
        resolution = attention_resolution(logits[np.isfinite(logits)])
        found |= {one: float(resolution[min(one, len(resolution)) - 1]) for one in members}
    return ResolutionCurve(
        lengths=frozen(np.asarray(allowed, dtype=np.float64)),
        resolution=frozen(np.asarray([found[length] for length in allowed], dtype=np.float64)),
    )


def _whole_length(value: float) -> int:
    whole = int(value) if value % 1 == 0 else value
    return at_least("attention resolution", "lengths", whole, 1)
