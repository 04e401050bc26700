"""Two configurations side by side: which numbers differ, and by how much the rotations do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from posviz.configs.comparison_layers import LayerComparison, compare_layers
from posviz.configs.comparison_pairs import layer_pairs, rotary_spec
from posviz.configs.comparison_rows import ComparedNumber, compared_numbers
from posviz.configs.errors import ConfigError
from posviz.configs.model import Layer, Model
from posviz.configs.reader import read
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import ParameterError, shortened

LONGEST_COMPARISON = 1 << 22
"""Tokens; with 64 pairs the search for the first distance takes a second or two at most."""

Given: TypeAlias = Model | Mapping[str, Any] | str | bytes | Path

_BESIDE_THE_ROTATION = ("PV172", "PV173")
"""Messages about what a model does to positions beside the rotation that is compared."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What :func:`compare` gives: a measurement, without a judgement.

    Attributes
    ----------
    rows : every resolved number of either, those that differ first.
    layers : one entry per layer type that both can be compared in.
    length : tokens that both run at; None where no window and no length is known.
    notes : sentences about what could not be compared, or is not in these numbers.
    """

    rows: tuple[ComparedNumber, ...]
    layers: tuple[LayerComparison, ...]
    length: int | None
    notes: tuple[str, ...]

    @property
    def differing(self) -> tuple[ComparedNumber, ...]:
        """The rows that differ."""
        return tuple(row for row in self.rows if row.differs)

    def layer(self, layer_type: str | None = None) -> LayerComparison:
        """One layer type by name, or the first one.

        Raises
        ------
        ConfigError : it was not compared; the notes say why.
        """
        for each in self.layers:
            if layer_type in (None, each.layer_type):
                return each
        name = "" if layer_type is None else f" {shortened(layer_type)}"
        raise ConfigError(" ".join([f"The comparison has no layer type{name}.", *self.notes]))

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values; a number that JSON does not have becomes text."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain


def compare(
    a: Given, b: Given, *, layer_type: str | None = None, length: int | None = None
) -> Comparison:
    """Compare configuration B with configuration A, number by number and rotation by rotation.

    Differences are relative to A: \\|f_b - f_a\\| / f_a for frequencies, and 1 % of A's score at
    distance 0 for the first distance at which scores of equal q and k differ; see
    :class:`LayerComparison` for the exact definitions.

    Parameters
    ----------
    a, b : anything that :func:`posviz.configs.read` takes, or a Model.
    layer_type : only this layer type; all of them by default.
    length : tokens that both run at, 1 … 4,194,304. By default the larger of the two windows, and
        4,194,304 where that is larger still, which a note then says. A method that follows the
        length is compared at its trained and its extended length as well.

    Raises
    ------
    ConfigError : A or B cannot be read, neither has the layer type, or the length is not allowed.

    Examples
    --------
    >>> from posviz import configs
    >>> a = {"head_dim": 128, "max_position_embeddings": 16384, "rope_theta": 1e6}
    >>> found = configs.compare(a, {**a, "rope_theta": 1e4})
    >>> [row.name for row in found.differing]
    ['base']
    >>> found.layer().angles(32, 1000)
    (1.0, 10.0)
    """
    model_a, model_b = _model(a, "A"), _model(b, "B")
    notes: list[str] = list(_beside(model_a, model_b))
    size = _length(model_a, model_b, length, notes)
    layers = _layers(model_a, model_b, layer_type, size, notes)
    return Comparison(
        rows=compared_numbers(model_a, model_b, layer_type),
        layers=tuple(layers),
        length=size,
        notes=tuple(dict.fromkeys(notes)),
    )


def _model(given: Given, side: str) -> Model:
    if isinstance(given, Model):
        return given
    try:
        return read(given)
    except ConfigError as error:
        raise ConfigError(f"{side} cannot be read: {error}") from None


def _beside(a: Model, b: Model) -> Iterator[str]:
    for side, model in (("A", a), ("B", b)):
        for message in model.messages:
            if message.code in _BESIDE_THE_ROTATION:
                yield f"{side}: {message.text}"


def _length(a: Model, b: Model, length: int | None, notes: list[str]) -> int | None:
    if length is not None:
        whole = isinstance(length, int | np.integer) and not isinstance(length, bool)
        if not whole or not 1 <= length <= LONGEST_COMPARISON:
            raise ConfigError(
                f"Comparison: length must be a whole number from 1 to {LONGEST_COMPARISON:,}; "
                f"got {shortened(length)}."
            )
        return int(length)
    windows = [window for model in (a, b) if (window := model.window or model.trained_window)]
    if not windows:
        notes.append(
            "Neither configuration names a window, so there is no length to compare at: give "
            "max_position_embeddings or a length."
        )
        return None
    if max(windows) > LONGEST_COMPARISON:
        notes.append(
            f"The larger window has {max(windows):,} tokens; both are compared at "
            f"{LONGEST_COMPARISON:,}, the longest comparison."
        )
    return min(max(windows), LONGEST_COMPARISON)


def _layers(
    a: Model, b: Model, layer_type: str | None, length: int | None, notes: list[str]
) -> Iterator[LayerComparison]:
    found = list(layer_pairs(a, b, layer_type))
    for side, model in (("A", a), ("B", b)):
        if not model.layers:
            notes.append(_without_rotation(side, model))
    for name, layer_a, layer_b in found:
        spec_a = _usable(a, layer_a, "A", name, notes)
        spec_b = _usable(b, layer_b, "B", name, notes)
        if spec_a is None or spec_b is None or length is None:
            continue
        try:
            yield compare_layers(name, spec_a, spec_b, length)
        except ParameterError as error:
            notes.append(f"Layers of type {name} cannot be compared at {length:,} tokens: {error}")


def _without_rotation(side: str, model: Model) -> str:
    try:
        model.layer()
    except ConfigError as error:
        return _unusable(error, side)
    raise AssertionError("a model without layers refuses to name one")


def _usable(
    model: Model, layer: Layer | None, side: str, name: str, notes: list[str]
) -> RotaryEncoding | None:
    if layer is None:
        if model.layers:
            notes.append(f"{side} has no layers of type {name}.")
        return None
    try:
        return rotary_spec(layer)
    except ConfigError as error:
        notes.append(_unusable(error, side))
        return None


def _unusable(error: ConfigError, side: str) -> str:
    return f"{side} cannot be compared: {error}"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
