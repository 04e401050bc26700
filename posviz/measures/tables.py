"""What a table of position vectors looks like: lengths of rows, waves, and its principal plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PowerSpectrum:
    """How much of a table's change over the positions is of which frequency.

    Attributes
    ----------
    cycles : (frequencies,) turns over the whole table, from 1 on.
    wavelengths : (frequencies,) positions per turn.
    power : (frequencies,) share of the power, the mean over all columns; they add up to 1, or are
        all 0 where no column changes.
    """

    cycles: np.ndarray
    wavelengths: np.ndarray
    power: np.ndarray


@dataclass(frozen=True)
class PrincipalPlane:
    """The plane through the rows of a table in which they differ most.

    Attributes
    ----------
    path : (positions, 2) coordinates in the first two principal axes.
    share : share of the variance that the plane holds.
    radius : mean distance of the path from its mean.
    radius_spread : standard deviation of that distance as a share of its mean: 0 for a circle,
        infinite where all rows are equal.
    turns : how often the path goes around its mean, positive against the clock.
    """

    path: np.ndarray
    share: float
    radius: float
    radius_spread: float
    turns: float


def row_norms(vectors: np.ndarray) -> np.ndarray:
    """Length of each row of (positions, model_dim): (positions,)."""
    return np.asarray(np.linalg.norm(np.asarray(vectors, dtype=float), axis=1))


def power_spectrum(vectors: np.ndarray) -> PowerSpectrum:
    """Mean power spectrum of the columns over the positions, their means taken off.

    |Σ_t (p_t[j] - mean) e^{-2πi f t/n}|², summed over the columns j, for f = 1 … n/2, each
    frequency counted with its mirror image. Positions are taken as evenly spaced.
    """
    table = np.asarray(vectors, dtype=float)
    count = len(table)
    both = np.abs(np.fft.rfft(table - table.mean(axis=0), axis=0)) ** 2
    power = both.sum(axis=1)[1:]
    # All frequencies but the last of an even number stand for two.
    twice = np.where(2 * np.arange(1, len(power) + 1) == count, 1.0, 2.0)
    total = float((power * twice).sum())
    cycles = np.arange(1, len(power) + 1)
    return PowerSpectrum(
        cycles=cycles,
        wavelengths=count / cycles,
        power=power * twice / total if total > 0 else power,
    )


def principal_plane(vectors: np.ndarray) -> PrincipalPlane:
    """The first two principal axes of (positions, model_dim), and how near a circle the path is.

    Found from the products of the rows or of the columns, whichever are fewer: the table itself
    would take a hundred times as long to decompose.
    """
    table = np.asarray(vectors, dtype=float)
    centred = table - table.mean(axis=0)
    # Rows that are equal leave the rounding of their mean, which is no direction.
    noise = len(table) * (np.finfo(float).eps * float(np.abs(table).max(initial=0.0))) ** 2
    path, sizes, total = _first_axes(centred, 64 * noise * table.shape[1])
    radii = np.hypot(path[:, 0], path[:, 1])
    radius = float(radii.mean())
    # Between neighbours the path is taken to go the short way around.
    around = np.diff(np.arctan2(path[:, 1], path[:, 0]))
    short = (around + np.pi) % (2 * np.pi) - np.pi
    return PrincipalPlane(
        path=path,
        share=float(np.sum(sizes)) / total if total > 0 else 0.0,
        radius=radius,
        radius_spread=float(radii.std()) / radius if radius > 0 else float("inf"),
        turns=float(short.sum()) / (2 * np.pi),
    )


def _first_axes(centred: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Coordinates in the first two axes, the variance along them, and the whole variance."""
    count, columns = centred.shape
    total = float(np.sum(centred**2))
    path = np.zeros((count, 2))
    if total <= noise:
        return path, np.zeros(2), 0.0
    by_rows = count <= columns
    products = centred @ centred.T if by_rows else centred.T @ centred
    values, axes = np.linalg.eigh(products)
    sizes = np.maximum(values[::-1][:2], 0.0)
    first = axes[:, ::-1][:, :2]
    path[:, : first.shape[1]] = first * np.sqrt(sizes) if by_rows else centred @ first
    return path, sizes, total
