"""iRoPE: layers that rotate, and every few layers one without positions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Source
from posviz.encodings.rotary import Base, LayoutField, RotaryFamily
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, LogitRow, Rotation, device_of, frozen

ROPE, NOPE = "RoPE", "NoPE"
_FULL = "full attention in this layer; Llama 4's rotating layers see chunks of 8,192 tokens"


class Irope(RotaryFamily):
    """RoPE in all layers but every interval-th, which has none and a temperature instead.

    In a layer without rotation the query at position m is multiplied by
    1 + a·ln(1 + ⌊(m+1)/F⌋), against the spreading of attention over a long context.
    """

    title: ClassVar[str] = "iRoPE"
    year: ClassVar[int] = 2025
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="The Llama 4 herd",
            authors="Meta AI",
            year=2025,
            code="transformers 5.24.0 Llama4TextAttention, Llama4TextConfig, SmolLM3Config",
        ),
    )
    formula: ClassVar[str] = (
        r"\text{layer } \ell \text{ rotates unless } (\ell+1) \bmod 4 = 0;\quad "
        r"q_m \to q_m \left(1 + a \ln\left(\left\lfloor \frac{m+1}{F} \right\rfloor + 1\right)"
        r"\right)"
    )
    shows: ClassVar[str] = (
        "The row of layers, three that rotate and one that does not; and the staircase of the "
        "temperature, flat up to 8190 and one step up at every further 8192 tokens."
    )
    limits: ClassVar[str] = (
        "Llama 4's rotating layers also see a chunk of 8192 tokens only, and Scout's normalise q "
        "and k after the rotation and scale frequencies as Llama 3 does; none of it is here."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read no_rope_layers in a configuration as the list of layers without RoPE. "
        "It reads the other way: 1 means that the layer rotates, 0 that it does not.",
        "You may have read that the temperature starts at position 8192. It counts tokens, so the "
        "first step, to 1.0693, is at position 8191.",
        "You may have read that the temperature acts in every layer. It acts on the queries of the "
        "layers without RoPE only; SmolLM3 has such layers and no temperature.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Llama 4 Scout", "Llama 4 Maverick", "SmolLM3")
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Llama 4": {
            "layers": 48,
            "interval": 4,
            "attn_scale": 0.1,
            "base": 500000.0,
            "layout": "interleaved",
        },
        "SmolLM3": {
            "layers": 36,
            "interval": 4,
            "attn_scale": 0.0,
            "base": 5000000.0,
            "layout": "half_split",
        },
    }
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
D, number = $head_dim, 1 + np.arange($layers)
rotates = number % $interval != 0
inv_freq = $base ** (-np.arange(0, D, 2) / D) * rotates[$layer]
cos = np.cos(positions[:, None] * inv_freq)
temperature = 1 + $attn_scale * np.log(np.floor((positions + 1) / $floor_scale) + 1)
query_scale = np.where(rotates[$layer], 1, temperature)
"""
    snippet_gives: ClassVar[str] = "cos"

    base: Base = 500000.0
    layout: LayoutField = "interleaved"
    layers: Annotated[
        int, Ge(1), Le(1024), Parameter(help="Number of layers.", slider=(1, 64), step=1)
    ] = 48
    interval: Annotated[
        int,
        Ge(1),
        Le(1024),
        Parameter(
            help="Every layer with this number, counted from 1, or a multiple of it, does not "
            "rotate.",
            unit="layers",
            slider=(1, 12),
            step=1,
        ),
    ] = 4
    layer: Annotated[
        int,
        Ge(0),
        Le(1023),
        Parameter(help="The layer that is shown, counted from 0.", slider=(0, 63), step=1),
    ] = 0
    floor_scale: Annotated[
        int,
        Ge(1),
        Le(1 << 40),
        Parameter(
            help="Tokens to the next step of the temperature.",
            symbol="F",
            unit="tokens",
            slider=(64, 65536),
            scale="log",
        ),
    ] = 8192
    attn_scale: Annotated[
        float,
        Ge(0),
        Le(100),
        Parameter(
            help="How strongly the temperature rises; 0 for none.",
            symbol="a",
            slider=(0, 1),
            step=0.01,
        ),
    ] = 0.1

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "floor_scale": length}

    def check_rules(self) -> None:
        super().check_rules()
        if self.layer >= self.layers:
            raise ParameterError(
                f"{self.title}: layer must be below layers, which is {self.layers}; "
                f"got layer {self.layer}."
            )

    def layer_kinds(self) -> tuple[str, ...]:
        """What each layer does: RoPE or NoPE."""
        return tuple(
            NOPE if number % self.interval == 0 else ROPE for number in range(1, self.layers + 1)
        )

    def temperature(self, query: Array) -> Array:
        """Factor on the query at each position, in the layers that do not rotate: (positions,)."""
        xp = array_namespace(query)
        return 1 + self.attn_scale * xp.log(xp.floor((query + 1) / self.floor_scale) + 1)

    def encode(self, positions: Any) -> Rotation:
        """Angles and query scale of the layer that is shown.

        Parameters
        ----------
        positions : (positions,) tokens, from 0; NumPy, torch, or a list of numbers.

        Returns
        -------
        Rotation; in a layer without RoPE all frequencies are 0 and query_scale is the temperature.
        ``layers`` says what each layer does.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row, are below 0 or beyond
            2^53.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        if at.shape[0] and float(xp.min(at)) < 0:
            raise ParameterError(
                f"{self.title}: positions must be at least 0, where the temperature starts; "
                f"got {float(xp.min(at))}."
            )
        ladder = self.ladder(self.base, xp=xp, device=device_of(at))
        kinds = self.layer_kinds()
        rotates = kinds[self.layer] == ROPE
        temperature = self.temperature(at)
        return Rotation(
            **self.shared(at, ladder if rotates else xp.zeros_like(ladder)),
            query_scale=None if rotates else frozen(temperature),
            curves={"query temperature of NoPE layers": frozen(xp.asarray(temperature, copy=True))},
            layers=kinds,
        )

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        xp, device = array_namespace(like), device_of(like)
        if self.layer_kinds()[self.layer] == ROPE:
            ladder = self.ladder(self.base, xp=xp, device=device)
            return self.rotated_row(length, ladder, like, note=_FULL)
        query = xp.asarray([length - 1.0], dtype=like.dtype, device=device)
        return LogitRow(length=length, gain=float(self.temperature(query)[0]))

    def example_positions(self, count: int) -> Array:
        """Evenly over four steps of the temperature."""
        return super().example_positions(count) * math.ceil(4 * self.floor_scale / max(1, count))
