"""Which layers of two models are held against each other."""

from __future__ import annotations

from collections.abc import Iterator

from posviz.configs.errors import ConfigError
from posviz.configs.model import Layer, Model
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import closest, shortened


def layer_pairs(
    a: Model, b: Model, layer_type: str | None
) -> Iterator[tuple[str, Layer | None, Layer | None]]:
    """Name, A's layer and B's layer of every type that either has.

    A model with a single type rotates all its layers alike, so that one stands beside each type of
    the other.

    Raises
    ------
    ConfigError : there is no such layer type.
    """
    several = [model for model in (a, b) if len(model.layers) > 1]
    names = list(dict.fromkeys(name for model in several or (a, b) for name in model.layer_types))
    if layer_type is not None and layer_type not in names:
        hint = closest(layer_type, names) if names else "neither model rotates queries and keys"
        shown = shortened(layer_type)
        raise ConfigError(f"The models have no layer type {shown} to compare; {hint}.")
    if layer_type is not None:
        names = [layer_type]
    elif not several:
        names = names[:1]
    for name in names:
        yield name, _layer(a, name), _layer(b, name)


def _layer(model: Model, name: str) -> Layer | None:
    if len(model.layers) == 1:
        return model.layers[0]
    return next((layer for layer in model.layers if layer.name == name), None)


def rotary_spec(layer: Layer) -> RotaryEncoding:
    """The rotary spec of a layer.

    Raises
    ------
    ConfigError : its numbers cannot be used, it does not rotate, or it is no plain rotation.
    """
    if not layer.rotates:
        raise ConfigError(f"Layers of type {layer.name} do not rotate queries and keys.")
    if layer.spec is None:
        raise ConfigError(layer.problem)
    if not isinstance(layer.spec, RotaryEncoding):
        raise ConfigError(
            f"{layer.spec.title} is more than one rotation of queries and keys, "
            "so it has no single row of frequencies."
        )
    return layer.spec
