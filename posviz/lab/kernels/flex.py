"""torch's flex_attention, with the encoding as a function of a score.

A bias by distance is looked up in the core's numbers, a bias that is a matrix in that matrix; a
window and the causal mask say which blocks of keys are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from posviz.lab.kernels.prepare import Prepared
from posviz.lab.kernels.sdpa import why_not as why_not_fused
from posviz.results import AttentionMask, MatrixBias, ToeplitzBias

BLOCK = 128
"""Queries and keys of a block that is left out as a whole, as torch has it."""

Score = Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Flex:
    """What the kernel is given beside queries, keys and values."""

    score: Score | None
    blocks: BlockMask | None


def why_not(prepared: Prepared) -> str:
    """Why FlexAttention cannot run it; empty where it can."""
    if fused := why_not_fused(prepared):
        return fused
    result = prepared.result
    count = result.positions.shape[0]
    looked_up = isinstance(result, ToeplitzBias | AttentionMask) and prepared.has_bias
    if looked_up and result.distances.shape[0] != 2 * count - 1:  # type: ignore[attr-defined]
        return (
            "FlexAttention looks a bias up by place, which needs evenly spaced positions; these "
            "are not."
        )
    return ""


def made(prepared: Prepared) -> Flex:
    """The function of a score and the blocks that are seen."""
    return Flex(_score(prepared), _blocks(prepared))


def run(prepared: Prepared, flex: Flex, kernel: Callable[..., Any] = flex_attention) -> Any:
    """(batch, heads, queries, head_dim); ``kernel`` is flex_attention, compiled or as it is."""
    mixed = kernel(
        prepared.queries,
        prepared.keys,
        prepared.values,
        score_mod=flex.score,
        block_mask=flex.blocks,
        scale=prepared.scale,
    )
    return prepared.finished(mixed)


def compiled() -> Callable[..., Any]:
    """flex_attention compiled for one shape; what was compiled before is forgotten."""
    torch._dynamo.reset()
    kernel: Callable[..., Any] = torch.compile(flex_attention, dynamic=False)
    return kernel


def _score(prepared: Prepared) -> Score | None:
    result = prepared.result
    if isinstance(result, ToeplitzBias) and prepared.has_bias:
        numbers, last = result.by_distance, result.positions.shape[0] - 1
        several = int(numbers.shape[0] > 1)

        def by_distance(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
            return score + numbers[head * several, query - key + last]

        return by_distance
    if isinstance(result, MatrixBias):
        matrix = result.values

        def by_pair(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
            return score + matrix[head, query, key]

        return by_pair
    return None


def _blocks(prepared: Prepared) -> BlockMask | None:
    """Which blocks are seen in part and which as a whole; None where all keys are seen."""
    result = prepared.result
    is_window = isinstance(result, AttentionMask) and prepared.has_bias
    if not is_window and not prepared.is_causal:
        return None
    count = result.positions.shape[0]
    tiles = -(-count // BLOCK)
    device = prepared.queries.device
    some = torch.zeros((tiles, tiles), dtype=torch.bool, device=device)
    every = torch.zeros_like(some)
    # One row of blocks at a time: a mask of all pairs would take what the kernel saves.
    for tile in range(tiles):
        rows = slice(tile * BLOCK, min((tile + 1) * BLOCK, count))
        seen = _seen(prepared, rows)
        padded = torch.nn.functional.pad(seen, (0, tiles * BLOCK - count))
        by_tile = padded.reshape(seen.shape[0], tiles, BLOCK)
        some[tile] = by_tile.any(2).any(0)
        every[tile] = by_tile.all(2).all(0) & (seen.shape[0] == BLOCK)
    in_part = some & ~every
    return BlockMask.from_kv_blocks(
        *_listed(in_part),
        *_listed(every),
        BLOCK_SIZE=BLOCK,
        mask_mod=_mask(prepared),
        seq_lengths=(count, count),
    )


def _seen(prepared: Prepared, rows: slice) -> torch.Tensor:
    later = prepared.later(rows)
    seen = ~later if prepared.is_causal else torch.ones_like(later)
    if isinstance(prepared.result, AttentionMask) and prepared.has_bias:
        seen &= torch.isfinite(prepared.result.block(rows))
    return seen


def _listed(tiles: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How many blocks each row has, and their numbers first in each row: (1, 1, rows, …)."""
    order = torch.argsort(tiles.to(torch.int32), dim=1, descending=True, stable=True)
    return tiles.sum(1, dtype=torch.int32)[None, None], order.to(torch.int32)[None, None]


def _mask(prepared: Prepared) -> Score:
    result: Any = prepared.result
    at = result.positions
    if not isinstance(result, AttentionMask) or not prepared.has_bias:

        def not_later(batch: Any, head: Any, query: Any, key: Any) -> Any:
            return at[query] >= at[key]

        return not_later
    visible, last = result.visible, at.shape[0] - 1
    if not prepared.is_causal:

        def in_window(batch: Any, head: Any, query: Any, key: Any) -> Any:
            return visible[query - key + last]

        return in_window

    def in_window_and_not_later(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return visible[query - key + last] & (at[query] >= at[key])

    return in_window_and_not_later
