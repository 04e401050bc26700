"""Python that gives the numbers of the figures, to take away."""

from __future__ import annotations

import streamlit as st

from posviz.lab.hashes import text_hash
from posviz.lab.language_model.records import Observation, Permuted
from posviz.ui.real_attention import model_choice

TEXTS = "real_attention_texts"
_LONGEST = 300


def remember(text: str) -> None:
    """Keep a text that is about to be read, under its hash."""
    texts: dict[str, str] = st.session_state.setdefault(TEXTS, {})
    texts[text_hash(text)] = text
    while len(texts) > 8:
        del texts[next(iter(texts))]


def text_of(seen: Observation | Permuted) -> str:
    """The text that a record is of: one of this session, or the passage of PosViz."""
    texts: dict[str, str] = st.session_state.get(TEXTS, {})
    passage = model_choice.passage()
    return {text_hash(passage): passage, **texts}.get(str(seen.facts["text_sha256"]), "")


def text_lines(text: str) -> str:
    """Lines that bring a text into a variable."""
    if text == model_choice.passage():
        return (
            "from importlib.resources import files\n\n"
            'path = files("posviz.lab") / "passages" / "passage.txt"\n'
            'text = path.read_text(encoding="utf-8").strip()\n'
        )
    if len(text) <= _LONGEST:
        return f"text = {text!r}\n"
    return 'text = open("text.txt", encoding="utf-8").read()  # the text of the box\n'


def observation(seen: Observation, last: str) -> str:
    """The run that the figures of all heads come from, and a line that prints numbers of it."""
    return call("posviz.lab.language_model.observe", "observe", seen.model, text_of(seen), last)


def call(
    module: str, function: str, model: str, text: str, last: str, *, arguments: str = ""
) -> str:
    """A task called by hand: what it reports while it runs is dropped."""
    return (
        f"{text_lines(text)}\n"
        f"from {module} import {function}\n\n"
        f"seen = {function}(lambda progress: None, model={model!r}, text=text{arguments})\n"
        f"{last}\n"
    )
