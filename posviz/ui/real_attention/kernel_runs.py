"""The comparisons of kernels that this session has made: each stays, also one that was ended."""

from __future__ import annotations

import streamlit as st

from posviz.lab.kernels import KernelPlan
from posviz.lab.kernels.records import KernelRun
from posviz.lab.workers import Status
from posviz.ui.lab import job_status, result_of
from posviz.ui.literal import literal

STATE = "real_attention_kernel_runs"
MOST_KEPT = 12


def of_session(key: str) -> list[KernelRun]:
    """All runs of this session with at least one point, the oldest first."""
    kept: list[KernelRun] = st.session_state.setdefault(STATE, [])
    for run in (result_of(key), _ended_early(job_status(key))):
        if isinstance(run, KernelRun) and run.points and run not in kept:
            kept.append(run)
    del kept[:-MOST_KEPT]
    return kept


def _ended_early(status: Status | None) -> KernelRun | None:
    """What a run had measured that was cancelled or failed."""
    if status is None or status.is_active or status.phase == "done" or status.progress is None:
        return None
    partial: KernelRun | None = status.progress.partial
    return partial


def chosen(kept: list[KernelRun], plan: KernelPlan | None, key: str) -> KernelRun:
    """The run to show, the newest at first, under a line that says what it is of."""
    place = len(kept) - 1
    if len(kept) > 1:
        # A new run is a new box, which opens with it.
        place = st.selectbox(
            "Runs of this session",
            range(len(kept) - 1, -1, -1),
            format_func=lambda at: f"{at + 1}: {_in_words(kept[at])}",
            key=f"{key}-run-shown-{len(kept)}",
        )
    run = kept[place]
    st.markdown(f"Measured in this session: **{literal(_in_words(run))}**.")
    if plan is not None and dict(run.plan) != plan.arguments:
        st.info("What stands below was measured with other settings than those above.")
    return run


def _in_words(run: KernelRun) -> str:
    plan, shape = KernelPlan(**run.plan), run.shape
    longest = max(one.length for one in run.points)
    return (
        f"{run.title}, {run.link}, {plan.dtype}, {shape['batch']} × {shape['heads']} heads of "
        f"{shape['head_dim']} dimensions, up to {longest:,} tokens, on {run.device}"
    )
