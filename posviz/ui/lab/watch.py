"""How a job stands, looked at every second for as long as it waits or runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from posviz.lab.workers import Status
from posviz.ui.lab.jobs import ANOTHER, cancel_job, job_status, refusal, result_of
from posviz.ui.literal import literal

EVERY = 1.0
"""Seconds between two looks."""


def progress(
    key: str,
    draw: Callable[[Status], None] | None = None,
    draw_result: Callable[[Any], None] | None = None,
) -> None:
    """Show the job of a key, and draw what it has so far.

    Below the bar stands what ``draw`` makes of the status (``status.progress.partial`` is the
    result so far) while the job waits or runs, and after it was cancelled or has failed. Else
    ``draw_result`` gets the last result of this key, if there is one; a figure that both draw with
    :func:`figures_in_place` under one key stays in place. Both run inside a fragment: a control
    that they show reruns them alone.

    When the job ends, the page runs once as a whole.
    """
    _refused(key)
    status = job_status(key)
    is_active = status is not None and status.is_active
    look = st.fragment(_look, run_every=EVERY if is_active else None)
    look(key, draw, draw_result, is_active)


def _refused(key: str) -> None:
    reason = refusal(key)
    if not reason:
        return
    st.error(literal(reason))
    if reason == ANOTHER:
        st.button("Cancel the other run", key=f"{key}-cancel-other", on_click=cancel_job)


def _look(
    key: str,
    draw: Callable[[Status], None] | None,
    draw_result: Callable[[Any], None] | None,
    was_active: bool,
) -> None:
    status = job_status(key)
    if was_active and not (status is not None and status.is_active):
        st.rerun()  # as a whole: the result is here, and nobody needs to look any more
    if status is not None:
        _show(key, status)
    if status is not None and status.phase != "done":
        if draw is not None:
            draw(status)
    elif draw_result is not None and (result := result_of(key)) is not None:
        draw_result(result)


def _show(key: str, status: Status) -> None:
    if status.is_active:
        _show_active(key, status)
    elif status.phase == "failed":
        st.error(literal(status.problem))
    elif status.phase == "cancelled":
        st.info(literal(status.problem) or f"Cancelled after {duration(status.seconds)}.")
    else:
        _small(f"Finished in {duration(status.seconds)}.")


def _show_active(key: str, status: Status) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container():
            st.progress(status.progress.part if status.progress else 0.0, text=_doing(status))
            _small(_times(status))
        st.button(
            "Cancel",
            key=f"{key}-cancel",
            on_click=cancel_job,
            args=(key,),
            disabled=status.is_cancelling,
            width="content",
        )


def _small(text: str) -> None:
    """A line in small letters; those of st.caption are too pale to be read by everybody."""
    st.markdown(f":small[{text}]")


def _doing(status: Status) -> str:
    if status.is_cancelling:
        return "Cancelling …"
    if status.phase == "queued":
        return place(status.place)
    if status.progress is not None and status.progress.note:
        return literal(status.progress.note)
    return "The worker gets ready …" if status.progress is None else "Running …"


def place(number: int) -> str:
    """A position in the queue in words: 1 is next."""
    before = number - 1
    if not before:
        return "Place 1 in the queue: yours is the next run."
    return f"Place {number} in the queue: {before} {'run' if before == 1 else 'runs'} before yours."


def _times(status: Status) -> str:
    ends = "" if status.is_cancelling else "; reloading the page ends it"
    return f"{_clock(status)}{ends}"


def _clock(status: Status) -> str:
    if status.phase == "queued":
        return f"waiting for {duration(status.seconds)}"
    used = f"{duration(status.seconds)} used"
    if status.seconds_left is None:
        return used
    return f"{used}, about {duration(status.seconds_left)} left"


def duration(seconds: float) -> str:
    """A time as one would say it: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
