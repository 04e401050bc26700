"""The jobs of one session: one at a time, each under the key of the section that started it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from posviz.lab.errors import LabError
from posviz.lab.workers import Job, Status
from posviz.ui.lab.workshop import presence, workshop

STATE = "posviz-lab"
LOST = (
    "The run was cancelled, since this page had no connection to the server for a while: "
    "start it again."
)
ANOTHER = (
    "Another run of yours has not ended, and a session has one at a time: wait for it or cancel it."
)


@dataclass
class Jobs:
    """What a session has asked of the workers."""

    owner: str = field(default_factory=lambda: secrets.token_hex(8))
    """Its name in the pool."""
    key: str | None = None
    """Of the job that waits or runs."""
    ended: dict[str, Status] = field(default_factory=dict)
    """How the last job of each key has ended, without its result."""
    results: dict[str, Any] = field(default_factory=dict)
    """The last result of each key."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why the last job of a key was not even queued."""


def jobs() -> Jobs:
    """Those of this session, brought up to date."""
    found: Jobs = st.session_state.setdefault(STATE, Jobs())
    _gather(found)
    return found


def _gather(own: Jobs) -> Status | None:
    """Take what has ended out of the pool; how a job stands that has not."""
    if own.key is None:
        return None
    status = workshop().status(own.owner)
    if status is None:
        status = Status("cancelled", problem=LOST)
    if status.is_active:
        return status
    if status.phase == "done":
        own.results[own.key] = status.result
    own.ended[own.key] = replace(status, result=None)
    workshop().forget(own.owner)
    own.key = None
    return None


def run_job(key: str, job: Job) -> None:
    """Queue a job of this session under a key of its page.

    Call it before :func:`progress` in the same run of the page, or as the callback of a button.
    What hinders it is told there, in a sentence.
    """
    own = jobs()
    own.refused.pop(key, None)
    if own.key is not None:
        own.refused[key] = ANOTHER
        return
    try:
        workshop().submit(own.owner, job, presence())
    except LabError as error:
        own.refused[key] = str(error)
        return
    own.ended.pop(key, None)
    own.key = key


def job_status(key: str) -> Status | None:
    """How the last job of this key stands or has ended; None when this session started none.

    A status of a job that has ended holds no result: :func:`result_of` does.
    """
    own: Jobs = st.session_state.setdefault(STATE, Jobs())
    status = _gather(own)
    return status if status is not None and own.key == key else own.ended.get(key)


def result_of(key: str) -> Any | None:
    """What the last job of this key that was not cancelled and did not fail has given."""
    return jobs().results.get(key)


def cancel_job(key: str | None = None) -> None:
    """End the job of this key, or with None whichever job this session has."""
    own = jobs()
    if own.key is not None and key in (None, own.key):
        workshop().cancel(own.owner)


def refusal(key: str) -> str:
    """Why the last job of this key was not queued; empty where it was, or where that has passed."""
    own = jobs()
    if own.refused.get(key) == ANOTHER and own.key is None:
        del own.refused[key]
    return own.refused.get(key, "")
