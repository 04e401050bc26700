"""The row of logits of the last query of a context, for every encoding that has one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace, is_numpy_array, is_numpy_namespace

from posviz.encodings.base import PLAIN, Encoding
from posviz.measures.lengths import at_least
from posviz.measures.position_part import with_tokens_alike
from posviz.measures.similarity import features
from posviz.measures.split_angle import cos_mean, cos_mean_at
from posviz.measures.wave_sum import wave_sum, waves_at
from posviz.measures.weight_rows import position_logits
from posviz.parameters import ParameterError
from posviz.results import (
    Array,
    AttentionTerms,
    LogitRow,
    MatrixBias,
    PositionTable,
    Result,
    device_of,
    frozen,
)

LONGEST_CONTEXT = 1 << 22
"""Tokens; the longest context that anything here is meant for."""
_TRIED = 8
_SEEN_AT_ONCE = 1 << 18
"""Remapped distances at a time: 2 MB for each of the arrays on the way."""
_TABLE = "products p_m·p_n of the position vectors alone, projections left out"
_TERMS = "one query and one key, drawn once, the same for all tokens"


def logit_row(spec: Encoding, length: int, *, like: Array = PLAIN) -> LogitRow:
    """What the last query of ``length`` tokens makes of the keys before it.

    An encoding that is known by distance says so itself, at any length. Of the others the last row
    of all pairs is taken, up to the encoding's ``longest_read_off``: for vectors per position the
    products p_m·p_n over p_m·p_m (q and k made by identity projections); for terms of content, what
    is left where all tokens are alike.

    Raises
    ------
    ParameterError : a length below 1 or too long for the encoding; an encoding that says nothing
        about the logits of tokens in one row.
    """
    is_whole = isinstance(length, int | np.integer) and not isinstance(length, bool)
    # Asked first: it costs a fraction of the question how long a row may be.
    if is_whole and 1 <= length <= min(LONGEST_CONTEXT, spec.longest_row):
        row = spec.logit_row(int(length), like=like)
        if row is not None:
            return row
    if refusal := row_refusal(spec):
        raise ParameterError(refusal)
    return _read_off(spec, at_least(spec.title, "length", length, 1, longest_row(spec)))


def head_in(row: LogitRow, head: int) -> int:
    """The head of a row, the last one where it has fewer; ParameterError for what is no head."""
    return min(at_least("attention", "head", head, 0), row.heads - 1)


def scored(row: LogitRow) -> LogitRow:
    """The row with the score of equal content worked out at all its distances, for several uses."""
    if row.alike is not None or row.inv_freq is None:
        return row
    return replace(row, alike=frozen(alike(row, 0, row.length)))


def rows_by_kind(spec: Encoding, lengths: Sequence[int]) -> list[tuple[LogitRow, list[int]]]:
    """Lengths whose rows are beginnings of one row, each group with the row of its longest.

    ``lengths`` ascend. A row is asked for only where its kind is not plain: between two lengths of
    one kind every length has it, since a method changes with the length in one direction, if at
    all.
    """
    if lengths and spec.logit_row(1) is None and not row_refusal(spec):
        return [(row, [row.length]) for row in _read_off_all(spec, lengths)]
    rows: dict[int, LogitRow] = {}

    def row(place: int) -> LogitRow:
        if place not in rows:
            rows[place] = logit_row(spec, lengths[place])
        return rows[place]

    kinds: dict[int, Hashable] = {}
    open_ends = [(0, len(lengths) - 1)] if lengths else []
    while open_ends:
        low, high = open_ends.pop()
        kinds[low], kinds[high] = row(low).kind, row(high).kind
        if kinds[low] == kinds[high]:
            kinds.update(dict.fromkeys(range(low, high), kinds[low]))
        elif high - low > 1:
            middle = (low + high) // 2
            open_ends += [(low, middle), (middle, high)]
    groups: dict[Hashable, list[int]] = {}
    for place in range(len(lengths)):
        groups.setdefault(kinds[place], []).append(place)
    return [(row(places[-1]), [lengths[place] for place in places]) for places in groups.values()]


def longest_row(spec: Encoding) -> int:
    """The longest context whose last row this encoding can give here."""
    if spec.logit_row(1) is not None:
        return min(LONGEST_CONTEXT, spec.longest_row)
    return min(spec.longest_read_off, spec.most_positions)


def row_refusal(spec: Encoding) -> str:
    """Why an encoding has no row of logits; empty where it has one."""
    if spec.logit_row(1) is not None:
        return ""
    if lacking := spec.missing():
        return lacking
    if np.ndim(spec.example_positions(_TRIED)) > 1:
        return (
            f"{spec.title}: its positions stand on a grid, so that no single distance names a key."
        )
    if _numbers(_result(spec, _TRIED), _TRIED - 1) is None:
        return f"{spec.title}: it says nothing about the logits of queries and keys."
    return ""


def alike(row: LogitRow, start: int, count: int) -> Array | float:
    """c(δ), the score of equal content at δ = start … start+count-1: 1 at distance 0.

    The mean over pairs of e^(λ_i·δ)·cos(δ'·f_i); 1.0 where content is not rotated. With all
    dimensions of q and k alike it is q·k over its value at distance 0, rotated part only.
    """
    if row.alike is not None:
        return row.alike[start : start + count]
    if row.inv_freq is None:
        return 1.0
    frequencies = row.inv_freq
    xp = array_namespace(frequencies)
    if row.seen is None and row.log_kept is None and is_numpy_namespace(xp):
        return cos_mean(frequencies, count, start=float(start))
    pairs = frequencies.shape[0]
    if row.seen is None:
        return wave_sum(frequencies, count, start=float(start), log_kept=row.log_kept) / pairs
    return _of_seen(row, start, count)


def alike_at(row: LogitRow, distances: Array) -> Array | float:
    """The same at some distances, in whole tokens: (distances,)."""
    if row.alike is not None:
        return row.alike[distances]
    if row.inv_freq is None:
        return 1.0
    at = array_namespace(row.inv_freq).astype(distances, row.inv_freq.dtype)
    seen = at if row.seen is None else row.seen(at)
    return waves_at(seen, row.inv_freq, row.log_kept) / row.inv_freq.shape[0]


def bias_block(row: LogitRow, first: int, end: int) -> Array:
    """The bias of all heads at distances first … end-1: (heads, end - first)."""
    assert row.bias is not None
    if row.bias_waves is not None and is_numpy_array(row.bias_waves[0]):
        return np.asarray(row.bias_waves[1])[:, None] * _waves_less_their_number(row, first, end)
    return row.bias(_distances(row, first, end))


def head_bias(row: LogitRow, head: int, first: int, end: int) -> Array:
    """The bias of one head, the last one where there are fewer: (end - first,)."""
    if row.bias_waves is not None and is_numpy_array(row.bias_waves[0]):
        factor = float(row.bias_waves[1][head_in(row, head)])
        return factor * _waves_less_their_number(row, first, end)
    return row.bias_of(_distances(row, first, end), head_in(row, head))


def _waves_less_their_number(row: LogitRow, first: int, end: int) -> Array:
    """Σ (cos(δ·f) - 1)."""
    assert row.bias_waves is not None
    inv_freq = row.bias_waves[0]
    return inv_freq.size * (cos_mean(inv_freq, end - first, start=float(first)) - 1)


def like_of(row: LogitRow) -> Array:
    """An array of the kind, type and device that the numbers of a row have."""
    return PLAIN if row.inv_freq is None else row.inv_freq


def _distances(row: LogitRow, first: int, end: int) -> Array:
    """δ = first … end-1 of the kind of the row's own arrays."""
    like = like_of(row)
    return array_namespace(like).arange(first, end, dtype=like.dtype, device=device_of(like))


def _of_seen(row: LogitRow, start: int, count: int) -> Array:
    assert row.seen is not None
    assert row.inv_freq is not None
    xp = array_namespace(row.inv_freq)
    pairs = row.inv_freq.shape[0]
    parts = []
    for first in range(start, start + count, _SEEN_AT_ONCE):
        end = min(first + _SEEN_AT_ONCE, start + count)
        seen = row.seen(xp.arange(first, end, dtype=row.inv_freq.dtype))
        if is_numpy_namespace(xp):
            parts.append(cos_mean_at(seen, row.inv_freq))
        else:
            parts.append(waves_at(seen, row.inv_freq) / pairs)
    return xp.concat(parts)


def _result(spec: Encoding, length: int) -> Result:
    return with_tokens_alike(spec, np.arange(float(length)))


def _read_off(spec: Encoding, length: int) -> LogitRow:
    return _row_of_result(_result(spec, length), length)


def _read_off_all(spec: Encoding, lengths: Sequence[int]) -> list[LogitRow]:
    """A row for every length, from one matrix of all pairs where a shorter context is its corner.

    Whether it is, is tried at the shortest and a middle length: positions that are drawn anew, or
    shared out, for every length are not.
    """
    whole = _result(spec, at_least(spec.title, "length", lengths[-1], 1, longest_row(spec)))
    tried = {lengths[0], lengths[len(lengths) // 2]}
    own = {length: _read_off(spec, length) for length in tried}
    if all(_alike(own[length], _row_of_result(whole, length)) for length in tried):
        return [_row_of_result(whole, length) for length in lengths]
    return [own.get(length) or _read_off(spec, length) for length in lengths]


def _alike(first: LogitRow, second: LogitRow) -> bool:
    """Whether two rows that were read off hold the same numbers, up to rounding."""
    at = np.arange(first.length)
    if first.bias is not None and second.bias is not None:
        return bool(np.allclose(first.bias(at), second.bias(at), rtol=1e-12, atol=1e-12))
    return bool(
        np.allclose(np.asarray(first.alike), np.asarray(second.alike), rtol=1e-12, atol=1e-12)
    )


def _row_of_result(result: Result, length: int) -> LogitRow:
    """The row of the query at place length-1 of a result, the key nearest to it first."""
    numbers = _numbers(result, length - 1)
    assert numbers is not None
    rows = frozen(np.ascontiguousarray(numbers[:, ::-1]))
    if isinstance(result, AttentionTerms | MatrixBias):
        return LogitRow(
            length=length,
            heads=len(rows),
            bias=lambda distances: rows[:, np.asarray(distances, dtype=np.intp)],
            note=_TERMS if isinstance(result, AttentionTerms) else "",
            varies=True,
        )
    if not rows[0, 0]:
        raise ParameterError(
            f"the product of position {length - 1} with itself is 0, so that no score can be "
            "counted from it."
        )
    note = _TABLE if isinstance(result, PositionTable) else ""
    return LogitRow(length=length, alike=frozen(rows[0] / rows[0, 0]), note=note, varies=True)


def _numbers(result: Result, query: int) -> Array | None:
    """A query against all keys up to its own: (heads or 1, keys); None where there is none."""
    found = features(result)
    if found is not None:
        return found.queries[query : query + 1] @ found.keys[: query + 1].T
    keys = slice(0, query + 1)
    rows = [
        position_logits(result, head, slice(query, query + 1), keys)
        for head in range(_heads(result))
    ]
    return None if rows[0] is None else np.concatenate([row for row in rows if row is not None])


def _heads(result: Result) -> int:
    if isinstance(result, AttentionTerms):
        return int(next(iter(result.terms.values())).shape[0])
    return result.heads if isinstance(result, MatrixBias) else 1
