"""The core's attention in float64 NumPy, whole or for some queries, and what a format may differ.

The tolerance is a first-order account of rounding with unit roundoff u. Each logit is off by u
times its own size (it is rounded, and so is the bias in it) and by u times c·‖q‖·‖k‖/√D (queries
and keys are rounded after they are turned; the errors of D products are independent, so they add
like √D). The softmax passes an error of logits on to the output at most doubled, and values,
weights and output are rounded once each:
|Δo| ≤ u · max|v| · (3 + 2 · max_m Σ_n w_mn (|z_mn| + c‖q_m‖‖k_n‖/√D)).
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
from posviz.results import AttentionTerms, PositionTable, Result

WHOLE_UP_TO = 512
"""Tokens up to which every query is compared."""
SAMPLED = 16
"""Queries that are compared beyond, evenly spread, the first and the last among them."""
MOST_NUMBERS = 1 << 25
"""Most numbers of a matrix over all pairs that is made for a comparison: 256 MB."""

TOLERANCE_REASON = (
    "Tolerance: u · max|v| · (3 + 2 · max Σ w (|logit| + c‖q‖‖k‖/√D)) with the unit roundoff u of "
    "the format, the rounding of turned queries and keys, of logits, weights and output, to first "
    "order."
)


@dataclass(frozen=True)
class Reference:
    """What the outputs of some queries should be.

    Attributes
    ----------
    rows : (rows,) the queries.
    outputs : (batch, heads, rows, head_dim), float64.
    size : the tolerance for a unit roundoff of 1.
    """

    rows: np.ndarray
    outputs: np.ndarray
    size: float

    def error(self, found: torch.Tensor) -> float:
        """Largest difference over the compared outputs; infinite where one is no number."""
        rows = torch.as_tensor(self.rows, device=found.device)
        ours = found[..., rows, :].to("cpu", torch.float64).numpy()
        difference = np.abs(ours - self.outputs)
        return float(difference.max()) if np.isfinite(ours).all() else math.inf

    def tolerance(self, dtype: torch.dtype) -> float:
        # The reference is off by as much as float64 allows, in its encoding and in its attention.
        return float(self.size * (torch.finfo(dtype).eps / 2 + np.finfo(np.float64).eps))


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
        _of_sequence(spec, positions, (q, k, v), rows, is_causal)
        for q, k, v in zip(queries, keys, values, strict=True)
    ]
    return Reference(rows, np.stack([one for one, _ in found]), max(size for _, size in found))


def _of_sequence(
    spec: Encoding, positions: np.ndarray, given: Any, rows: np.ndarray, is_causal: bool
) -> tuple[np.ndarray, float]:
    queries, keys, values = given
    result: Any = for_heads(_result(spec, positions, queries, keys), queries.shape[0])
    scores = logits(result, queries, keys, is_causal=is_causal, rows=rows)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    shares = raised / raised.sum(-1, keepdims=True)
    norms = np.linalg.norm(queries[..., rows, :], axis=-1)[..., None]
    norms = norms * np.linalg.norm(keys, axis=-1)[..., None, :] / math.sqrt(queries.shape[-1])
    content = content_scale(result, queries.shape[-1]) * norms
    sizes = np.where(shares > 0, np.abs(np.where(shares > 0, scores, 0.0)), 0.0) + content
    largest = float((shares * sizes).sum(-1).max())
    return result.mix(shares, values, rows), float(np.abs(values).max()) * (3 + 2 * largest)


def _result(spec: Encoding, positions: np.ndarray, queries: Any, keys: Any) -> Result:
    kind = kind_of(spec, positions)
    if issubclass(kind, PositionTable):
        return plain_result(np.arange(float(len(positions))))
    if issubclass(kind, AttentionTerms):
        content: Any = spec
        found: Result = content.encode(positions, queries=queries, keys=keys)
        return found
    return spec.encode(positions)
