"""The arrays of a result by name, and the rows that a table prints of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posviz.parameters import ParameterError, closest
from posviz.results import (
    AttentionMask,
    AttentionTerms,
    PositionTable,
    Result,
    RotaryResult,
    ToeplitzBias,
)

Values = NDArray[Any]
_DERIVED = ("wavelengths", "angles", "cos", "sin", "matrix", "logits")
"""What results work out when they are asked, and may not have; large ones are not kept by all."""


def arrays_of(result: Result) -> dict[str, Values]:
    """Every array that the result holds, by its field; one of a named set as ``set.name``."""
    found: dict[str, Values] = {}
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        for name, part in parts:
            if hasattr(part, "__array__"):
                found[f"{field.name}.{name}".rstrip(".")] = np.asarray(part)
    if isinstance(result, RotaryResult):
        found["wavelengths"] = np.asarray(result.wavelengths)
    return found


def array_named(result: Result, name: str) -> Values:
    """One array by its name, also one that is only worked out on demand.

    Raises
    ------
    ParameterError : the result has none of that name; those that it has are listed.
    """
    held = arrays_of(result)
    derived = [each for each in _DERIVED if hasattr(result, each)]
    if name in held:
        return held[name]
    if name in derived:
        value = getattr(result, name)
        return np.asarray(value() if callable(value) else value)
    known = [*held, *(each for each in derived if each not in held)]
    raise ParameterError(
        f"There is no array {name!r:.40} in this result; {closest(name, known)}. "
        f"It has: {', '.join(known)}."
    )


@functools.singledispatch
def table_of(result: Result) -> dict[str, Values]:
    """The columns that stand for a result: name to (rows,). By default its positions."""
    return {"position": np.asarray(result.positions)}


@table_of.register
def _rotary(result: RotaryResult) -> dict[str, Values]:
    frequencies = np.asarray(result.inv_freq)
    pairs = np.arange(frequencies.shape[-1])
    return {"pair": pairs, "inv_freq": frequencies, "wavelength": np.asarray(result.wavelengths)}


@table_of.register
def _table(result: PositionTable) -> dict[str, Values]:
    vectors = np.asarray(result.vectors)
    return {"position": np.asarray(result.positions), **columns("dimension", vectors)}


@table_of.register
def _bias(result: ToeplitzBias) -> dict[str, Values]:
    by_head = np.asarray(result.by_distance).T
    return {"distance": np.asarray(result.distances), **columns("head", by_head, first=1)}


@table_of.register
def _mask(result: AttentionMask) -> dict[str, Values]:
    return {"distance": np.asarray(result.distances), "visible": np.asarray(result.visible)}


@table_of.register
def _terms(result: AttentionTerms) -> dict[str, Values]:
    logits = np.asarray(result.logits)
    return by_row(logits, ("head", "query")[-(logits.ndim - 1) :], "key")


def columns(name: str, values: Values, first: int = 0) -> dict[str, Values]:
    """The columns of a matrix (rows, columns), numbered from ``first``."""
    return {f"{name} {first + at}": values[:, at] for at in range(values.shape[1])}


def one_array(name: str, values: Values) -> dict[str, Values]:
    """The columns of one array: its index along every axis but the last, then its values."""
    if values.ndim <= 1:
        flat = np.atleast_1d(values)
        return {"index": np.arange(flat.shape[0]), name: flat}
    axes = tuple(f"axis {axis}" for axis in range(values.ndim - 1))
    return by_row(values, axes, name)


def by_row(values: Values, axes: Sequence[str], name: str) -> dict[str, Values]:
    """The rows along the last axis, each with its place along the named axes before it."""
    places = np.indices(values.shape[:-1]).reshape(len(axes), -1)
    rows = values.reshape(-1, values.shape[-1])
    return {**dict(zip(axes, places, strict=True)), **columns(name, rows)}


def rows_of(table: Mapping[str, Values]) -> Iterator[list[Any]]:
    """Rows of plain Python values."""
    # Adding 0 turns a negative zero, which only puzzles in a table, into a plain one.
    plain = [values + 0 if values.dtype.kind == "f" else values for values in table.values()]
    lists = [values.tolist() for values in plain]
    yield from (list(row) for row in zip(*lists, strict=True))
