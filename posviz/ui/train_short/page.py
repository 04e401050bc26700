"""The page: a plan, the curves while they come, and what extension makes of a trained model."""

from __future__ import annotations

import streamlit as st

from posviz.lab.training.plan import EXTENSION_SECONDS, MOST_SECONDS, TRAINING_SHARE
from posviz.ui import exchange, live
from posviz.ui.lab import progress
from posviz.ui.literal import literal, with_code
from posviz.ui.slots.page import session_of
from posviz.ui.train_short import runs, sections
from posviz.ui.train_short.curves import curves_of
from posviz.ui.train_short.desk import DESK
from posviz.ui.train_short.expected import expected_seconds
from posviz.ui.train_short.lessons import LESSONS, lesson_of
from posviz.ui.train_short.view import View

STATE = "train_short_page"
BOARD = f"{STATE}_board"
POLL = 1.0
"""Seconds between two looks at a training that runs."""


def show() -> None:
    """Draw the page."""
    session = session_of(DESK, STATE)
    session.view = runs.gathered(session.view)
    st.title("Train short, test long")
    st.caption(
        "Tiny models, trained on sequences of L tokens and tested on longer ones: which encodings "
        "hold past the length they were trained on, and which break? Curves of the usual settings "
        f"are stored; your own training and its test take at most {MOST_SECONDS:.0f} s of one core "
        "for each encoding, the training for an extension "
        f"{TRAINING_SHARE * EXTENSION_SECONDS:.0f} s. A busy machine takes longer by the clock."
    )
    _lessons()
    _progress()
    # While a training runs, the board looks every second how far it is.
    st.fragment(_board, run_every=POLL if runs.is_active() else None)()
    sections.explain()


def _lessons() -> None:
    """Views to start from, each for one question."""
    with st.container(horizontal=True, key="posviz-lessons"):
        st.markdown("Start from", width="content")
        for title, lesson in LESSONS.items():
            st.page_link(
                "pages/train_short.py",
                label=title,
                query_params=lesson.address,
                width="content",
            )


def _progress() -> None:
    """How far the jobs of this page are; the curves themselves are drawn on the board."""
    for key in (runs.TRAIN, runs.EXTEND):
        progress(key, lambda status: None)


def _board() -> None:
    """What can be started, and the board with the newest numbers of all curves."""
    session: exchange.Session[View] = st.session_state[STATE]
    session.view = runs.gathered(session.view)
    request = live.last_request(BOARD) or {}
    reply = exchange.answer(DESK, session, request)
    # The results are this session's: no route beside the page could answer with them.
    del reply["direct"]
    _look(session.view)
    _start(session.view)
    live.board(live.pack(reply, known=request.get("known", ())), key=BOARD)
    sections.follow(session.view)
    _sources(session.view)


def _look(view: View) -> None:
    """What to look for in the view of a lesson, above it; an empty line elsewhere."""
    title = lesson_of(DESK.address(view))
    st.markdown(f"**{title}.** {LESSONS[title].look}" if title else "")


def _start(view: View) -> None:
    """The button that trains what the board shows."""
    count, is_active, why = len(view.shown), runs.is_active(), runs.absent()
    with st.container(horizontal=True, vertical_alignment="center", key="posviz-train"):
        what = "this encoding" if count == 1 else f"these {count} encodings"
        if st.button(
            f"Train {what}",
            type="primary",
            disabled=is_active or bool(why),
            key="train_short_start",
        ):
            runs.start_training(view)
            st.rerun()
        st.caption(with_code(why) if why else _plan_in_words(view), width="content")


def _plan_in_words(view: View) -> str:
    plan = view.plan
    layers = f"{plan.layers} {'layer' if plan.layers == 1 else 'layers'}"
    return literal(
        f"{plan.about.title}: {plan.steps:,} steps of {plan.sequences} sequences of L = "
        f"{plan.length} tokens, {layers} of width {plan.width}, seed {plan.seed}; at "
        f"most {plan.training_seconds:.0f} s of one core for the training of each{_expected(view)}"
    )


def _expected(view: View) -> str:
    """What the stored runs say of the time, where they say anything."""
    plan = view.plan
    seconds = expected_seconds(plan, curves_of(view))
    if not seconds:
        return ""
    if seconds > plan.training_seconds:
        return f"; the slowest needs about {seconds:.0f} s, so it may be cut"
    return f"; the slowest needs about {seconds:.0f} s"


def _sources(view: View) -> None:
    """Where each encoding comes from: one element, since the board's answer carries each."""
    lines = [
        f"{item.label}: {item.spec.sources[0].text} · [explore](explore?encoding={item.spec.id})"
        for item in view.shown
    ]
    st.caption("\n\n".join(lines))
