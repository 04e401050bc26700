"""Whether two results are the same thing in another form."""

from __future__ import annotations

import numpy as np

from posviz.measures.likeness import (
    CLOSE,
    Relation,
    after_query,
    largest_gap,
    measured,
    not_comparable,
    refused,
)
from posviz.measures.rotation_equality import rotary_relation, same_columns
from posviz.results import (
    Array,
    AttentionBias,
    AttentionMask,
    AttentionTerms,
    PositionTable,
    Result,
    RotaryResult,
    Schedule,
    ToeplitzBias,
)


def relation(first: Result, second: Result) -> Relation:
    """The closest relation of two results in float64, within one part in 10^9."""
    if isinstance(first, PositionTable) and isinstance(second, PositionTable):
        return _tables(first, second)
    if isinstance(first, RotaryResult) and isinstance(second, RotaryResult):
        return rotary_relation(first, second)
    if isinstance(first, AttentionBias) and isinstance(second, AttentionBias):
        return _biases(first, second)
    if isinstance(first, AttentionTerms) and isinstance(second, AttentionTerms):
        return _terms(first, second)
    if isinstance(first, AttentionMask) and isinstance(second, AttentionMask):
        return _masks(first, second)
    if isinstance(first, Schedule) and isinstance(second, Schedule):
        if refusal := refused(first, second, "windows", (first.window.shape, second.window.shape)):
            return refusal
        return measured("windows", largest_gap(first.window, second.window), " tokens")
    return not_comparable("they give different kinds of things")


def _tables(first: PositionTable, second: PositionTable) -> Relation:
    a, b = first.vectors, second.vectors
    if refusal := refused(first, second, "tables", (a.shape, b.shape)):
        return refusal
    gap = largest_gap(a, b)
    if first.operation != second.operation:
        words = f"one is {first.operation}, the other {second.operation}"
        return Relation("different", f"they meet the input differently: {words}.")
    if not gap[1] and same_columns(a, b, lambda one, other: largest_gap(one, other)[1]):
        return Relation(
            "permutation",
            "they are equal after one permutation of the dimensions: a model with its weights "
            "permuted likewise computes the same.",
        )
    return measured("vectors", gap)


def _biases(first: AttentionBias, second: AttentionBias) -> Relation:
    sizes = [(one.heads, *(2 * one.positions.shape)) for one in (first, second)]
    if refusal := refused(first, second, "biases", (sizes[0], sizes[1])):
        return refusal
    if isinstance(first, ToeplitzBias) and isinstance(second, ToeplitzBias):
        # Every query sees distance 0, so one row over all distances stands for all queries.
        a, b = first.by_distance[:, None, :], second.by_distance[:, None, :]
        after = np.asarray(first.distances)[None, :] < 0
    else:
        a, b, after = first.matrix, second.matrix, after_query(first)
    found = _logits("biases", a, b, after, first, second)
    if found.kind != "different" and first.divides_logits != second.divides_logits:
        return Relation("different", "their biases agree, but only one divides q·k by √head_dim.")
    return found


def _terms(first: AttentionTerms, second: AttentionTerms) -> Relation:
    a, b = first.logits, second.logits
    if refusal := refused(first, second, "logits", (a.shape, b.shape)):
        return refusal
    found = _logits("logits", a, b, after_query(first), first, second)
    rows = (first.value_rows, second.value_rows), (first.value_index, second.value_index)
    if found.kind != "different" and not all(_same(*pair) for pair in rows):
        return Relation("different", "their logits agree, but they add other rows to the values.")
    return found


def _same(a: Array | None, b: Array | None) -> bool:
    """Whether two arrays that may be missing are the same."""
    if a is None or b is None:
        return a is b
    return np.shape(a) == np.shape(b) and largest_gap(a, b)[1]


def _logits(
    what: str,
    a: Array,
    b: Array,
    after: np.ndarray,
    first: AttentionBias | AttentionTerms,
    second: AttentionBias | AttentionTerms,
) -> Relation:
    """Two arrays (heads, queries, keys) that a softmax over the keys reads."""
    masks = (first.is_causal_only, second.is_causal_only)
    if any(masks):
        a, b = (np.where(after, np.nan, np.asarray(one)) for one in (a, b))
    tail = " for keys up to the query" if any(masks) else ""
    if masks[0] != masks[1]:
        tail = " under a causal mask, which only one of them needs"
    largest, close = largest_gap(a, b)
    if close:
        return Relation("equal", f"their {what} are equal at these positions{tail}.")
    if np.isfinite(largest):
        difference = np.asarray(a) - np.asarray(b)
        spread = np.nanmax(difference, axis=-1) - np.nanmin(difference, axis=-1)
        if float(spread.max()) <= CLOSE * max(float(np.nanmax(np.abs(one))) for one in (a, b)):
            return Relation(
                "shift",
                f"their {what} differ by one number per query, which the softmax drops: the "
                f"attention weights are equal{tail}.",
            )
    return measured(what, (largest, False))


def _masks(first: AttentionMask, second: AttentionMask) -> Relation:
    if refusal := refused(first, second, "masks", (first.visible.shape, second.visible.shape)):
        return refusal
    unlike = np.asarray(first.visible) != np.asarray(second.visible)
    if not unlike.any():
        return Relation("equal", "their masks are equal.")
    nearest = np.abs(np.asarray(first.distances)[unlike]).min()
    return Relation(
        "different",
        f"their masks differ at {int(unlike.sum())} of {unlike.size} distances, the nearest of "
        f"{nearest:g} tokens.",
    )
