"""The text that the model reads: the one that comes with PosViz, or a file of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import streamlit as st

from posviz.lab.hashes import text_hash
from posviz.ui.literal import literal

PASSAGE = "alice.txt"
STATE = "real_attention_own_text"
_PROBLEM = f"{STATE}_problem"
_ROUND = f"{STATE}_round"
MOST_MEGABYTES = 8


@dataclass(frozen=True)
class OwnText:
    """A text that this session brought; it is in no address."""

    name: str
    text: str


@lru_cache(maxsize=1)
def passage() -> str:
    """The long text that comes with PosViz."""
    return (files("posviz.lab") / "passages" / PASSAGE).read_text(encoding="utf-8")


def own() -> OwnText | None:
    """That of this session, if it has one."""
    found: OwnText | None = st.session_state.get(STATE)
    return found


def text() -> str:
    """What is read."""
    held = own()
    return held.text if held else passage()


def hash_of_text() -> str:
    """What results know this text by."""
    return _hash(text())


@lru_cache(maxsize=4)
def _hash(one: str) -> str:
    return text_hash(one)


def choose() -> None:
    """The control, and what will be read."""
    key = f"{STATE}_file_{st.session_state.get(_ROUND, 0)}"
    st.file_uploader(
        "Text to read, if not alice.txt",
        type=["txt", "md"],
        key=key,
        max_upload_size=MOST_MEGABYTES,
        on_change=_taken,
        args=(key,),
        help="Text in UTF-8. As many of its tokens are read as “Tokens to read” says, and it must "
        "have at least that many.",
    )
    if problem := st.session_state.get(_PROBLEM):
        st.error(literal(problem))
    held = own()
    if held is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Reads **{literal(held.name)}**, {len(held.text):,} characters.")
            st.button("Back to alice.txt", on_click=_back, width="content")


def _taken(key: str) -> None:
    file = st.session_state[key]
    st.session_state.pop(_PROBLEM, None)
    if file is None:
        st.session_state.pop(STATE, None)
        return
    try:
        found = file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        st.session_state[_PROBLEM] = (
            f"Extension: the file {file.name} must be text in UTF-8; its byte {error.start:,} is "
            "not. It was not used."
        )
        return
    if not found.strip():
        st.session_state[_PROBLEM] = f"Extension: the file {file.name} is empty. It was not used."
        return
    st.session_state[STATE] = OwnText(file.name, found)


def _back() -> None:
    """Read the passage again, with an empty control."""
    for name in (STATE, _PROBLEM):
        st.session_state.pop(name, None)
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
