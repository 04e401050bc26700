"""Each pair before and after an extension: wavelength, divisor, band, turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posviz.encodings.ramps import turns
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import BEYOND, at_least, largest_distance
from posviz.measures.split_angle import Floats
from posviz.results import frozen, wavelengths

Band: TypeAlias = Literal["kept", "blended", "divided"]
BANDS: tuple[Band, ...] = ("kept", "blended", "divided")
"""In the order of the codes in ``Spectrum.band``."""

_SAME = 1e-12


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """The pairs of one spec at one length. All arrays are (pairs,); pair 0 is the fastest.

    Attributes
    ----------
    pairs : index of the pair.
    inv_freq, trained_inv_freq : radians per token, with the method and as trained.
    wavelengths : tokens per full turn with the method; infinite where a pair does not rotate.
    divisor : trained_inv_freq / inv_freq; infinite where the method stops a pair, 1 where the pair
        never rotated.
    full_divisor : the divisor farthest from 1, as a ratio. It is s for position interpolation,
        NTK-aware, NTK-by-parts, YaRN and llama3, infinite where pairs are stopped, below 1
        where a method only speeds pairs up, and 1 where nothing changes.
    band : 0 kept (divisor 1), 2 divided (divisor full_divisor, unless that is 1), 1 blended (all
        others); equal means to a relative 1e-12.
    kept, blended, divided : how many pairs are in each band.
    kept_share : γ in f' = γ·f + (1-γ)·f/s with s the full divisor: 1 where a pair is kept, 0 where
        it is divided. For a ramp method this is the ramp itself.
    turns_trained : full turns of the trained frequency within the trained window, L·f/2π.
    turns_target : full turns with the method within the largest distance that its rotation sees at
        this length: the length itself, or less where the method remaps distances.
    unfinished : the pair rotates, but never finished a turn in training (turns_trained < 1).
    beyond : how far an unfinished pair goes past its trained arc, turns_target / turns_trained; 1
        where it stays inside, and for every pair that did finish a turn.
    unfinished_count, beyond_count : how many pairs are unfinished, and how many have beyond > 1.
    """

    pairs: NDArray[np.int64]
    inv_freq: Floats
    trained_inv_freq: Floats
    wavelengths: Floats
    divisor: Floats
    full_divisor: float
    band: NDArray[np.int64]
    kept: int
    blended: int
    divided: int
    kept_share: Floats
    turns_trained: Floats
    turns_target: Floats
    unfinished: NDArray[np.bool_]
    beyond: Floats
    unfinished_count: int
    beyond_count: int


def spectrum(spec: RotaryEncoding, *, length: int, trained_length: int) -> Spectrum:
    """All pairs of a spec at this length, against the window that the model was trained with.

    Raises
    ------
    ParameterError : a length or a trained length below 1.
    """
    at_least("spectrum", "length", length, 1)
    at_least("spectrum", "trained_length", trained_length, 1)
    inv_freq = np.array(spec.frequencies(length))
    trained = np.array(spec.trained_frequencies())
    divisor = _ratio(trained, inv_freq)
    full, band = _bands(divisor)
    counts = np.bincount(band, minlength=len(BANDS))
    turns_trained = turns(trained, trained_length)
    turns_target = turns(inv_freq, largest_distance(spec, length))
    unfinished = (turns_trained > 0) & (turns_trained < 1)
    reach = _ratio(turns_target, turns_trained)
    beyond = np.where(unfinished & (reach > 1 + BEYOND), reach, 1.0)
    return Spectrum(
        pairs=frozen(np.arange(inv_freq.size)),
        inv_freq=frozen(inv_freq),
        trained_inv_freq=frozen(trained),
        wavelengths=wavelengths(inv_freq),
        divisor=frozen(divisor),
        full_divisor=full,
        band=frozen(band),
        kept=int(counts[0]),
        blended=int(counts[1]),
        divided=int(counts[2]),
        kept_share=frozen(_kept_share(divisor, full)),
        turns_trained=frozen(turns_trained),
        turns_target=frozen(turns_target),
        unfinished=frozen(unfinished),
        beyond=frozen(beyond),
        unfinished_count=int(np.count_nonzero(unfinished)),
        beyond_count=int(np.count_nonzero(beyond > 1)),
    )


def _kept_share(divisor: Floats, full: float) -> Floats:
    """γ = (1/divisor - 1/s) / (1 - 1/s); 1 everywhere when nothing is divided."""
    if full == 1:
        return np.ones_like(divisor)
    return (1 / divisor - 1 / full) / (1 - 1 / full)


def _ratio(over: Floats, under: Floats) -> Floats:
    """over / under for numbers of at least 0, where 0 / 0 is 1 (nothing changed)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((over == 0) & (under == 0), 1.0, over / under)


def _bands(divisor: Floats) -> tuple[float, NDArray[np.int64]]:
    with np.errstate(divide="ignore"):
        away = np.abs(np.log(divisor))
    full = float(divisor[np.argmax(away)])
    kept = np.isclose(divisor, 1.0, rtol=_SAME, atol=0)
    divided = np.isclose(divisor, full, rtol=_SAME, atol=0) & ~kept
    return full, np.where(kept, 0, np.where(divided, 2, 1))
