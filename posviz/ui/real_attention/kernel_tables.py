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
    "encoding (s)",
    "peak (MiB)",
    "error",
    "tolerance",
    "error ÷ tolerance",
    "encoding left out",
    "within",
    "rows compared",
    "note",
)
_EXPLAINED = {
    "seconds": ("%.4f", "Median of one call, nothing that is made before counted in."),
    "made once (s)": (
        "%.3f",
        "Before the call: the matrix of bias, window and causal mask, or FlexAttention's mask of "
        "blocks.",
    ),
    "compiled (s)": ("%.1f", "What the first call of a compiled kernel takes beyond the others."),
    "encoding (s)": (
        "%.4f",
        "What the encoding itself takes at this length, once for all kernels: q and k turned, or "
        "the bias by distance made.",
    ),
    "peak (MiB)": ("%.1f", "Most memory beside the inputs, a matrix made before counted in."),
    "error": (
        "%.2e",
        "Difference from the attention of posviz itself in float64, of the output that uses most "
        "of its tolerance.",
    ),
    "tolerance": ("%.2e", "What rounding in this number format allows that output."),
    "error ÷ tolerance": ("%.2f", "At most 1 where the kernel gives the same attention."),
    "repetitions": ("%d", "Calls, of whose times the median is taken."),
    "rows compared": ("%d", "Rows of the output that were compared with posviz itself."),
    "encoding left out": (
        "%.3g",
        "A control: the same number if the encoding were left out. Far above 1, a wrong encoding "
        "would be seen.",
    ),
}

_SHORT = {"repetitions": "calls", "rows compared": "rows", "error ÷ tolerance": "error ÷ tol."}
"""Headings under which all columns fit a page; the CSV has the long ones."""


def show(run: KernelRun, key: str = "kernels") -> None:
    """Table, refusals, notes, facts; ``key`` begins the keys of what is drawn."""
    encoding = dict(run.encoding_seconds)
    rows = [row(point, encoding) for point in run.points if not point.refused]
    if rows:
        table = {name: [one[place] for one in rows] for place, name in enumerate(COLUMNS)}
        if not any(table["note"]):
            del table["note"]
        st.dataframe(
            table,
            hide_index=True,
            column_config={
                name: st.column_config.NumberColumn(
                    _SHORT.get(name, name), format=shape, help=literal(words)
                )
                for name, (shape, words) in _EXPLAINED.items()
            },
            key=f"{key}-table",
            placeholder="–",
        )
    for line in refusals(run):
        st.markdown(f"- {literal(line)}")
    for note in (machine(run), *run.notes, str(run.facts.get("memory", ""))):
        st.caption(literal(note))
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            lambda: as_csv(run),
            "posviz-kernels.csv",
            "text/csv",
            key=f"{key}-csv",
            on_click="ignore",
            help="Every point with all its numbers, the refused ones with their reason.",
        )
        with st.popover("Facts", key=f"{key}-facts"):
            st.json({**run.plan, **run.shape, "device": run.device, **run.facts})
        with st.popover("This run in Python", key=f"{key}-run-python"):
            st.code(call(run.plan), "python")


def machine(run: KernelRun) -> str:
    """How busy the machine was, as far as it tells."""
    load, others = run.facts.get("load"), run.facts.get("others")
    threads = run.facts.get("threads", "?")
    found = [f"{threads} thread{'' if threads == 1 else 's'}"]
    if load is not None:
        found.append(f"load {load:g} when it began (processes that ran or waited)")
    if others is not None:
        found.append(f"{cores(others)} used by other processes meanwhile")
    return f"The machine: {', '.join(found)}."


def cores(count: float) -> str:
    """A mean number of busy cores with its noun."""
    told = f"{count:.2g}" if count < 10 else f"{count:.0f}"
    return f"{told} core{'' if told == '1' else 's'}"


def row(point: Point, encoding: Mapping[int, float]) -> tuple[Any, ...]:
    """A point as a row of the table; ``encoding`` is length to the core's seconds."""
    within = {None: "", True: "yes", False: "no"}[point.is_within]
    peak = None if point.peak_bytes is None else point.peak_bytes / MIB
    return (
        KERNELS[point.kernel],
        point.length,
        point.seconds,
        point.repetitions,
        point.made_seconds,
        point.compile_seconds,
        encoding.get(point.length),
        peak,
        point.error,
        point.tolerance,
        point.share,
        point.control,
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
    encoding = dict(run.encoding_seconds)
    for point in run.points:
        numbers = row(point, encoding)
        writer.writerow([*("" if one is None else one for one in numbers), point.refused])
    return out.getvalue()


def call(arguments: Mapping[str, Any]) -> str:
    """Python that makes the same run."""
    given = "\n".join(f"    {name}={value!r}," for name, value in arguments.items())
    return (
        "from posviz.lab.kernels.run import measure\n\n"
        f"run = measure(\n    lambda progress: print(progress.note),\n{given}\n)\n"
        "for point in run.points:\n    print(point)\n"
    )
