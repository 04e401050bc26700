"""The section on kernels: what to run, how it goes, what came out."""

from __future__ import annotations

import functools

import streamlit as st

from posviz.lab import installed
from posviz.lab.kernels.records import STORED, KernelRun, read_runs
from posviz.lab.workers import Job, Status
from posviz.ui.lab import figures_in_place, progress, run_job
from posviz.ui.literal import literal, with_code
from posviz.ui.real_attention import (
    kernel_controls,
    kernel_panels,
    kernel_runs,
    kernel_tables,
    model_choice,
)

KEY = "kernels"
TASK = "posviz.lab.kernels.run:measure"


def show() -> None:
    """Draw the section."""
    st.markdown(
        "The same attention, computed by several kernels. A rotation is applied to q and k before "
        "any of them; a bias must be added to every logit, and where a kernel takes it only as a "
        "matrix of all pairs, memory grows with the square of the length. The encoding is the "
        "code of the other pages, run on torch tensors."
    )
    plan = kernel_controls.controls()
    problem = installed.missing("torch", what="Measuring kernels")
    if problem:
        model_choice.tell_of_missing(with_code(problem))
    if plan is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button(
                "Run",
                type="primary",
                key=f"{KEY}-run",
                disabled=bool(problem),
                help="Measure on this machine.",
            ):
                run_job(KEY, Job(TASK, plan.arguments))
            with st.popover("In Python", key=f"{KEY}-python"):
                st.code(kernel_tables.call(plan.arguments), "python")
            st.caption(kernel_controls.summary(plan), width="stretch")
    progress(KEY, _so_far)
    kept = kernel_runs.of_session(KEY)
    if kept:
        _draw(kernel_runs.chosen(kept, plan, KEY))
    if not kept or st.toggle("Show the stored results too", key=f"{KEY}-show-stored"):
        _stored(f"{KEY}-kept" if kept else KEY)


def _so_far(status: Status) -> None:
    """What a run has measured while it goes on; once it has ended it is one of the session's."""
    partial = status.progress.partial if status.progress else None
    if status.is_active and isinstance(partial, KernelRun) and partial.points:
        _draw(partial, f"{KEY}-live")


@functools.cache
def _stored_runs() -> tuple[str, tuple[KernelRun, ...]]:
    return read_runs(STORED / "cpu.json")


def _stored(key: str) -> None:
    """What was measured once, so that there is something to read before the first run."""
    command, runs = _stored_runs()
    by_link = {run.link: run for run in runs}
    chosen = st.segmented_control(
        "Stored results",
        list(by_link),
        default=runs[0].link,
        required=True,
        key=f"{KEY}-stored",
        format_func=lambda link: f"{by_link[link].title}: {link}",
    )
    run = by_link[chosen or runs[0].link]
    facts = run.facts
    st.info(
        literal(
            f"Stored, not measured now: {run.device}, torch "
            f"{facts['torch']}, Python {facts['python']}, seed {facts['seed']}. "
            f"{kernel_tables.machine(run)} The command that makes it again:"
        )
        + f" `{command}`"
    )
    _draw(run, key)


def _draw(run: KernelRun, key: str = KEY) -> None:
    """Figures, table, what was refused, what the numbers are."""
    figures_in_place(f"{key}-figures", kernel_panels.panels(run))
    kernel_tables.show(run, key)
