"""The core's attention in float64 NumPy, whole or for some queries, and what a format may differ.

Every output has a tolerance of its own, a first-order account of rounding. Roundings are taken as
independent, so their squares add. With the unit roundoff u of the format, weights w, logits z of
content and bias, turned queries and keys (their products round like r = c‖q‖‖k‖/√D), values v and
outputs o::

    s²  = 2r² + 3 content² + bias² + z²                   each logit
    Δo² = u² (Σ w² (s² (v - o)² + 2v²) + 2o²) + what is summed up in float32 + what is too small

    tolerance = 4 Δo

Sums are kept in float32, of unit roundoff u₃₂, also by half formats: D r² + (z - max)² + 4 for each
logit, ℓ Σ w²v² and ℓ o² for ℓ keys, all times u₃₂². A weight below the smallest normal number is
off by up to half the smallest number f, which float16 reaches: f²/4 Σ v². A single rounding is off
by u at most and by u/√3 or less in the mean, so 4 Δo is about seven standard deviations: the
largest of a million outputs stays below it, and an error of another kind does not, since the
tolerance of an average over many keys shrinks as the average itself does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from posviz.attention import content_scale, logits
from posviz.encodings.base import Encoding
from posviz.lab.kernels.prepare import Given, for_heads, kind_of, plain_result
from posviz.results import (
    AttentionBias,
    AttentionMask,
    AttentionTerms,
    PositionTable,
    Result,
    Rotation,
)

WHOLE_UP_TO = 512
"""Tokens up to which every query is compared."""
SAMPLED = 16
"""Queries that are compared beyond, evenly spread, the first and the last among them."""
MOST_NUMBERS = 1 << 25
"""Most numbers of a matrix over all pairs that is made for a comparison: 256 MB."""
DEVIATIONS = 4.0
"""The tolerance over the square root of the summed squares."""
TOO_SMALL = 1e-9
"""A control below this part of the values says that there was nothing to leave out."""

TOLERANCE_REASON = (
    "Tolerance, of each output by itself: four times the rounding that the format adds to turned "
    "queries and keys, logits, weights, values and output, squares added, to first order. Without "
    "the encoding: the difference that plain attention on the same numbers would have, over the "
    "tolerance at its worst output; where it is far above 1, the comparison would see a wrong "
    "encoding."
)


@dataclass(frozen=True)
class Rounding:
    """What the tolerance of a format is made of, each (batch, heads, rows, head_dim).

    Attributes
    ----------
    in_format : what u² is multiplied by.
    in_sums : what u₃₂² is multiplied by.
    too_small : what f²/4 is multiplied by.
    """

    in_format: np.ndarray
    in_sums: np.ndarray
    too_small: np.ndarray

    def tolerance(self, dtype: torch.dtype) -> np.ndarray:
        kind = torch.finfo(dtype)
        # The reference is off by as much as float64 allows, in its encoding and in its attention.
        unit = kind.eps / 2 + float(np.finfo(np.float64).eps)
        sums = min(unit, torch.finfo(torch.float32).eps / 2)
        least = kind.smallest_normal * kind.eps
        squares = unit**2 * self.in_format + sums**2 * self.in_sums
        found: np.ndarray = DEVIATIONS * np.sqrt(squares + least**2 / 4 * self.too_small)
        return found


@dataclass(frozen=True)
class Compared:
    """The output that uses most of its tolerance.

    Attributes
    ----------
    error : how far it is from the core's.
    tolerance : what it may differ.
    """

    error: float
    tolerance: float

    @property
    def share(self) -> float:
        return self.error / self.tolerance


@dataclass(frozen=True)
class Reference:
    """What the outputs of some queries should be.

    Attributes
    ----------
    rows : (rows,) the queries.
    outputs : (batch, heads, rows, head_dim), float64.
    without : the same of plain attention on the same numbers; None where the encoding cannot be
        left out, since it is in the numbers.
    rounding : of which the tolerances are made.
    """

    rows: np.ndarray
    outputs: np.ndarray
    without: np.ndarray | None
    rounding: Rounding

    def picked(self, found: torch.Tensor) -> np.ndarray:
        """The compared outputs of a kernel, float64."""
        rows = torch.as_tensor(self.rows, device=found.device)
        picked: np.ndarray = found[..., rows, :].to("cpu", torch.float64).numpy()
        return picked

    def error(self, found: torch.Tensor) -> float:
        """Largest difference over the compared outputs; infinite where one is no number."""
        ours = self.picked(found)
        difference = np.abs(ours - self.outputs)
        return float(difference.max()) if np.isfinite(ours).all() else math.inf

    def shares(self, ours: np.ndarray, dtype: torch.dtype) -> np.ndarray:
        """The part of its tolerance that each output uses: (batch, heads, rows, head_dim)."""
        found: np.ndarray = np.abs(ours - self.outputs) / self.rounding.tolerance(dtype)
        return found

    def compared(self, found: torch.Tensor) -> Compared:
        """Output by output; an error is infinite where an output is no number."""
        ours = self.picked(found)
        tolerance = self.rounding.tolerance(found.dtype)
        if not np.isfinite(ours).all():
            return Compared(math.inf, float(tolerance.max()))
        worst = int(self.shares(ours, found.dtype).argmax())
        difference = np.abs(ours - self.outputs)
        return Compared(float(difference.flat[worst]), float(tolerance.flat[worst]))

    def control(self, dtype: torch.dtype) -> float | None:
        """The largest share if the encoding were left out; None where there is nothing to leave."""
        if self.without is None:
            return None
        if np.abs(self.without - self.outputs).max() < TOO_SMALL * np.abs(self.outputs).max():
            return None
        return float(self.shares(self.without, dtype).max())


def why_not(spec: Encoding, positions: np.ndarray) -> str:
    """Why there is no comparison at this length; empty where there is one."""
    numbers = spec.matrix_numbers(len(positions))
    if numbers <= MOST_NUMBERS:
        return ""
    return (
        f"Not compared: the core's float64 result of {len(positions):,} tokens has "
        f"{numbers / 1e6:,.0f} million numbers."
    )


def reference(spec: Encoding, positions: np.ndarray, given: Given, *, is_causal: bool) -> Reference:
    """The core's outputs for the very numbers that a kernel is given."""
    queries, keys, values = (one.to("cpu", torch.float64).numpy() for one in given)
    count = len(positions)
    spread = np.linspace(0, count - 1, SAMPLED).round().astype(int)
    rows = np.arange(count) if count <= WHOLE_UP_TO else np.unique(spread)
    found = [
        _of_sequence(spec, positions, one, rows, is_causal)
        for one in zip(queries, keys, values, strict=True)
    ]
    outputs, without, *parts = (np.stack(part) for part in zip(*found, strict=True))
    is_in_numbers = issubclass(kind_of(spec, positions), PositionTable)
    return Reference(rows, outputs, None if is_in_numbers else without, Rounding(*parts))


