"""Attention step by step: all logits, their softmax, the average; whole, or in blocks of queries.

Whole, it is given the same matrix as SDPA: bias, window and causal mask, made beforehand. In blocks
only the logits of some queries exist at a time, so memory grows with the length instead of its
square; the bias of a block is made by the core in every call, when the block is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from posviz.lab.kernels.prepare import Prepared

BLOCK_BYTES = 16 << 20
"""What the logits of one block may take."""


def rows_per_block(prepared: Prepared) -> int:
    """Queries whose logits fit into a block; at least 16."""
    batch, heads, length, _ = prepared.queries.shape
    a_row = batch * heads * length * prepared.queries.element_size()
    # A remapped rotation goes through all pairs of dimensions: shorter steps can be given up.
    room = BLOCK_BYTES // 16 if prepared.is_remapped else BLOCK_BYTES
    return max(16, min(length, room // a_row))


def naive(prepared: Prepared, mask: torch.Tensor | None) -> torch.Tensor:
    """All logits at once, ``mask`` (:func:`posviz.lab.kernels.sdpa.matrix`) added to them:
    (batch, heads, queries, head_dim)."""
    if prepared.is_own:
        return prepared.own_output()
    scores = prepared.scores(slice(None))
    if mask is not None:
        scores += mask
    return prepared.finished(torch.softmax(scores, dim=-1) @ prepared.values)


def in_blocks(
    prepared: Prepared, rows: int | None = None, tick: Callable[[], None] | None = None
) -> torch.Tensor:
    """The same, ``rows`` queries at a time; ``tick`` is called before each block."""
    if prepared.is_own:
        return prepared.own_output()
    length = prepared.queries.shape[-2]
    step = rows or rows_per_block(prepared)
    mixed = torch.empty_like(prepared.values)
    for start in range(0, length, step):
        if tick is not None:
            tick()
        block = slice(start, min(start + step, length))
        mixed[..., block, :] = _weights(prepared, block) @ prepared.values
    return prepared.finished(mixed)


def _weights(prepared: Prepared, rows: slice) -> torch.Tensor:
    scores = prepared.scores(rows)
    added = prepared.added(rows)
    if added is not None:
        scores += added
    if prepared.is_causal:
        scores.masked_fill_(prepared.later(rows), -math.inf)
    return torch.softmax(scores, dim=-1)
