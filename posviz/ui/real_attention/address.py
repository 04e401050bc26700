"""The page's wish in the address, and back.

Each section writes what differs from the page's first view, and leaves alone what is not its own:
the kernels keep their values in the address themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from posviz.lab.kernels.shape import PLAN
from posviz.parameters import ParameterError, shortened
from posviz.ui.real_attention.wish import (
    DECLARED,
    LONGEST_IN_ADDRESS,
    OF_SECTION,
    Wish,
)

STATE = "real_attention"
TEXTS = ("text", "bert_text")


@dataclass
class Kept:
    """What one browser tab has on this page."""

    wish: Wish
    problems: list[str] = field(default_factory=list)
    """Sentences about the address, shown until something is changed."""
    written: list[dict[str, str]] = field(default_factory=list)
    """Addresses that this page wrote; any other one was opened by the person."""


def read(parameters: Mapping[str, str]) -> tuple[Wish, list[str]]:
    """The wish that an address stands for, and a sentence for all that was not usable in it."""
    wish, problems = Wish(), []
    known = _names(parameters.get("section", wish.section))
    for name, text in parameters.items():
        if name not in known:
            problems.append(
                f"From the address: this section knows no setting {shortened(name)}, so it was "
                "not used."
            )
            continue
        if name not in DECLARED:
            continue  # of the kernels, which read their own
        try:
            wish = wish.with_values(**{name: DECLARED[name].parse(text, wish.title)})
        except ParameterError as error:
            problems.append(f"From the address: {error} It was not used.")
    return wish, problems


def _names(section: str) -> tuple[str, ...]:
    """What an address of a section may hold; of an unknown one, anything that another has."""
    if section not in OF_SECTION:
        return tuple(DECLARED)
    return ("section", *OF_SECTION[section], *(PLAN if section == "kernels" else ()))


def write(wish: Wish) -> dict[str, str]:
    """The parameters that restore what is shown; a long text is left out."""
    first = Wish()
    names = ("section", *OF_SECTION[wish.section])
    return {
        name: DECLARED[name].format(value)
        for name in names
        if (value := getattr(wish, name)) != getattr(first, name)
        and not (name in TEXTS and len(value) > LONGEST_IN_ADDRESS)
    }


def kept() -> Kept:
    """This tab's wish; an address that was opened or edited makes a new one."""
    shown = dict(st.query_params)
    known: Kept | None = st.session_state.get(STATE)
    # An empty address is a way back to the page: it opens where the reader left it.
    if known is not None and (not shown or _own(shown) in known.written):
        return known
    wish, problems = read(shown)
    found = Kept(wish, problems, [_own(shown)])
    st.session_state[STATE] = found
    for name in DECLARED:
        st.session_state.pop(key(name), None)
    return found


def _own(parameters: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in parameters.items() if name in DECLARED}


def key(name: str) -> str:
    """The key of the control of a value."""
    return f"wish_{name}"


def control(name: str) -> str:
    """The same, with the wish's value in it where the control was not on the page before."""
    known: Kept = st.session_state[STATE]
    st.session_state.setdefault(key(name), getattr(known.wish, name))
    return key(name)


def changed(name: str) -> None:
    """Take what a control was set to; for ``on_change``."""
    choose(**{name: st.session_state[key(name)]})


def choose(**values: Any) -> None:
    """Wish for something else; a value that cannot be used is said, and nothing is changed."""
    known: Kept = st.session_state[STATE]
    known.problems = []
    try:
        known.wish = known.wish.with_values(**values)
    except ParameterError as error:
        known.problems = [str(error)]
        return
    for name, value in values.items():
        st.session_state[key(name)] = value


def show_in_browser(known: Kept) -> None:
    """Bring the address up to date with what is shown."""
    now = write(known.wish)
    if now not in known.written:
        known.written.append(now)
        del known.written[:-64]
    if known.wish.section == "kernels":
        now |= {name: text for name, text in st.query_params.items() if name in PLAN}
    # A link of the page to itself changes what the server knows and not what the browser shows, so
    # it is told every time.
    st.query_params.from_dict(now)