def _of_sequence(
    spec: Encoding, positions: np.ndarray, given: Any, rows: np.ndarray, is_causal: bool
) -> tuple[np.ndarray, ...]:
    """Outputs, those without the encoding, and the three parts of the rounding."""
    queries, keys, values = given
    result: Any = for_heads(_result(spec, positions, queries, keys), queries.shape[0])
    scores = logits(result, queries, keys, is_causal=is_causal, rows=rows)
    shares = _softmax(scores)
    outputs = result.mix(shares, values, rows)
    nothing = for_heads(plain_result(np.arange(float(len(positions)))), queries.shape[0])
    plain = logits(nothing, queries, keys, is_causal=is_causal, rows=rows)
    rounding = _rounding(result, given, rows, scores, shares)
    return outputs, _softmax(plain) @ values, *rounding


def _softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    found: np.ndarray = raised / raised.sum(-1, keepdims=True)
    return found


def _rounding(
    result: Any, given: Any, rows: np.ndarray, scores: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three sums of squares of :class:`Rounding` for one sequence."""
    queries, keys, values = given
    squares = shares**2
    seen = np.isfinite(scores)
    total = np.where(seen, scores, 0.0)
    products, content = _products(result, queries[..., rows, :], keys, rows, total)
    of_logits = 2 * products**2 + 3 * content**2 + (total - content) ** 2 + total**2
    below = np.where(seen, scores - scores.max(-1, keepdims=True), 0.0)
    of_sums = queries.shape[-1] * products**2 + below**2 + 4
    carried = result.carried(values)
    mixed = shares @ carried
    of_values = squares @ carried**2
    count = values.shape[-2]
    parts = (
        _around(squares * of_logits, carried, mixed) + 2 * of_values + 2 * mixed**2,
        _around(squares * of_sums, carried, mixed) + count * (of_values + mixed**2),
        seen.astype(float) @ carried**2 + 1,
    )
    if carried is values:
        return parts
    # The outputs are turned back: each is made of two of the average, so the larger is taken.
    first, second, third = (2 * np.max(part, -1, keepdims=True) + 0 * part for part in parts)
    return first, second, third


def _around(squares: np.ndarray, values: np.ndarray, mixed: np.ndarray) -> np.ndarray:
    """Σ_n s_n (v_n - o)² without making every difference: (heads, rows, head_dim)."""
    whole = squares.sum(-1, keepdims=True)
    found: np.ndarray = squares @ values**2 - 2 * mixed * (squares @ values) + whole * mixed**2
    return found.clip(min=0.0)


def _products(
    result: Any, queries: np.ndarray, keys: np.ndarray, rows: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """r = c‖q‖‖k‖/√D of the turned vectors, and the part of the logits that is content."""
    scale = content_scale(result, queries.shape[-1])
    content = total
    if isinstance(result, AttentionBias | AttentionMask):
        content = np.where(total != 0, scale * (queries @ keys.swapaxes(-1, -2)), 0.0)
    if isinstance(result, Rotation):
        whole = np.zeros((*keys.shape[:-2], len(result.positions), queries.shape[-1]))
        whole[..., rows, :] = queries
        queries = result.rotate_queries(whole)[..., rows, :]
        keys = result.rotate_keys(keys)
    sizes = (
        np.linalg.norm(queries, axis=-1)[..., None] * np.linalg.norm(keys, axis=-1)[..., None, :]
    )
    products: np.ndarray = scale * sizes / math.sqrt(queries.shape[-1])
    return products, content


def _result(spec: Encoding, positions: np.ndarray, queries: Any, keys: Any) -> Result:
    kind = kind_of(spec, positions)
    if issubclass(kind, PositionTable):
        return plain_result(np.arange(float(len(positions))))
    if issubclass(kind, AttentionTerms):
        content: Any = spec
        found: Result = content.encode(positions, queries=queries, keys=keys)
        return found
    return spec.encode(positions)
