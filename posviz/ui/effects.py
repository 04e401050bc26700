"""Which controls change anything now: a control that changes nothing is not shown."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from posviz.catalog import link, parse
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import Declaration, ParameterError

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
        if _changes_nothing(spec, declaration, length, reference)
    )


def _changes_nothing(
    spec: RotaryEncoding, declaration: Declaration, length: int, reference: bytes
) -> bool:
    tried = 0
    for value in _alternatives(declaration, getattr(spec, declaration.name)):
        try:
            other = spec.with_values(**{declaration.name: value})
        except ParameterError:
            continue  # forbidden next to the other values; another alternative may be allowed
        tried += 1
        if _fingerprint(other, length) != reference:
            return False
    return tried > 0


def _alternatives(declaration: Declaration, current: Any) -> Iterator[Any]:
    """Values that differ from the current one: all of them where they are few."""
    if declaration.kind == "switch":
        yield not current
    elif declaration.kind == "choice":
        yield from (choice for choice in declaration.choices if choice != current)
    elif declaration.kind != "list" and declaration.parameter.slider is not None:
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
