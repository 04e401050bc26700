"""The server's one pool of workers, and who still wants what it does."""

from __future__ import annotations

import atexit
from collections.abc import Callable

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from posviz.lab.workers import Pool


@st.cache_resource(
    show_spinner=False, validate=lambda pool: not pool.is_closed, on_release=Pool.close
)
def workshop() -> Pool:
    """The pool that all sessions share; it starts no process before the first job.

    Raises
    ------
    LabError : POSVIZ_WORKERS holds no number of workers.
    """
    pool = Pool()
    atexit.register(pool.close)
    return pool


def presence() -> Callable[[], bool]:
    """Asks whether the session of this script run still has a browser; any thread may ask."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return lambda: True
    server, session = runtime.get_instance(), context.session_id
    return lambda: bool(server.is_active_session(session))
