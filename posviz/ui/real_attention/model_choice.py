"""Which model reads which text, and the button that has it read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import streamlit as st

from posviz.lab import installed
from posviz.lab.errors import LabError
from posviz.lab.language_model import stored
from posviz.lab.language_model.sources import SMOLLM2, Source, find, may_name_paths
from posviz.ui.literal import literal
from posviz.ui.real_attention import address
from posviz.ui.real_attention.wish import LONGEST_IN_ADDRESS, LONGEST_TEXT, Wish

NEEDED = ("torch", "transformers")


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


def choose_model(wish: Wish) -> Source | None:
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
    return found(wish)


def _model_changed() -> None:
    name = st.session_state[address.key("model")] or SMOLLM2.name
    address.choose(model="" if name == SMOLLM2.name else name)
    st.session_state[address.key("model")] = name


def found(wish: Wish) -> Source | None:
    """The chosen model; None, and a sentence, where it or what runs it is not here."""
    name = wish.model or SMOLLM2.name
    if said := problem(name):
        st.info(literal(said), icon=":material/download:")
        return None
    return find(name)


def problem(name: str) -> str:
    """Why a model cannot run here, in a sentence; else empty."""
    try:
        find(name)
    except LabError as error:
        return str(error)
    return installed.missing(*NEEDED)


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
