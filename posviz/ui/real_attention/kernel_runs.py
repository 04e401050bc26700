"""The comparisons of kernels that this session has made: each stays, also one that was ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from posviz.lab.kernels import KernelPlan
from posviz.lab.kernels.records import KernelRun
from posviz.lab.workers import Status
from posviz.ui.lab import job_status, result_of
from posviz.ui.literal import literal

STATE = "real_attention_kernel_runs"
MOST_KEPT = 12


@dataclass
class _Kept:
    """Runs by their number in this session."""

    runs: dict[int, KernelRun] = field(default_factory=dict)
    count: int = 0
    taken: dict[str, KernelRun] = field(default_factory=dict)
    """The last one of those that came to their end, and of those that did not."""


def of_session(key: str) -> Mapping[int, KernelRun]:
    """The newest runs of this session with at least one point, by number."""
    kept: _Kept = st.session_state.setdefault(STATE, _Kept())
    for end, run in (("done", result_of(key)), ("early", _ended_early(job_status(key)))):
        if run is None or not run.points or kept.taken.get(end) == run:
            continue
        kept.taken[end] = run
        kept.count += 1
        kept.runs[kept.count] = run
    for number in sorted(kept.runs)[:-MOST_KEPT]:
        del kept.runs[number]
    return kept.runs


def _ended_early(status: Status | None) -> KernelRun | None:
    """What a run had measured that was cancelled or failed."""
    if status is None or status.is_active or status.phase == "done" or status.progress is None:
        return None
    partial: KernelRun | None = status.progress.partial
    return partial


def chosen(runs: Mapping[int, KernelRun], plan: KernelPlan | None, key: str) -> KernelRun:
    """The run to show, the newest at first, under a line that says what it is of."""
    number = newest = max(runs)
    if len(runs) > 1:
        # A new run makes a new box, which opens with it.
        number = st.selectbox(
            "Runs of this session",
            sorted(runs, reverse=True),
            format_func=lambda one: f"{one}: {_in_words(runs[one])}",
            key=f"{key}-run-shown-{newest}",
        )
    run = runs[number]
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
