"""The logits of one query by distance: what an encoding makes of the last query of a context."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from posviz.results.arrays import Array
from posviz.results.rotary import Layout


@dataclass(frozen=True, kw_only=True)
class LogitRow:
    """The last query of ``length`` tokens and the key at distance δ = 0 … length-1 before it.

    z_h(δ) = gain · (share · rotary_gain · rotated content + (1 - share) · content) + bias_h(δ),
    where pair i of the rotated content is turned by δ'·f_i and keeps e^(λ_i·δ), and keys beyond
    ``window`` are not seen. Nothing here grows with the square of the length.

    Attributes
    ----------
    length : tokens of the context.
    heads : heads that ``bias`` tells apart.
    inv_freq : (pairs,) radians per token, or None where content is not rotated.
    log_kept : (pairs,) λ, the logarithm of what a pair keeps per token, at most 0; None for 0.
    seen : the distance that the rotation sees, for an array of distances; None where it is δ.
    rotary_share : share of the head's dimensions that ``inv_freq`` speaks of.
    rotary_gain : factor on the rotated part, attention_factor².
    gain : factor on all of the content's logit at this length.
    bias : distances to (heads, distances), or None for 0.
    head_bias : distances and a head to (distances,), where that is quicker than all heads.
    bias_waves : (waves,) radians per token and (heads,) factors, where the bias of a head is its
        factor times Σ (cos(δ·f) - 1), which has a quick way at many distances.
    head_dim, layout : size of a head, and which two of its dimensions form pair i, where content is
        rotated as queries and keys; 0 where it is not.
    divides_logits : False where q·k is not divided by √head_dim (T5).
    window : the farthest distance that is seen.
    alike : (length,) the score of equal content where it is known as numbers, 1 at distance 0.
    note : what a reader must know of how the row was made; empty for most.
    varies : True where the row of another length differs in more than its fields say.
    """

    length: int
    heads: int = 1
    inv_freq: Array | None = None
    log_kept: Array | None = None
    seen: Callable[[Array], Array] | None = None
    rotary_share: float = 1.0
    rotary_gain: float = 1.0
    gain: float = 1.0
    bias: Callable[[Array], Array] | None = None
    head_bias: Callable[[Array, int], Array] | None = None
    bias_waves: tuple[Array, Array] | None = None
    head_dim: int = 0
    layout: Layout = "half_split"
    divides_logits: bool = True
    window: float = math.inf
    alike: Array | None = None
    note: str = ""
    varies: bool = False

    def keys_seen(self, length: int) -> int:
        """How many keys the last query of a context of this length sees, itself included."""
        return length if math.isinf(self.window) else min(length, int(self.window) + 1)

    def bias_of(self, distances: Array, head: int) -> Array:
        """The bias of one head, the last one where there are fewer: (distances,)."""
        assert self.bias is not None
        chosen = min(head, self.heads - 1)
        if self.head_bias is not None:
            return self.head_bias(distances, chosen)
        return self.bias(distances)[chosen]

    @property
    def kind(self) -> Hashable:
        """Equal for two rows of one spec where the shorter is the beginning of the longer."""
        arrays = tuple(_digest(one) for one in (self.inv_freq, self.log_kept))
        numbers = (self.rotary_share, self.rotary_gain, self.gain, self.window)
        return (*arrays, *numbers, self.length if self.varies else None)


def _digest(array: Array | None) -> Any:
    return None if array is None else tuple(array.tolist())
