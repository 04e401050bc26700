"""What a cast to a shorter number format makes of a number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, sentence


@dataclass(frozen=True)
class Format:
    """A binary format: bits of significand, the leading one among them, and the normal range."""

    bits: int
    smallest: float
    largest: float

    @property
    def dropped_bits(self) -> int:
        return 53 - self.bits

    @property
    def overflow(self) -> float:
        """From here on a number is cast to infinity: half a spacing above the largest."""
        return self.largest + math.ldexp(self.largest / (2 - 2.0 ** (1 - self.bits)), -self.bits)

    @property
    def subnormals_per_one(self) -> float:
        return math.ldexp(1 / self.smallest, self.bits - 1)


FORMATS = {
    "bfloat16": Format(8, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
    "float16": Format(11, 2.0**-14, 65504.0),
    "float32": Format(24, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
    "float64": Format(53, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
}
DTYPES = tuple(FORMATS)


def rounded(values: ArrayLike, dtype: str) -> Floats:
    """The values after a cast to the dtype, as float64: to the nearest, ties to the even one.

    One rounding, straight from float64. (The casts of ml_dtypes and torch from float64 to bfloat16
    go through float32 and round twice: 1 + 2^-8 + 2^-40 becomes 1 there, and 1 + 2^-7 here. From
    float32 values all agree.) Beyond the largest number of the dtype stands an infinity, between 0
    and the smallest there may be a 0, and NaN stays.

    Parameters
    ----------
    values : numbers of any shape.
    dtype : "bfloat16", "float16", "float32" or "float64".

    Returns
    -------
    float64 of the same shape.

    Raises
    ------
    ParameterError : another dtype.

    Examples
    --------
    >>> rounded([256, 257, 258, 259], "bfloat16").tolist()
    [256.0, 256.0, 258.0, 260.0]
    """
    checked_dtype("rounding", dtype)
    exact = np.asarray(values, dtype=np.float64)
    kept = FORMATS[dtype]
    if not kept.dropped_bits:
        return exact.copy()
    if dtype == "float32":
        return _through_float32(exact)
    cast = _fewer_bits(exact, kept.dropped_bits)
    _fix_range(cast, exact, kept)
    return cast


def rounded_off_ties(values: Floats, dtype: str, out: Floats) -> Floats:
    """The same several times as fast, for numbers of size at most 1.

    By Veltkamp's splitting (Dekker 1971, Numerische Mathematik 18, section 5): the nearest number,
    but at a tie either of both neighbours.

    Parameters
    ----------
    values : float64 of any shape.
    out : (2, *shape) to work in; the first half is returned.
    """
    kept = FORMATS[checked_dtype("rounding", dtype)]
    cast: Floats = out[0]
    rest: Floats = out[1]
    if dtype in ("float32", "float64"):
        cast[...] = values if dtype == "float64" else _through_float32(values)
        return cast
    np.multiply(values, 2.0**kept.dropped_bits + 1, out=cast)
    np.subtract(cast, values, out=rest)
    np.subtract(cast, rest, out=cast)
    if np.abs(values, out=rest).min() < kept.smallest:
        _fix_small(cast, values, rest < kept.smallest, kept)
    return cast


def _through_float32(exact: Floats) -> Floats:
    """The one short format that the processor rounds to itself."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(exact.astype(np.float32).astype(np.float64))


def _fewer_bits(exact: Floats, dropped: int) -> Floats:
    """Half of the last kept place, less where that place is even, carries into the kept bits."""
    bits = np.atleast_1d(exact).view(np.uint64)
    up = bits >> np.uint64(dropped)
    up &= np.uint64(1)
    up += np.uint64((1 << dropped - 1) - 1)
    up += bits
    up &= np.uint64((1 << 64) - (1 << dropped))
    return up.view(np.float64).reshape(exact.shape)


def _fix_range(cast: Floats, exact: Floats, kept: Format) -> None:
    """What is not a normal number of the format: below, above, NaN."""
    size = np.abs(exact)
    if not size.size or (size.min() >= kept.smallest and size.max() <= kept.largest):
        return
    _fix_small(cast, exact, size < kept.smallest, kept)
    if not size.max() <= kept.largest:
        np.copyto(cast, np.copysign(np.inf, exact), where=np.abs(cast) > kept.largest)
        np.copyto(cast, exact, where=np.isnan(exact))


def _fix_small(cast: Floats, exact: Floats, small: NDArray[np.bool_], kept: Format) -> None:
    cast[small] = np.rint(exact[small] * kept.subnormals_per_one) / kept.subnormals_per_one


def checked_dtype(owner: str, dtype: str) -> str:
    """The dtype, if its casts are modelled; ParameterError otherwise."""
    if dtype not in DTYPES:
        raise ParameterError(sentence(owner, "dtype", f"one of {', '.join(DTYPES)}", dtype))
    return dtype


def spacing(value: float, dtype: str) -> float:
    """From one number of the dtype to the next larger in size, around a normal value; exact."""
    kept = FORMATS[checked_dtype("spacing", dtype)]
    if not 0 < abs(value) <= kept.largest:
        return math.inf if value else 0.0
    return math.ldexp(1.0, math.frexp(value)[1] - kept.bits)
