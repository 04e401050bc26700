"""From a spec to what every kernel needs, by the kind of its result; the core does the encoding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from array_api_compat import array_namespace

from posviz.attention import content_scale, output, remapped_products
from posviz.encodings.base import Encoding
from posviz.lab.errors import LabError
from posviz.results import (
    AttentionBias,
    AttentionMask,
    AttentionTerms,
    MatrixBias,
    PositionTable,
    RelativeRotation,
    Result,
    RotaryResult,
    Rotation,
    ToeplitzBias,
    distances_of,
)

Given = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Queries, keys and values (batch, heads, positions, head_dim), the encoding not applied yet."""

_HALF = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Prepared:
    """Attention with an encoding, ready for every kernel.

    Attributes
    ----------
    spec : the encoding.
    result : what the core made of it, as torch tensors; of a position table, plain attention.
    given : before the encoding.
    queries, keys, values : what a kernel is given: turned where the encoding turns them.
    scale : factor on q·k.
    is_causal : whether keys at later positions are masked.
    """

    spec: Encoding
    result: Result
    given: Given
    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    scale: float
    is_causal: bool

    @property
    def is_own(self) -> bool:
        """Whether only the core's own attention can run it, since its logits hold content."""
        return isinstance(self.result, AttentionTerms)

    @property
    def is_remapped(self) -> bool:
        return isinstance(self.result, RelativeRotation)

    @property
    def has_bias(self) -> bool:
        """Whether numbers are added to q·k, the causal mask not counted."""
        if isinstance(self.result, ToeplitzBias):
            return bool((self.result.by_distance != 0).any())
        if isinstance(self.result, AttentionMask):
            hidden = ~self.result.visible
            return bool((hidden & (self.result.distances >= 0) if self.is_causal else hidden).any())
        return isinstance(self.result, AttentionBias)

    def later(self, rows: slice) -> torch.Tensor:
        """Which keys stand after their query: (queries, keys)."""
        at: torch.Tensor = self.result.positions
        return at[None, :] > at[rows][:, None]

    def scores(self, rows: slice) -> torch.Tensor:
        """q·k of some queries with the factors, nothing added: (batch, heads, queries, keys)."""
        if not isinstance(self.result, RelativeRotation):
            products = self.queries[..., rows, :] @ self.keys.transpose(-1, -2)
            return products * self.scale
        at = self.result.positions
        distance = self.spec.relative_distance(at[rows][:, None], at[None, :])  # type: ignore[attr-defined]
        turned: torch.Tensor = remapped_products(
            self.result, self.queries[..., rows, :], self.keys, distance
        )
        turned = turned * self.scale
        if self.result.query_scale is not None:
            turned = turned * self.result.query_scale[rows][:, None]
        return turned.to(self.queries.dtype)

    def added(self, rows: slice) -> torch.Tensor | None:
        """What is added to the scores, the causal mask not counted: (heads or 1, queries, keys)."""
        if not self.has_bias:
            return None
        block: torch.Tensor = self.result.block(rows).to(self.queries.dtype)  # type: ignore[attr-defined]
        return block[None] if block.ndim == 2 else block

    def finished(self, mixed: torch.Tensor) -> torch.Tensor:
        """The output from the weighted average that a kernel gives."""
        done: torch.Tensor = self.result.finished(mixed)
        return done.to(mixed.dtype)

    def own_output(self) -> torch.Tensor:
        """The core's attention on these tensors, sequence by sequence."""
        one_by_one = [
            output(self._terms(queries, keys), None, None, values, is_causal=self.is_causal)
            for queries, keys, values in zip(*self.given, strict=True)
        ]
        return torch.stack(one_by_one)

    def _terms(self, queries: torch.Tensor, keys: torch.Tensor) -> Result:
        return self.spec.encode(self.result.positions, queries=queries, keys=keys)


def shaped(spec: Encoding, heads: int | None, head_dim: int | None) -> tuple[Encoding, int, int]:
    """The spec with the heads and the head size that were asked for, and what they are then.

    Raises ParameterError where the encoding has no such size.
    """
    fields = type(spec).model_fields
    wanted = {"heads": heads, "head_dim": head_dim}
    changed = {name: value for name, value in wanted.items() if name in fields and value}
    spec = spec.with_values(**changed) if changed else spec
    if spec.missing():
        raise LabError(spec.missing())
    return (
        spec,
        heads or int(getattr(spec, "heads", 4)),
        head_dim or int(getattr(spec, "head_dim", 64)),
    )


def positions_for(spec: Encoding, length: int) -> np.ndarray:
    """0 … length-1, or the first places of the encoding's own grid where it needs coordinates."""
    example = np.asarray(spec.example_positions(2))
    if example.ndim == 1:
        return np.arange(float(length))
    grid, count = np.asarray(spec.example_positions(length)), length
    while len(grid) < length:
        count *= 2
        grid = np.asarray(spec.example_positions(count))
    return grid[:length]


def plain_result(positions: Any) -> ToeplitzBias:
    """Attention without positions: nothing is added and nothing turned."""
    distances = distances_of(positions)
    return ToeplitzBias(
        positions=positions, heads=1, distances=distances, by_distance=0 * distances[None, :]
    )


