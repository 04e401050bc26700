"""Which model reads which text, and the button that has it read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import streamlit as st

from posviz.lab import installed
from posviz.lab.errors import LabError
from posviz.lab.language_model import stored
from posviz.lab.language_model.sources import PACKAGED, SMOLLM2, Source, find, may_name_paths
from posviz.ui.literal import literal, with_code
from posviz.ui.real_attention import address
from posviz.ui.real_attention.wish import LONGEST_IN_ADDRESS, LONGEST_TEXT, Wish

NEEDED = ("torch", "transformers", "accelerate")
"""What loading a model asks for."""


@lru_cache(maxsize=1)
def passage() -> str:
    """The passage that comes with PosViz."""
    return (files("posviz.lab") / "passages" / "passage.txt").read_text(encoding="utf-8").strip()


def start_from(lessons: Mapping[str, Mapping[str, str]]) -> None:
    """Views to start from, each for one question: a title, and the address of it."""
    with st.container(horizontal=True):
        st.markdown("Start from", width="content")
        for title, parameters in lessons.items():
            st.page_link(
                "pages/real_attention.py",
                label=title,
                query_params=dict(parameters),
                width="content",
            )


def text_of(wish: Wish) -> str:
    return wish.text or passage()


def choose_model(wish: Wish, *, is_told: bool = False) -> Source | None:
    """Draw the choice of a model; None, and a sentence, where the chosen one is not here."""
    options = list(dict.fromkeys([SMOLLM2.name, *([wish.model] if wish.model else [])]))
    st.session_state.setdefault(address.key("model"), wish.model or SMOLLM2.name)
    st.selectbox(
        "Language model",
        options,
        format_func=lambda name: SMOLLM2.title if name == SMOLLM2.name else name,
        accept_new_options=may_name_paths(),
        key=address.key("model"),
        on_change=_model_changed,
        help="SmolLM2-135M-Instruct: 30 layers, 9 heads over 3 key heads, head_dim 64, base "
        "100,000, window 8,192. "
        + (
            "Or type the path of a GGUF file, or of a folder with config.json, safetensors and a "
            "tokenizer."
            if may_name_paths()
            else "This server opens no other models; whoever runs it can allow that."
        ),
    )
    return None if is_told else found(wish)


def _model_changed() -> None:
    name = st.session_state[address.key("model")] or SMOLLM2.name
    address.choose(model="" if name == SMOLLM2.name else name)
    st.session_state[address.key("model")] = name


def found(wish: Wish) -> Source | None:
    """The chosen model; None, and a sentence, where it or what runs it is not here."""
    if say_what_is_missing(wish):
        return None
    return find(wish.model or SMOLLM2.name)


def say_what_is_missing(wish: Wish) -> bool:
    """Whether the chosen model, or what runs it, is not here; then a box says it."""
    name = wish.model or SMOLLM2.name
    said = problem(name)
    if not said:
        return False
    if unusable(name):
        st.warning(said, icon=":material/warning:")
    else:
        tell_of_missing(said)
    return True


def tell_of_missing(said: str) -> None:
    """What is to be installed, as Markdown."""
    st.info(f"{said} What is stored is drawn all the same.", icon=":material/download:")


def problem(name: str) -> str:
    """Why a model cannot run here, as a sentence of Markdown; else empty."""
    return unusable(name) or with_code(_absent(name))


def unusable(name: str) -> str:
    """What is wrong with a model that people named, as Markdown; no installing helps there."""
    if any(name == one.name for one in PACKAGED):
        return ""
    try:
        find(name)
    except LabError as error:
        return literal(str(error))
    return ""


def _absent(name: str) -> str:
    """What is to be installed; the command that brings a model brings what runs it, too."""
    packaged = next((one for one in PACKAGED if one.name == name), None)
    lacking = packaged.missing() if packaged else ""
    return lacking or installed.missing(*NEEDED, what="Running a model")


def label_stored() -> None:
    """Say that what follows ships with PosViz, and how it is made again."""
    st.markdown(
        ":material/inventory_2: **Stored results**, measured once on the passage that comes with "
        f"PosViz; a run of your own replaces them. To make them again: `{stored.COMMAND}`"
    )


def choose_text(wish: Wish) -> None:
    """Draw the box for the text."""
    st.session_state.setdefault(address.key("text"), text_of(wish))
    st.text_area(
        "Text",
        key=address.key("text"),
        height=130,
        max_chars=LONGEST_TEXT,
        on_change=_text_changed,
        help="What the model reads. It is counted in tokens when it has run; a text longer than "
        "the page observes is cut, and that is said.",
    )
    if len(wish.text) > LONGEST_IN_ADDRESS:
        st.caption(
            f"The link of this page leaves a text of more than {LONGEST_IN_ADDRESS:,} characters "
            "out; it opens with the passage that comes with PosViz."
        )


def _text_changed() -> None:
    typed = st.session_state[address.key("text")]
    is_own = bool(typed.strip()) and typed != passage()
    address.choose(text=typed if is_own else "")
    st.session_state[address.key("text")] = typed if is_own else passage()
