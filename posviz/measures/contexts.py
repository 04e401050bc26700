"""Attention weights of the last query as the context grows: entropy, reach, needle, first token.

One pass over the distances serves all lengths whose rows begin alike; only methods that change with
the length (dynamic ones, a temperature, remapped distances) need a pass for each length. No array
has more than one number per token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike

from posviz.encodings.base import Encoding
from posviz.measures.content import Content, Hay, needle_logit
from posviz.measures.lengths import at_least
from posviz.measures.one_pass import Beginning, Pass, flat_pass, one_pass, with_needle
from posviz.measures.rows import head_in, logit_row, longest_row, rows_by_kind
from posviz.measures.running import BLOCK
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, is_finite_number, sentence
from posviz.results import Array, LogitRow, frozen

MOST = 0.99
"""Share of the weight that the reach holds."""


@dataclass(frozen=True, kw_only=True)
class ContextCurves:
    """The last query's attention against context length; every array is (lengths,).

    Attributes
    ----------
    lengths : tokens; those beyond what the encoding can give are left out.
    entropy : -Σ w ln w, nats; e^entropy is the number of keys that it amounts to.
    reach : how many of the nearest keys hold 99 % of the weight, tokens.
    half_reach : how many of the nearest keys hold half of it, tokens.
    first_weight : weight of the first token of the context.
    concentration : Σ w², what is left of the variance of independent values.
    needle : weight of the needle among these keys; where every key equals the query, none would
        stand out, so it is that among keys of logit 0.
    """

    lengths: Floats
    entropy: Floats
    reach: Floats
    half_reach: Floats
    first_weight: Floats
    concentration: Floats
    needle: Floats


@dataclass(frozen=True, kw_only=True)
class WeightProfile:
    """Softmax weights of the last query of one context, nearest key first.

    Attributes
    ----------
    weights : (length,) share of each key.
    logits : (length,) before the softmax; the needle's in its place.
    half_life : first distance at which the logit has fallen by ln 2 from that of distance 0, in
        tokens, between whole ones by a straight line; infinite where it never does.
    """

    weights: Floats
    logits: Floats
    half_life: float


def context_lengths(longest: int, most: int = 40, shortest: int = 8) -> np.ndarray:
    """At most ``most`` whole lengths up to ``longest``, evenly spaced on a log axis."""
    at_least("context lengths", "longest", longest, 1)
    at_least("context lengths", "most", most, 1)
    at_least("context lengths", "shortest", shortest, 1)
    first = min(shortest, longest)
    return np.unique(np.geomspace(first, longest, most).round().astype(np.int64))


def context_curves(
    spec: Encoding,
    lengths: ArrayLike,
    *,
    content: Content | None = None,
    head: int = 0,
    row: LogitRow | None = None,
) -> ContextCurves:
    """Entropy, reach, needle and first token of the last query, at each of some lengths.

    With z the row of logits (:func:`posviz.measures.logit_row`, plus the content's):
    H = ln Σe^z - Σ z e^z / Σe^z, and so on from the same sums.

    Parameters
    ----------
    lengths : (lengths,) whole numbers of tokens, at least 1, ascending.
    content : the model of the content; all keys alike by default.
    head : which head of a bias, from 0; the last one where it has fewer.
    row : the spec's row at the longest of the lengths, where the caller has it.

    Raises
    ------
    ParameterError : lengths that are no ascending whole numbers; an encoding without a row.
    """
    content = content or Content()
    wanted = _checked(lengths)
    longest_allowed = longest_row(spec)
    allowed = [length for length in wanted if length <= longest_allowed]
    found: dict[int, tuple[float, ...]] = {}
    for longest, members in rows_by_kind(spec, allowed):
        known = row if row is not None and row.length == longest.length else longest
        found.update(_through(known, members, content, head))
    table = np.array([found[length] for length in allowed]).reshape(len(allowed), 6)
    names = ("entropy", "reach", "half_reach", "first_weight", "concentration", "needle")
    columns = {name: frozen(np.ascontiguousarray(table[:, i])) for i, name in enumerate(names)}
    return ContextCurves(lengths=frozen(np.asarray(allowed, dtype=np.float64)), **columns)


def entropy(
    spec: Encoding, lengths: ArrayLike, *, content: Content | None = None, head: int = 0
) -> Floats:
    """Entropy of the last query's attention at each of some lengths: (lengths,) nats.

    Raises
    ------
    ParameterError : as :func:`context_curves`, and for a length beyond what the encoding can give.

    Examples
    --------
    >>> from posviz import parse
    >>> entropy(parse("alibi?heads=8"), [1024, 1048576]).round(4)
    array([1.7035, 1.7035])
    """
    longest = longest_row(spec)
    wanted = _checked(lengths)
    if wanted and wanted[-1] > longest:
        allowed = f"whole numbers of at most {longest} for this encoding"
        raise ParameterError(sentence(spec.title, "lengths", allowed, wanted[-1]))
    return context_curves(spec, wanted, content=content, head=head).entropy


def weight_profile(
    spec: Encoding,
    length: int,
    *,
    content: Content | None = None,
    head: int = 0,
    row: LogitRow | None = None,
) -> WeightProfile:
    """Weights of all keys for the last query of one context: :class:`WeightProfile`.

    ``row`` is the spec's row at this length, where the caller has it.
    """
    logits = content_logits(spec, length, content=content, head=head, row=row)
    weights = logits - logits.max()
    np.exp(weights, out=weights)
    weights /= weights.sum()
    return WeightProfile(
        weights=frozen(weights), logits=frozen(logits), half_life=half_life(logits)
    )


def content_logits(
    spec: Encoding,
    length: int,
    *,
    content: Content | None = None,
    head: int = 0,
    row: LogitRow | None = None,
) -> Floats:
    """Logits of all keys for the last query, minus infinity where one is not seen: (length,).

    The needle's stands in its place where the content has one.
    """
    content = content or Content()
    row = row or logit_row(spec, length)
    seen = row.keys_seen(length)
    hay = Hay(row, content, head_in(row, head))
    logits = np.full(length, -np.inf)
    for first in range(0, seen, BLOCK):
        end = min(first + BLOCK, seen)
        logits[first:end] = hay(first, end)
    if content.content == "needle":
        logits[content.needle_distance(length)] = needle_logit(row, content, head_in(row, head))
    return logits


def half_life(logits: Array) -> float:
    """First distance at which a row of logits has fallen by ln 2 from its first: tokens.

    Between whole distances the logit is taken as a straight line. ALiBi's slope m gives ln 2 / m.
    """
    xp = array_namespace(logits)
    below = xp.astype(logits <= logits[0] - math.log(2), xp.int8)
    place = int(xp.argmax(below))
    if not int(below[place]):
        return math.inf
    before, after = float(logits[place - 1]), float(logits[place])
    if math.isinf(after):
        return float(place)
    return place - 1 + (before - (float(logits[0]) - math.log(2))) / (before - after)


def whole_lengths(owner: str, lengths: ArrayLike) -> list[int]:
    """Lengths as whole numbers of at least 1; ParameterError for anything else."""
    given = np.asarray(lengths).ravel().tolist()
    whole = [
        int(one) if is_finite_number(one) and float(one).is_integer() else one for one in given
    ]
    return [at_least(owner, "lengths", one, 1) for one in whole]


def _checked(lengths: ArrayLike) -> list[int]:
    wanted = whole_lengths("context curves", lengths)
    if sorted(set(wanted)) != wanted:
        allowed = "whole numbers in ascending order"
        raise ParameterError(sentence("context curves", "lengths", allowed, wanted))
    return wanted


def _through(
    longest: LogitRow, members: Sequence[int], content: Content, head: int
) -> dict[int, tuple[float, ...]]:
    """All numbers of the lengths whose rows are beginnings of one row."""
    head = head_in(longest, head)
    seen = {length: longest.keys_seen(length) for length in members}
    # Where every key equals the query, the needle is looked for among keys of logit 0: a pass of
    # its own, which is over before the other begins, so that only one row is held at a time.
    is_same = content.content == "same"
    apart = _needles(longest, Content(), content, seen, head) if is_same else {}
    sums = _passed(longest, content, head, list(seen.values()))
    found: dict[int, tuple[float, ...]] = {}
    for length in members:
        hay = sums.at(seen[length])
        needle = hay if is_same else _with_needle(hay, longest, content, head, length)
        place = content.needle_distance(length)
        shown = needle if content.content == "needle" else hay
        found[length] = (
            shown.entropy,
            shown.reach(MOST),
            shown.reach(0.5),
            shown.weight(length - 1),
            shown.concentration,
            apart[length] if is_same else needle.weight(place),
        )
    return found


def _needles(
    row: LogitRow, around: Content, content: Content, seen: Mapping[int, int], head: int
) -> dict[int, float]:
    """Weight of the needle among the keys of another model of the content, per length."""
    hay, counts = Hay(row, around, head), list(seen.values())
    sums = Pass.flat(counts) if hay.is_flat else one_pass(hay, counts)
    return {
        length: _with_needle(sums.at(count), row, content, head, length).weight(
            content.needle_distance(length)
        )
        for length, count in seen.items()
    }


def _with_needle(
    hay: Beginning, row: LogitRow, content: Content, head: int, length: int
) -> Beginning:
    logit = needle_logit(row, content, head, length)
    return with_needle(hay, content.needle_distance(length), logit)


def _passed(row: LogitRow, content: Content, head: int, counts: Sequence[int]) -> Pass:
    """The sums over the keys that are no needle."""
    hay = Hay(row, content, head)
    return flat_pass(counts) if hay.is_flat else one_pass(hay, counts)
