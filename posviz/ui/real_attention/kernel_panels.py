"""The figures of a comparison of kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posviz.figures.lab.kernel_error import kernel_error
from posviz.figures.lab.kernel_lines import Refused
from posviz.figures.lab.kernel_memory import kernel_memory
from posviz.figures.lab.kernel_time import kernel_time
from posviz.figures.spec import FigureSpec, Series
from posviz.lab.kernels.records import KernelRun, Point
from posviz.lab.kernels.shape import KERNELS
from posviz.ui.panel import Panel, Words

MIB = 1 << 20


def panels(run: KernelRun) -> list[Panel]:
    """Time, memory and error against length."""
    crosses = refused_points(run)
    figures: list[tuple[str, Words, FigureSpec]] = [
        ("kernel-time", kernel_time, kernel_time.build(lines(run, _seconds), crosses)),
        ("kernel-memory", kernel_memory, kernel_memory.build(lines(run, _mib), crosses)),
        (
            "kernel-error",
            kernel_error,
            kernel_error.build(lines(run, _error), _tolerance(run), crosses),
        ),
    ]
    return [
        Panel(
            name,
            words,
            None,
            figure,
            {},
            notes(run) if name == "kernel-time" else (),
            is_wide=name == "kernel-error",
        )
        for name, words, figure in figures
    ]


def lines(
    run: KernelRun, value: Callable[[Point], float | None]
) -> list[Series[tuple[np.ndarray, np.ndarray]]]:
    """One line for each kernel that ran, in the colour of its place in the list of kernels."""
    found = []
    for slot, (name, label) in enumerate(KERNELS.items()):
        points = run.of(name)
        if points:
            values = [value(point) for point in points]
            numbers = [np.nan if one is None else one for one in values]
            lengths = np.asarray([point.length for point in points], dtype=float)
            found.append(Series(label, slot, (lengths, np.asarray(numbers, dtype=float))))
    return found


def refused_points(run: KernelRun) -> list[Refused]:
    """Points that were not run of kernels that ran at another length: the budget ended them."""
    slots = {name: slot for slot, name in enumerate(KERNELS)}
    return [
        Refused(KERNELS[one.kernel], slots[one.kernel], one.length, one.refused)
        for one in run.refused
        if run.of(one.kernel)
    ]


def notes(run: KernelRun) -> list[str]:
    """What is read from these numbers: how the kernels compare at the longest common length."""
    last = {name: points[-1] for name in KERNELS if (points := run.of(name))}
    if len(last) < 2:
        return []
    length = min(point.length for point in last.values())
    at = {
        name: point
        for name in last
        for point in run.of(name)
        if point.length == length and point.seconds
    }
    if len(at) < 2:
        return []
    by_time = sorted(at, key=lambda name: at[name].seconds or 0.0)
    fast, slow = by_time[0], by_time[-1]
    ratio = (at[slow].seconds or 0.0) / (at[fast].seconds or 1.0)
    return [
        f"At {length:,} tokens {KERNELS[fast]} takes {at[fast].seconds:.3g} s and {KERNELS[slow]} "
        f"{at[slow].seconds:.3g} s, {ratio:.1f} times as much."
    ]


def _seconds(point: Point) -> float | None:
    return point.seconds


def _mib(point: Point) -> float | None:
    return None if point.peak_bytes is None else point.peak_bytes / MIB


def _error(point: Point) -> float | None:
    return point.error


def _tolerance(run: KernelRun) -> tuple[np.ndarray, np.ndarray]:
    allowed = {one.length: one.tolerance for one in run.points if one.tolerance is not None}
    lengths = sorted(allowed)
    return np.asarray(lengths, dtype=float), np.asarray(
        [allowed[at] for at in lengths], dtype=float
    )
