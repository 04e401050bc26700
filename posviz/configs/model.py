"""A model's rotary positions as its configuration means them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from posviz.configs.errors import ConfigError
from posviz.configs.gguf.mapping import GgufConfig
from posviz.configs.messages import Message, Resolved
from posviz.encodings.base import Encoding
from posviz.parameters import ParameterError, closest, shortened
from posviz.results import Rotation

FULL = "full_attention"
_LONGEST = 1 << 24
"""Positions of a :meth:`Model.rotation` are worked out one by one, so there is a bound."""


@dataclass(frozen=True)
class Layer:
    """One layer type: its spec, or the sentence that says why there is none."""

    name: str
    spec: Encoding | None
    problem: str = ""
    rotates: bool = True
    indices: tuple[int, ...] = ()
    """Layers of this type, from 0; empty when the configuration does not say."""


@dataclass(frozen=True)
class Model:
    """What :func:`posviz.configs.read` gives.

    Attributes
    ----------
    resolved : every number, its value and its origin in words.
    messages : what to know beside them; severity error means that a spec is refused.
    window : max_position_embeddings, in tokens; None when the file has none.
    trained_window : the original length, in tokens, of the full-attention layers.
    unrotated_layers : layers, from 0, that carry no rotation at all.
    config : the configuration as it was read.
    text_path : where the text model's section stands in it; empty for the top level.
    gguf : what was read of the GGUF file that the configuration came from; None for JSON.
    """

    layers: tuple[Layer, ...]
    resolved: tuple[Resolved, ...]
    messages: tuple[Message, ...]
    window: int | None
    trained_window: int | None
    model_type: str
    family: str
    unrotated_layers: tuple[int, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    text_path: str = ""
    gguf: GgufConfig | None = None

    @property
    def layer_types(self) -> tuple[str, ...]:
        """Names of the layer types; a plain model has one, ``full_attention``."""
        return tuple(layer.name for layer in self.layers)

    @property
    def severity(self) -> str:
        """The gravest message: ok, info, warn or error."""
        found = {message.severity for message in self.messages}
        return next((name for name in ("error", "warn", "info") if name in found), "ok")

    def layer(self, layer_type: str | None = None) -> Layer:
        """A layer type by name; by default full_attention, or the first one that rotates.

        Raises
        ------
        ConfigError : there is no such layer type, or no rotary layer at all.
        """
        if not self.layers:
            raise ConfigError(self._no_rotation())
        if layer_type is None:
            return self._default_layer()
        found = {layer.name: layer for layer in self.layers}
        if not isinstance(layer_type, str) or layer_type not in found:
            hint = closest(layer_type, self.layer_types)
            raise ConfigError(f"There is no layer type {shortened(layer_type)}; {hint}.")
        return found[layer_type]

    def _default_layer(self) -> Layer:
        rotating = [layer for layer in self.layers if layer.rotates]
        full = [layer for layer in rotating if layer.name == FULL]
        return (full or rotating or list(self.layers))[0]

    def _no_rotation(self) -> str:
        codes = ("PV170", "PV171", "PV175")
        texts = [message.text for message in self.messages if message.code in codes]
        return " ".join(["This model does not rotate queries and keys.", *texts])

    def spec(self, layer_type: str | None = None) -> Encoding:
        """The encoding of a layer type.

        Raises
        ------
        ConfigError : the numbers cannot be used (the sentence says which), or the layers of this
            type do not rotate.
        """
        layer = self.layer(layer_type)
        if not layer.rotates:
            raise ConfigError(f"Layers of type {layer.name} do not rotate queries and keys.")
        if layer.spec is None:
            raise ConfigError(layer.problem)
        return layer.spec

    def rotation(self, layer_type: str | None = None, length: int | None = None) -> Rotation:
        """The rotation at positions 0 … length - 1; by default of a call of one token.

        The length decides where a method depends on it (dynamic, LongRoPE).

        Raises
        ------
        ConfigError : as :meth:`spec`; or a length below 1 or above 2^24.
        """
        spec = self.spec(layer_type)
        size = 1 if length is None else length
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= _LONGEST:
            raise ConfigError(
                f"length must be a whole number from 1 to {_LONGEST}; got {shortened(length)}."
            )
        try:
            result = spec.encode(np.arange(size, dtype=np.float64), length=size)
        except ParameterError as error:
            raise ConfigError(str(error)) from None
        if not isinstance(result, Rotation):
            raise ConfigError(f"{spec.title} does not give a rotation of queries and keys.")
        return result

    def with_spec(
        self,
        spec: Encoding,
        layer_type: str | None = None,
        *,
        messages: tuple[Message, ...] | None = None,
    ) -> Model:
        """The same model with one layer type's spec replaced, as a person tuned it.

        Raises
        ------
        ConfigError : there is no such layer type, or it does not rotate.
        """
        chosen = self.layer(layer_type)
        if not chosen.rotates:
            raise ConfigError(f"Layers of type {chosen.name} do not rotate queries and keys.")
        layers = tuple(
            replace(layer, spec=spec, problem="") if layer is chosen else layer
            for layer in self.layers
        )
        return replace(
            self, layers=layers, messages=self.messages if messages is None else messages
        )
