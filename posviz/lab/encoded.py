"""Any encoding of the catalog inside a torch model, by the core's own code.

What an encoding needs is read from its fields, from what its ``encode`` takes and from the type of
its result; nothing here asks which encoding it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from posviz.attention import logits
from posviz.encodings.base import Encoding
from posviz.encodings.learned_parts import LearnedParts
from posviz.lab.errors import LabError
from posviz.lab.training.trainable import refusal, takes
from posviz.results import AttentionBias, MatrixBias, PositionTable, Result, ToeplitzBias

_SEEDS = 1 << 32


class LearnedNumbers(nn.Module):
    """The trained numbers of one spec, from its own initialisation; none for most."""

    def __init__(self, spec: Encoding) -> None:
        super().__init__()
        parts = spec.initial_parameters() if isinstance(spec, LearnedParts) else {}
        self.names = tuple(parts)
        self.numbers = nn.ParameterList(
            nn.Parameter(torch.tensor(np.asarray(part), dtype=torch.float32))
            for part in parts.values()
        )

    def given(self) -> dict[str, Any]:
        """The argument ``parameters`` of :meth:`encode`, where there is something to give."""
        if not self.names:
            return {}
        return {"parameters": dict(zip(self.names, self.numbers, strict=True))}


class Encoded(nn.Module):
    """One encoding for all layers of a causal model.

    Learned numbers that meet the content (queries, keys or a layer's input) are each layer's own;
    those that depend on positions alone are shared by the layers, as T5 shares its biases.
    """

    def __init__(self, spec: Encoding, layers: int, *, seed: int = 0) -> None:
        """``spec`` is one that :func:`fitted` has made; LabError for one that cannot be trained."""
        super().__init__()
        reason = refusal(spec)
        if reason:
            raise LabError(reason)
        self.meets_vectors, self.meets_inputs = takes(spec, "queries"), takes(spec, "inputs")
        self.meets_content = self.meets_vectors or self.meets_inputs
        self.takes_length = takes(spec, "length")
        self.specs = tuple(_of_layer(spec, layer, seed) for layer in range(layers))
        self.is_drawn = not isinstance(spec, LearnedParts) and hasattr(spec, "seed")
        own = layers if self.meets_content else 1
        self.learned = nn.ModuleList(LearnedNumbers(self.specs[layer]) for layer in range(own))
        self.is_learned = bool(self.learned[0].names)
        self.draw = 0
        self._kept: dict[tuple[Any, ...], Result] = {}

    @property
    def adds_to_logits(self) -> bool:
        """Whether the result is a bias, whose learned numbers are added to logits."""
        return isinstance(self.of_positions(0, torch.arange(4.0)), AttentionBias)

    def renew(self, draw: int) -> None:
        """Draw anew, where positions are drawn while training."""
        self.draw = draw if self.is_drawn else 0

    def results(self, length: int, device: torch.device) -> tuple[Result | None, ...]:
        """What each layer needs of the positions 0 … length-1; None where it asks for content."""
        if self.meets_content:
            return (None,) * len(self.specs)
        positions = torch.arange(length, dtype=torch.float32, device=device)
        found: dict[Encoding, Result] = {}
        for layer, spec in enumerate(self._specs_now()):
            if spec not in found:
                found[spec] = self._kept_result(layer, spec, positions)
        return tuple(found[spec] for spec in self._specs_now())

    def _specs_now(self) -> tuple[Encoding, ...]:
        if not self.is_drawn:
            # One object for all layers whose learned numbers are shared.
            return tuple(self.specs[0] if self.is_learned else spec for spec in self.specs)
        drawn = self.specs[0]
        if self.training:
            return (drawn.with_values(seed=self.draw % _SEEDS),) * len(self.specs)
        return (drawn.at_test(),) * len(self.specs)

    def _kept_result(self, layer: int, spec: Encoding, positions: Tensor) -> Result:
        """Computed once per length where nothing in it is trained or drawn."""
        key = (spec, positions.shape[0], str(positions.device))
        if key in self._kept:
            return self._kept[key]
        result = self._encode(layer, spec, positions)
        if not self.is_learned and not (self.is_drawn and self.training):
            self._kept[key] = result
        return result

    def of_positions(self, layer: int, positions: Tensor, **content: Tensor) -> Result:
        """The result of one layer for positions, and for content where the encoding takes it."""
        return self._encode(layer, self.specs[layer], positions, **content)

    def _encode(self, layer: int, spec: Encoding, positions: Tensor, **content: Tensor) -> Result:
        learned = self.learned[layer if self.meets_content else 0]
        assert isinstance(learned, LearnedNumbers)
        length = {"length": positions.shape[0]} if self.takes_length else {}
        return as_matrix(spec.encode(positions, **learned.given(), **content, **length))

    def enter(self, inputs: Tensor, result: Result | None) -> Tensor:
        """Embedded tokens (batch, positions, model_dim) with the vectors of their positions."""
        if not isinstance(result, PositionTable):
            return inputs
        vectors: Tensor = result.vectors
        return inputs + vectors if result.operation == "added" else inputs * vectors

    def attend(
        self,
        layer: int,
        result: Result | None,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
    ) -> Tensor:
        """What attention gives out: (batch, heads, positions, head_dim), as its arguments are.

        ``inputs`` (batch, positions, model_dim) is the layer's input.
        """
        if isinstance(result, PositionTable):
            result = _no_bias(result.positions)
        if isinstance(result, MatrixBias) and result.heads == 1:
            result = dataclasses.replace(result, heads=queries.shape[-3])  # the same in every head
        if result is not None:
            return _mixed(result, queries, keys, values)
        positions = torch.arange(queries.shape[-2], dtype=torch.float32, device=queries.device)

        def one(q: Tensor, k: Tensor, v: Tensor, x: Tensor) -> Tensor:
            content = {"queries": q, "keys": k} if self.meets_vectors else {"inputs": x}
            made = self.of_positions(layer, positions, **content)
            return _mixed(made, q, k, v)

        # A spec speaks of one sequence: vmap runs its code on all of them at once.
        with _MovesAxes():
            mixed: Tensor = torch.func.vmap(one)(queries, keys, values, inputs)
        return mixed


class _MovesAxes(TorchFunctionMode):
    """torch.moveaxis as torch.movedim, the same under another name: vmap has a rule for that."""

    def __torch_function__(
        self, called: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        function = torch.movedim if called is torch.moveaxis else called
        return function(*args, **(kwargs or {}))


def _mixed(result: Result, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """As posviz.attention.output, with torch's softmax: a third of the time in training."""
    weights = torch.softmax(logits(result, queries, keys, is_causal=True), dim=-1)
    mixed = result.mix(weights, values)
    assert isinstance(mixed, Tensor)
    return mixed


def _of_layer(spec: Encoding, layer: int, seed: int) -> Encoding:
    values: dict[str, Any] = {}
    if isinstance(spec, LearnedParts):
        values["seed"] = (spec.seed + 16 * seed + layer) % _SEEDS
    if "layer" in type(spec).model_fields:
        values["layer"] = layer
    return spec.with_values(**values) if values else spec


def _no_bias(positions: Tensor) -> MatrixBias:
    values = torch.zeros((1, 1, 1), dtype=positions.dtype, device=positions.device)
    return MatrixBias(positions=positions, heads=1, values=values)


def as_matrix(result: Result) -> Result:
    """A bias by distance written out once, for all layers and for both directions of training."""
    if not isinstance(result, ToeplitzBias):
        return result
    shared = {
        field.name: getattr(result, field.name)
        for field in dataclasses.fields(MatrixBias)
        if field.name != "values"
    }
    return MatrixBias(**shared, values=result.matrix)


def fitted(
    spec: Encoding,
    *,
    heads: int,
    head_dim: int,
    model_dim: int,
    layers: int,
    length: int,
    longest: int,
) -> Encoding:
    """The spec with the sizes of a model, and with lengths that suit one trained on ``length``.

    Sizes are always the model's. What the spec was not given (pydantic's ``model_fields_set``) is
    set to what the encoding itself says suits; what it was given stays, be it the declared default.

    Raises ParameterError where a value that was given does not go with the others.
    """
    sizes = {"heads": heads, "head_dim": head_dim, "model_dim": model_dim, "layers": layers}
    fields, given = type(spec).model_fields, spec.model_fields_set
    own = {name: value for name, value in sizes.items() if name in fields}
    suited = _not_in(given, spec.suited(length, longest))
    known = {**spec.model_dump(), **own, **suited}
    started = _not_in(given, type(spec).starting_values(**known))
    return spec.with_values(**{**own, **suited, **started})


def _not_in(given: Set[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in given}
