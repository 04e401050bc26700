"""torch's scaled_dot_product_attention, with nothing materialised or with the bias as a matrix."""

from __future__ import annotations

import math

import torch
from torch.nn.functional import scaled_dot_product_attention

from posviz.lab.kernels.prepare import Prepared

_MASK_BYTES = 16 << 20
"""What the blocks of a bias take while a matrix is filled."""


def why_not_plain(prepared: Prepared) -> str:
    """Why SDPA cannot run without a matrix; empty where it can."""
    if content := why_not(prepared):
        return content
    if prepared.has_bias:
        return (
            "SDPA takes a bias or a window only as a matrix, which the variant with a matrix gives "
            "it."
        )
    return ""


def why_not_matrix(prepared: Prepared) -> str:
    """Why SDPA cannot run with a matrix; empty where it can."""
    if content := why_not(prepared):
        return content
    if not has_matrix(prepared):
        return "There is nothing to put into a matrix: no bias, no window and no causal mask."
    return ""


def why_not(prepared: Prepared) -> str:
    """Why no fused kernel can run it; empty where one can."""
    if prepared.is_own:
        return (
            f"{prepared.spec.title} makes its logits from the content, pair by pair; only the "
            "core's own attention runs it."
        )
    if prepared.is_remapped:
        return (
            f"{prepared.spec.title} changes the distance itself, so q and k cannot be turned one "
            "by one; a fused kernel gets no logits that are right."
        )
    return ""


def plain(prepared: Prepared) -> torch.Tensor:
    """With the flag for the causal mask: (batch, heads, queries, head_dim)."""
    return prepared.finished(
        scaled_dot_product_attention(
            prepared.queries,
            prepared.keys,
            prepared.values,
            is_causal=prepared.is_causal,
            scale=prepared.scale,
        )
    )


def has_matrix(prepared: Prepared) -> bool:
    """Whether there is anything to put into a matrix."""
    return prepared.has_bias or prepared.is_causal


def matrix(prepared: Prepared) -> torch.Tensor:
    """Bias, window and causal mask as one matrix: (1, heads or 1, queries, keys)."""
    length = prepared.queries.shape[-2]
    heads = 1 if not prepared.has_bias else getattr(prepared.result, "heads", 1)
    whole = torch.zeros(
        (heads, length, length), dtype=prepared.queries.dtype, device=prepared.queries.device
    )
    # Filled block by block, so that only the matrix itself has queries × keys numbers.
    step = max(16, _MASK_BYTES // (8 * heads * length))
    for start in range(0, length, step):
        rows = slice(start, min(start + step, length))
        added = prepared.added(rows)
        if added is not None:
            whole[:, rows] = added
        if prepared.is_causal:
            whole[:, rows].masked_fill_(prepared.later(rows), -math.inf)
    return whole[None]


def with_matrix(prepared: Prepared, mask: torch.Tensor) -> torch.Tensor:
    """With :func:`matrix` as the mask: (batch, heads, queries, head_dim)."""
    return prepared.finished(
        scaled_dot_product_attention(
            prepared.queries,
            prepared.keys,
            prepared.values,
            attn_mask=mask,
            scale=prepared.scale,
        )
    )
