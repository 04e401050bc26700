"""The radix view: the phases of RoPE as the digits of the position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Source
from posviz.encodings.rotary import HeadDim, RotaryFamily
from posviz.parameters import Parameter
from posviz.results import Array, LogitRow, Rotation, device_of, frozen


class Radix(RotaryFamily):
    """RoPE, read as a number system of base β = b^(2/D): pair i is the digit of weight β^i.

    The digit ⌊n/β^i⌋ mod β and the phase n/β^i mod 2π are both periodic and both slow down by β
    from one pair to the next; the phase moves smoothly where the digit jumps.
    """

    title: ClassVar[str] = "Radix view of RoPE"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="RoPE is a β-ary encoding",
            authors="Su",
            year=2023,
            place="kexue.fm 9675",
        ),
    )
    formula: ClassVar[str] = (
        r"\beta = b^{2/D},\quad d_i = \left\lfloor n / \beta^{i} \right\rfloor \bmod \beta,\quad "
        r"\varphi_i = \left(n / \beta^{i}\right) \bmod 2\pi"
    )
    shows: ClassVar[str] = (
        "An odometer: pair 0 is the least significant digit and turns fastest; each further pair "
        "turns β times slower. With D = 8 and b = 10⁴ the digits are the decimal ones."
    )
    limits: ClassVar[str] = (
        "A way to read RoPE, not another encoding: the rotation is that of RoPE, and no carry "
        "passes from one pair to the next."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the first dimensions are the slow, most significant ones. Pair 0 "
        "has frequency 1, the highest, and is the least significant digit.",
        "You may have read wavelengths of 6.3, 7.5, …, 52261 for 100 dimensions and b = 10⁴. The "
        "second is 7.55405: 7.5 is cut, not rounded, which would give 7.6.",
        "You may have read that more positions need more digits. NTK-aware scaling keeps "
        "their number and takes a larger β; position interpolation divides the position instead.",
    )
    used_in: ClassVar[tuple[str, ...]] = ()
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "100 dimensions (encyclopedia)": {"head_dim": 100, "base": 10000.0, "reading": "phase"},
        "decimal digits": {"head_dim": 8, "base": 10000.0, "reading": "digit"},
        "binary digits": {"head_dim": 20, "base": 1024.0, "reading": "digit"},
    }
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
radix = round($base ** (2 / $head_dim), 12)
weights = radix ** np.arange($head_dim // 2)
digits = np.floor(positions[:, None] / weights % radix)
dials = np.floor($marks * (positions[:, None] / weights / (2 * np.pi) % 1))
cos = np.cos(positions[:, None] / weights)
"""
    snippet_gives: ClassVar[str] = "cos"

    head_dim: HeadDim = 100
    reading: Annotated[
        Literal["phase", "digit"],
        Parameter(
            help="What the rows of indices show: the mark that the dial of a pair points to, or "
            "the digit of the position in base β (whole for a whole β only)."
        ),
    ] = "phase"
    marks: Annotated[
        int,
        Ge(2),
        Le(360),
        Parameter(
            help="Marks on a dial, evenly over its full turn (phase only).", slider=(2, 60), step=1
        ),
    ] = 10
    dials: Annotated[
        int,
        Ge(1),
        Le(64),
        Parameter(
            help="How many pairs are shown, from the fastest to the slowest.",
            slider=(1, 16),
            step=1,
        ),
    ] = 8

    @property
    def radix(self) -> float:
        """β, the ratio of the weights of neighbouring digits."""
        # Rounded, because 10000 ** (1/4) is a hair off 10, and 10 would be written as one digit.
        return round(float(self.base ** (2 / self.head_dim)), 12)

    def shown_pairs(self) -> list[int]:
        """The pairs whose rows are shown, evenly over all of them."""
        count = min(self.dials, self.pairs)
        return [round(place) for place in np.linspace(0, self.pairs - 1, count)]

    def read(self, at: Array, pair: int) -> Array:
        """Digit, or mark on the dial, of one pair: (positions,) whole numbers."""
        xp = array_namespace(at)
        if self.reading == "digit":
            # floor(x mod β) is ⌊x⌋ mod β for a whole β, and stays below β for any other.
            return xp.astype(xp.floor(at / self.radix**pair % self.radix), xp.int64)
        turned = at * self.radix**-pair / (2 * np.pi)
        return xp.astype(xp.floor(self.marks * (turned - xp.floor(turned))), xp.int64)

    def encode(self, positions: Any) -> Rotation:
        """The rotation of RoPE, with a row of digits for each shown pair, the fastest first.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.

        Returns
        -------
        Rotation with ``strips``.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row or are beyond 2^53.
        """
        at = self.position_row(positions)
        ladder = self.ladder(self.base, xp=array_namespace(at), device=device_of(at))
        strips = {f"pair {pair}": frozen(self.read(at, pair)) for pair in self.shown_pairs()}
        return Rotation(**self.shared(at, ladder), strips=strips)

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        ladder = self.ladder(self.base, xp=array_namespace(like), device=device_of(like))
        return self.rotated_row(length, ladder, like)
