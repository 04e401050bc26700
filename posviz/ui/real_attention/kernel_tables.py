"""What stands below the figures of kernels: the numbers, what was refused, and the facts."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import streamlit as st

from posviz.lab.kernels.records import KernelRun, Point
from posviz.lab.kernels.shape import KERNELS
from posviz.ui.literal import literal

MIB = 1 << 20
COLUMNS = (
    "kernel",
    "length",
    "seconds",
    "repetitions",
    "made once (s)",
    "compiled (s)",
    "peak (MiB)",
    "error",
    "tolerance",
    "within",
    "rows compared",
    "note",
)


def show(run: KernelRun) -> None:
    """Table, refusals, notes, facts."""
    rows = [row(point) for point in run.points if not point.refused]
    if rows:
        st.dataframe(
            {name: [one[place] for one in rows] for place, name in enumerate(COLUMNS)},
            hide_index=True,
            column_config={
                "seconds": st.column_config.NumberColumn(format="%.4f"),
                "made once (s)": st.column_config.NumberColumn(format="%.3f"),
                "compiled (s)": st.column_config.NumberColumn(format="%.1f"),
                "peak (MiB)": st.column_config.NumberColumn(format="%.1f"),
                "error": st.column_config.NumberColumn(format="%.2e"),
                "tolerance": st.column_config.NumberColumn(format="%.2e"),
            },
            key="kernels-table",
        )
    for line in refusals(run):
        st.markdown(f"- {literal(line)}")
    for note in (*run.notes, str(run.facts.get("memory", ""))):
        st.caption(literal(note))
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            lambda: as_csv(run),
            "posviz-kernels.csv",
            "text/csv",
            key="kernels-csv",
            on_click="ignore",
            help="Every point with all its numbers, the refused ones with their reason.",
        )
        with st.popover("Facts", key="kernels-facts"):
            st.json({**run.plan, **run.shape, "device": run.device, **run.facts})
        with st.popover("This run in Python", key="kernels-run-python"):
            st.code(call(run.plan), "python")


def row(point: Point) -> tuple[Any, ...]:
    """A point as a row of the table."""
    within = {None: "", True: "yes", False: "no"}[point.is_within]
    peak = None if point.peak_bytes is None else point.peak_bytes / MIB
    return (
        KERNELS[point.kernel],
        point.length,
        point.seconds,
        point.repetitions,
        point.made_seconds,
        point.compile_seconds,
        peak,
        point.error,
        point.tolerance,
        within,
        point.rows_compared,
        point.note,
    )


def refusals(run: KernelRun) -> list[str]:
    """What was not run, each reason of a kernel once."""
    found: dict[tuple[str, str], list[int]] = {}
    for point in run.refused:
        found.setdefault((point.kernel, point.refused), []).append(point.length)
    return [f"Not run, {KERNELS[kernel]}: {reason}" for kernel, reason in found]


def as_csv(run: KernelRun) -> str:
    """All points, one a row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, "refused"])
    for point in run.points:
        writer.writerow([*("" if one is None else one for one in row(point)), point.refused])
    return out.getvalue()


def call(arguments: Mapping[str, Any]) -> str:
    """Python that makes the same run."""
    given = "\n".join(f"    {name}={value!r}," for name, value in arguments.items())
    return (
        "from posviz.lab.kernels.run import measure\n\n"
        f"run = measure(\n    lambda progress: print(progress.note),\n{given}\n)\n"
        "for point in run.points:\n    print(point)\n"
    )