def for_heads(result: Result, heads: int) -> Result:
    """A bias of one head as that of several alike."""
    if not isinstance(result, ToeplitzBias) or result.heads != 1:
        return result
    xp = array_namespace(result.by_distance)
    alike = xp.broadcast_to(result.by_distance, (heads, result.by_distance.shape[1]))
    return replace(result, heads=heads, by_distance=alike)


def _hides_later(result: Result) -> bool:
    """Whether a mask hides every key after its query, so that it is causal by itself."""
    if not isinstance(result, AttentionMask):
        return False
    later = result.distances < 0
    return bool(later.any()) and not bool((result.visible & later).any())


def encoded(spec: Encoding, positions: Any) -> Result:
    """The core's result; of a remapped rotation without the distances of all pairs."""
    count = int(positions.shape[0])
    kind = kind_of(spec, positions)
    found: Result
    if issubclass(kind, RelativeRotation):
        remapped: Any = spec
        template = remapped.encode(positions[:1], length=count)
        scale = remapped.query_scale(positions, count)
        found = replace(
            template,
            positions=positions,
            query_scale=scale,
            relative_distance=positions[:0, None] - positions[None, :],
        )
    elif issubclass(kind, AttentionTerms):
        # Their numbers are those of a sequence, so each sequence makes its own.
        found = replace(spec.encode(positions[:1]), positions=positions)
    else:
        found = spec.encode(positions)
    return found


def kind_of(spec: Encoding, positions: Any) -> type[Result]:
    """What kind of result the encoding gives, found out with one position."""
    return type(spec.encode(positions[:1]))


def inputs(
    spec: Encoding, positions: Any, shape: tuple[int, int, int, int], seed: int
) -> tuple[torch.Tensor, ...]:
    """Seeded queries, keys and values (batch, heads, positions, head_dim), float64 on the CPU.

    Normal numbers. Of a position table: normal inputs, each row added to them or multiplied with
    them, and three seeded projections, scaled so that they keep the size of the inputs.
    """
    generator = torch.Generator().manual_seed(seed)
    batch, heads, count, head_dim = shape
    if not issubclass(kind_of(spec, positions), PositionTable):
        drawn = torch.randn(3, batch, heads, count, head_dim, generator=generator)
        return tuple(drawn.to(torch.float64))
    table: Any = spec.encode(positions)
    vectors = torch.tensor(np.asarray(table.vectors), dtype=torch.float64)
    model_dim = vectors.shape[1]
    content = torch.randn(batch, count, model_dim, generator=generator).to(torch.float64)
    content = content + vectors if table.operation == "added" else content * vectors
    maps = torch.randn(3, model_dim, heads * head_dim, generator=generator).to(torch.float64)
    projected = (content @ (maps[:, None] / model_dim**0.5)).reshape(3, batch, count, heads, -1)
    return tuple(projected.transpose(2, 3))


def prepare(
    spec: Encoding, positions: np.ndarray, given: Given, *, is_causal: bool, work: torch.dtype
) -> Prepared:
    """What the kernels need; ``given`` decides number format and device, ``work`` what the
    encoding is worked out in.

    Raises
    ------
    LabError : an encoding that says nothing about attention, or terms in half precision.
    """
    queries, keys, values = given
    dtype = queries.dtype
    kind = kind_of(spec, positions)
    _check(spec, kind, dtype)
    work = dtype if issubclass(kind, AttentionTerms) else work
    at = torch.tensor(positions, dtype=work, device=queries.device)
    result: Any = (
        plain_result(torch.arange(float(len(at)), dtype=work, device=queries.device))
        if issubclass(kind, PositionTable)
        else encoded(spec, at)
    )
    result = for_heads(result, queries.shape[1])
    if isinstance(result, Rotation):
        turned = result.rotate_queries(queries)
        if result.query_scale is not None:
            turned = turned * result.query_scale[:, None]
        queries, keys = turned.to(dtype), result.rotate_keys(keys).to(dtype)
    if isinstance(result, ToeplitzBias):
        result = replace(result, by_distance=result.by_distance.to(dtype))
    if isinstance(result, MatrixBias):
        result = replace(result, values=result.values.to(dtype))
    return Prepared(
        spec=spec,
        result=result,
        given=given,
        queries=queries.contiguous(),
        keys=keys.contiguous(),
        values=result.carried(values).to(dtype).contiguous(),
        scale=content_scale(result, queries.shape[-1]),
        is_causal=is_causal
        or bool(getattr(result, "is_causal_only", False))
        or _hides_later(result),
    )


def _check(spec: Encoding, kind: type[Result], dtype: torch.dtype) -> None:
    if issubclass(kind, AttentionTerms) and dtype in _HALF:
        raise LabError(
            f"{spec.title}: dtype must be float32 or float64, since the core makes its logits "
            f"from content and tables of one format; got {str(dtype).removeprefix('torch.')}."
        )
    known = (AttentionBias, AttentionMask, AttentionTerms, RotaryResult, PositionTable)
    if not issubclass(kind, known):
        raise LabError(
            f"{spec.title}: a {kind.__name__} says nothing about attention, so no kernel "
            "can run it; choose another encoding."
        )
