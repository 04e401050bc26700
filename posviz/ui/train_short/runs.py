"""Trainings of this session: starting them, and keeping what they give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from posviz.lab.installed import missing
from posviz.lab.training.plan import EXTENDED_BY
from posviz.lab.training.trained import Extended, Trained
from posviz.lab.workers import Job, Status
from posviz.ui.lab import job_status, result_of, run_job
from posviz.ui.train_short import extension
from posviz.ui.train_short.curves import is_cut, is_of
from posviz.ui.train_short.view import View

TRAIN, EXTEND = "train_short", "train_short_extension"
"""Keys of the two jobs of the page."""
KEPT = "train_short_results"
MOST_KEPT = 60
"""Results that a session keeps of each kind, the newest ones."""


def absent() -> str:
    """Why nothing can be trained here, in one sentence; empty where it can."""
    return missing("torch", what="Training")


def start_training(view: View) -> None:
    """Train the encodings of the board, one after the other."""
    links = list(dict.fromkeys(item.link for item in view.shown))
    arguments = {"links": links, "plan": view.plan.model_dump()}
    run_job(TRAIN, Job("posviz.lab.training.run:train_all", arguments))


def start_extension(view: View) -> None:
    """Train RoPE by the plan, then test it with other frequencies."""
    plan = extension.plan_of(view.plan).model_dump()
    arguments = {"plan": plan, "factors": list(EXTENDED_BY)}
    run_job(EXTEND, Job("posviz.lab.training.run:extend", arguments))


def is_active() -> bool:
    """Whether a job of this page waits or runs."""
    found = [job_status(key) for key in (TRAIN, EXTEND)]
    return any(status is not None and status.is_active for status in found)


def gathered(view: View) -> View:
    """The view with all results of this session: those that are done, and those on their way."""
    kept: dict[str, list[Any]] = st.session_state.setdefault(KEPT, {TRAIN: [], EXTEND: []})
    found = {}
    for key in (TRAIN, EXTEND):
        status, last = job_status(key), result_of(key)
        given = [*_results(last), *_on_the_way(status)]
        for one in given:
            if one.is_done:
                kept[key] = _with(kept[key], one)
        found[key] = (*kept[key], *(one for one in given if not one.is_done))
    return replace(view, trained=found[TRAIN], extended=found[EXTEND])


def _on_the_way(status: Status | None) -> list[Any]:
    """What a job has given so far; of one that was ended, only what was finished."""
    if status is None or status.phase == "done" or status.progress is None:
        return []
    return [one for one in _results(status.progress.partial) if one.is_done or status.is_active]


def _results(found: Any) -> list[Any]:
    """The results in what a task gives: a list of them, one, or none."""
    if found is None:
        return []
    return list(found) if isinstance(found, list | tuple) else [found]


def _with(kept: list[Any], one: Trained | Extended) -> list[Any]:
    """The results with a newer one, in the place of what was known of the same training.

    A training that was cut takes no place of one that came to its end.
    """
    text = one.link if isinstance(one, Trained) else ""
    others = [
        old for old in kept if not is_of(old, text, one.plan) or (is_cut(one) and not is_cut(old))
    ]
    return [*others, one][-MOST_KEPT:]
