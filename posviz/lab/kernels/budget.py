"""What a point will cost, guessed before it is run, and whether that is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from posviz.lab.kernels.naive import BLOCK_BYTES

GIB = 1 << 30
LEAST_BYTES = 8 << 20
"""Peaks below this are mostly those of the process around the kernel, and say nothing of a longer
sequence."""


@dataclass(frozen=True)
class Sizes:
    """The tensors of a run, but for the length."""

    batch: int
    heads: int
    head_dim: int
    itemsize: int
    has_bias: bool = True
    """Whether numbers are added to q·k, so that a matrix may be made of them."""


def predicted_bytes(kernel: str, length: int, sizes: Sizes) -> int:
    """From the shapes: what a kernel allocates beside its inputs, mostly.

    The whole matrix of logits exists as products and as weights, beside the matrix of bias and
    causal mask, which is filled block by block.
    """
    pairs = length * length
    logits = sizes.batch * sizes.heads * pairs * sizes.itemsize
    bias = sizes.heads * pairs * sizes.itemsize if sizes.has_bias else 0
    outputs = 2 * sizes.batch * sizes.heads * length * sizes.head_dim * sizes.itemsize
    # Blocks hold float64; a short sequence is less than one.
    block = min(BLOCK_BYTES, 8 * sizes.batch * sizes.heads * pairs)
    matrix = max(bias, pairs * sizes.itemsize) + 3 * block
    if kernel == "naive":
        return 2 * logits + matrix + outputs
    if kernel == "naive_blocks":
        rows = sizes.batch * sizes.heads * length * sizes.itemsize
        return 4 * max(block, 16 * rows) + outputs
    if kernel == "sdpa_matrix":
        return matrix + outputs
    return block + outputs


@dataclass
class Budget:
    """Time and memory that are left; what was measured says what comes next.

    Attributes
    ----------
    most_seconds, most_bytes : for the run, and for one point.
    free : bytes that are free now, or None where nobody tells.
    share : the part of its own share that a run may use of what is free.
    sharers : how many runs may go on at once here; each has an equal share.
    """

    most_seconds: float
    most_bytes: int
    free: Callable[[], int | None]
    share: float = 0.8
    sharers: int = 1
    begun: float = field(default_factory=time.monotonic)
    _seconds: dict[str, tuple[int, float]] = field(default_factory=dict)
    _bytes: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun

    def learn(self, what: str, length: int, seconds: float, peak: int | None) -> None:
        """What one call of a kernel, or the encoding itself, took at a length."""
        self._seconds[what] = (length, seconds)
        if peak is not None and peak >= LEAST_BYTES:
            self._bytes[what] = (length, peak)

    def refusal(
        self,
        what: str,
        length: int,
        needed: int,
        extra_seconds: float = 0.0,
        power: int = 2,
    ) -> str:
        """Why a point may not be run, in a sentence; empty where it may.

        Time and memory are taken to grow with a ``power`` of the length from the last point that
        was measured; attention costs the square at most.
        """
        at, peak = self._bytes.get(what, (length, 0))
        needed = max(needed, int(peak * (length / at) ** power))
        free = self.free()
        if needed > self.most_bytes:
            return (
                f"{length:,} tokens would need about {_gib(needed)}, more than the "
                f"{_gib(self.most_bytes)} that this run may use."
            )
        if free is not None and needed > self.share * free / self.sharers:
            among = f" and that {self.sharers} runs may share" if self.sharers > 1 else ""
            return (
                f"{length:,} tokens would need about {_gib(needed)}, more than "
                f"{self.share / self.sharers:.0%} of the {_gib(free)} that are free here{among}."
            )
        at, seconds = self._seconds.get(what, (length, 0.0))
        coming = 2 * seconds * (length / at) ** power + extra_seconds
        left = self.most_seconds - self.elapsed
        if left <= 0:
            return f"{length:,} tokens: the {self.most_seconds:g} s of this run are used up."
        if coming > left:
            return (
                f"{length:,} tokens would take about {coming:.3g} s, more than the {left:.3g} s "
                f"left of {self.most_seconds:g} s."
            )
        return ""


def _gib(number: float) -> str:
    return f"{number / GIB:.2g} GiB" if number >= GIB / 10 else f"{number / (1 << 20):.3g} MiB"
