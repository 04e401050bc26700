"""The section of the page that goes from a length to settings, and between names of a number."""

from __future__ import annotations

from typing import Any

import streamlit as st

from posviz import solver
from posviz.parameters import ParameterError
from posviz.ui.context_extension.board import Session
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal

OPEN = "solver_open"
AMBIGUOUS = "alpha"
"""A name that tools use for six things; the others of the list have one meaning each."""


def show(session: Session) -> None:
    """Draw the section. What it holds is worked out only while it is open."""
    with st.expander("Solver: which settings reach a length", key=OPEN, on_change="rerun"):
        if not st.session_state[OPEN]:
            return
        _advice(session)
        st.divider()
        _conversion(session)


def _model(session: Session) -> dict[str, Any]:
    """The model as trained, as far as the page knows it."""
    spec: Any = session.view.model.spec(session.view.layer_type)
    return {"base": float(spec.base), "rotary_dim": int(spec.rotary_dim)}


def _advice(session: Session) -> None:
    view, known = session.view, _model(session)
    first, second, third = st.columns(3)
    original = first.number_input(
        "Trained window (tokens)", min_value=1, value=view.trained_length, step=1
    )
    target = second.number_input(
        "Length to reach (tokens)", min_value=1, value=view.wanted or view.target_length, step=1
    )
    base = third.number_input("Base as trained", min_value=1.0, value=known["base"])
    try:
        advice = solver.advise(
            original=int(original), target=int(target), base=base, rotary_dim=known["rotary_dim"]
        )
    except ParameterError as error:
        st.error(literal(str(error)))
        return
    rows = [[rule.title, rule.settings, rule.formula, rule.source] for rule in advice.rules]
    st.html(table(["rule", "sets", "formula", "source"], rows, name="posviz-rules"))
    caveats = [f"{rule.title}: {rule.caveat}" for rule in advice.rules if rule.caveat]
    _bullets([*advice.notes])
    with st.expander("What each rule does not say"):
        _bullets(caveats)


def _conversion(session: Session) -> None:
    known = _model(session)
    titles = {quantity.id: quantity.title for quantity in solver.names()}
    left, right = st.columns(2)
    name = left.selectbox(
        "What is a number elsewhere?",
        [AMBIGUOUS, *titles],
        format_func=lambda each: titles.get(each, f"{AMBIGUOUS}, under every definition"),
        help="The same number has many names: factor, compress_pos_emb, rope_freq_scale, alpha.",
    )
    value = right.number_input("Its value", value=4.0, format="%g")
    try:
        found = solver.convert(name, value, original=session.view.trained_length, **known)
    except ParameterError as error:
        st.error(literal(str(error)))
        return
    rows = [[titles[row.read_as], row.title, row.shown, row.rule, row.source] for row in found.rows]
    st.html(table(["read as", "is", "value", "rule", "source"], rows, name="posviz-conversions"))
    _bullets([*found.notes])


def _bullets(texts: list[str]) -> None:
    if texts:
        st.markdown("\n".join(f"- {literal(text)}" for text in texts))
