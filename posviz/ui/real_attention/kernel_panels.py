"""The figures of a comparison of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from posviz.figures.lab.kernel_error import kernel_error
from posviz.figures.lab.kernel_lines import Refused
from posviz.figures.lab.kernel_memory import kernel_memory
from posviz.figures.lab.kernel_time import kernel_time
from posviz.figures.spec import FigureSpec, Series
from posviz.lab.kernels.records import KernelRun, Point
from posviz.lab.kernels.shape import KERNELS
from posviz.ui.panel import Panel, Words
from posviz.ui.real_attention.kernel_tables import cores

MIB = 1 << 20
FLOOR = 1.0
"""MiB that the peak of a process tells apart."""
BUSY = 0.25
"""Cores that others use from which on the times are not those of an idle machine."""


def panels(run: KernelRun) -> list[Panel]:
    """Time, memory and error against length."""
    crosses = refused_points(run)
    floor = FLOOR if run.plan.get("device", "cpu") == "cpu" else 0.0
    time = kernel_time.build(lines(run, _seconds), crosses, _columns(run.encoding_seconds))
    memory = kernel_memory.build(lines(run, _mib), crosses, floor)
    error = kernel_error.build(lines(run, _share), control(run), crosses)
    figures: list[tuple[str, Words, FigureSpec]] = [
        ("kernel-time", kernel_time, time),
        ("kernel-memory", kernel_memory, memory),
        ("kernel-error", kernel_error, error),
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
    """What is read from these numbers: how the kernels compare at the longest common length, what
    was made for them before, who did not run, and whether the machine was busy."""
    return [*_compared(run), *_not_drawn(run), *busy(run)]


def _compared(run: KernelRun) -> list[str]:
    last = {name: points[-1] for name in KERNELS if (points := run.of(name))}
    length = min((point.length for point in last.values()), default=0)
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
    found = [
        f"At {length:,} tokens one call of {KERNELS[fast]} takes {at[fast].seconds:.3g} s and of "
        f"{KERNELS[slow]} {at[slow].seconds:.3g} s, {ratio:.1f} times as much."
    ]
    made = [
        f"{one.made_seconds:.3g} s ({KERNELS[name]})"
        for name, one in at.items()
        if one.made_seconds
    ]
    if made:
        found.append(f"Made before that call, once: {', '.join(made)}.")
    return found


def _not_drawn(run: KernelRun) -> list[str]:
    """Kernels that ran at no length, with the first reason."""
    reasons: dict[str, str] = {}
    for one in run.refused:
        if not run.of(one.kernel):
            reasons.setdefault(one.kernel, one.refused)
    return [f"Not drawn, {KERNELS[kernel]}: {reason}" for kernel, reason in reasons.items()]


def busy(run: KernelRun) -> list[str]:
    """A warning where others used the machine while it was measured."""
    others = run.facts.get("others")
    if others is None or others < BUSY:
        return []
    return [
        f"Other processes used {cores(others)} meanwhile: on an idle machine the times are "
        "shorter and steadier."
    ]


def _seconds(point: Point) -> float | None:
    return point.seconds


def _mib(point: Point) -> float | None:
    return None if point.peak_bytes is None else point.peak_bytes / MIB


def _share(point: Point) -> float | None:
    return point.share


def control(run: KernelRun) -> tuple[np.ndarray, np.ndarray]:
    """Length, and what leaving the encoding out would reach there."""
    found = {one.length: one.control for one in run.points if one.control is not None}
    return _columns(sorted(found.items()))


def _columns(pairs: Sequence[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.asarray(sorted(pairs), dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]
