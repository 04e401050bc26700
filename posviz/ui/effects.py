"""Which controls change anything now: a control that changes nothing is not shown."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from posviz.catalog import link, parse
from posviz.encodings.base import Encoding
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import logit_row, longest_row
from posviz.parameters import Declaration, ParameterError
from posviz.results import Staircase

E = TypeVar("E", bound=Encoding)
_PROBES = 33


def inert(spec: RotaryEncoding, length: int) -> frozenset[str]:
    """Names of the spec's parameters whose every other value gives the same rotation."""
    return _inert(link(spec), length)


@functools.lru_cache(maxsize=512)
def _inert(text: str, length: int) -> frozenset[str]:
    spec = parse(text)
    assert isinstance(spec, RotaryEncoding)
    reference = _fingerprint(spec, length)
    return frozenset(
        declaration.name
        for declaration in spec.declarations()
        # A list came with a model and is shown, in force at this length or not.
        if declaration.kind != "list"
        and _changes_nothing(
            spec, declaration, lambda other: _fingerprint(other, length), reference
        )
    )


def inert_in_result(spec: Encoding, count: int) -> frozenset[str]:
    """Names of the spec's parameters whose every other value gives the same result.

    Looked for among at most 128 positions, since matrices are worked out for every alternative.
    """
    return _inert_in_result(link(spec), min(count, 128))


@functools.lru_cache(maxsize=512)
def _inert_in_result(text: str, count: int) -> frozenset[str]:
    spec = parse(text)
    reference = _print_of_result(spec, count)
    return frozenset(
        declaration.name
        for declaration in spec.declarations()
        if _changes_nothing(
            spec, declaration, lambda other: _print_of_result(other, count), reference
        )
    )


def inert_in_row(text: str, length: int, pairs_matter: bool) -> frozenset[str]:
    """Names of the parameters of a link whose every other value gives the same row of logits.

    ``pairs_matter`` says whether it counts which dimensions form a pair.
    """
    # Where a row is read off all pairs of positions, a few of them tell as much.
    spec = parse(text)
    short = length if spec.logit_row(1) is not None else min(length, 64)
    return _inert_in_row(text, short, pairs_matter)


@functools.lru_cache(maxsize=512)
def _inert_in_row(text: str, length: int, pairs_matter: bool) -> frozenset[str]:
    spec = parse(text)
    reference = _print_of_row(spec, length, pairs_matter)
    return frozenset(
        declaration.name
        for declaration in spec.declarations()
        if declaration.kind != "list"
        and _changes_nothing(
            spec, declaration, lambda other: _print_of_row(other, length, pairs_matter), reference
        )
    )


def _print_of_row(spec: Encoding, length: int, pairs_matter: bool) -> bytes:
    """Everything that a picture of the spec's rows up to a length can depend on, as bytes."""
    parts: list[bytes] = []
    for tokens in (min(8, length), length // 4 + 1, length):
        row = logit_row(spec, min(tokens, longest_row(spec)))
        numbers = (row.heads, row.rotary_share, row.rotary_gain, row.gain, row.window, row.head_dim)
        parts.append(repr(numbers).encode())
        at = np.unique(np.geomspace(1, row.length, _PROBES).round() - 1)
        for array in (row.inv_freq, row.log_kept, row.alike):
            parts.append(b"-" if array is None else np.asarray(array).tobytes())
        for known in (row.seen, row.bias):
            parts.append(b"-" if known is None else np.asarray(known(at)).tobytes())
        parts.append(row.layout.encode() if pairs_matter else b"")
    return hashlib.blake2b(b"|".join(parts)).digest()


def _changes_nothing(
    spec: E, declaration: Declaration, fingerprint: Callable[[E], bytes], reference: bytes
) -> bool:
    tried = 0
    for value in _alternatives(declaration, getattr(spec, declaration.name)):
        try:
            other = fingerprint(spec.with_values(**{declaration.name: value}))
        except ParameterError:
            continue  # forbidden next to the other values; another alternative may be allowed
        tried += 1
        if other != reference:
            return False
    return tried > 0


def _print_of_result(spec: Encoding, count: int) -> bytes:
    """Everything that a picture of the spec's result can depend on, as bytes."""
    result = spec.encode(spec.example_positions(count))
    parts: list[bytes] = []
    for field in fields(result):
        parts.append(field.name.encode())
        _add_print(parts, getattr(result, field.name))
    return hashlib.blake2b(b"|".join(parts)).digest()


def _add_print(parts: list[bytes], value: Any) -> None:
    if isinstance(value, np.ndarray):
        parts.append(repr(value.shape).encode() + value.tobytes())
    elif isinstance(value, Mapping):
        for name, part in value.items():
            parts.append(name.encode())
            _add_print(parts, part)
    elif isinstance(value, Staircase):
        _add_print(parts, value.distances)
        _add_print(parts, value.buckets)
    else:
        parts.append(repr(value).encode())


def _alternatives(declaration: Declaration, current: Any) -> Iterator[Any]:
    """Values that differ from the current one: all of them where they are few."""
    if declaration.kind == "switch":
        yield not current
    elif declaration.kind == "choice":
        yield from (choice for choice in declaration.choices if choice != current)
    elif declaration.kind == "text":
        yield current[::-1]
        yield f"a {current}"[: declaration.longest]
    elif declaration.kind == "list":
        yield (*(current or ()), 1.0)
        yield tuple(reversed(current or ()))
    elif declaration.parameter.slider is not None:
        low, high = declaration.parameter.slider
        for value in (low, (low + high) / 2, high):
            typed = int(value) if declaration.kind == "integer" else float(value)
            if typed != current:
                yield typed


def _fingerprint(spec: RotaryEncoding, length: int) -> bytes:
    """Everything that a picture of the spec can depend on, as bytes."""
    last = np.full(_PROBES, length - 1.0)
    keys = last - np.linspace(0, length - 1, _PROBES).round()
    scale = spec.query_scale(last, length)
    parts = [
        spec.trained_frequencies(),
        spec.frequencies(length),
        np.array([spec.magnitude(length), spec.softmax_magnitude(length)]),
        spec.relative_distance(last, keys),
        np.ones(1) if scale is None else np.asarray(scale),
    ]
    return b"".join(np.ascontiguousarray(part, dtype=float).tobytes() for part in parts)
