"""The section of the page that holds a second configuration against the first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from posviz.configs import ConfigError, Model
from posviz.configs.comparison import Comparison
from posviz.configs.comparison_rows import ComparedNumber
from posviz.configs.comparison_words import sentences
from posviz.configs.numbers import value_text
from posviz.figures import FigureSpec
from posviz.parameters import ParameterError
from posviz.ui.context_extension.ab_choice import choose
from posviz.ui.context_extension.address import has_room, model_of
from posviz.ui.context_extension.board import Session
from posviz.ui.context_extension.side_by_side import (
    Drawing,
    SideBySide,
    of_sources,
    side_by_side,
)
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TABLE = "posviz-differences"


def show(session: Session) -> None:
    """Draw the section: the choice of B and, once there is one, how it differs from A."""
    chosen = session.view.compared
    with st.expander("Compare with a second configuration", expanded=bool(chosen)):
        choose(session)
        if not chosen:
            st.caption(
                "Side by side: every resolved number that differs, both curves on the same axes, "
                "the largest relative frequency error, and the first distance at which scores "
                "differ by 1%."
            )
            return
        _messages(model_of(chosen))
        if not has_room(session.view):
            st.caption(
                "The link of this page leaves the second configuration out: the two are too long "
                "for one address."
            )
        _compared(session)


_SHOW = {"error": st.error, "warn": st.warning, "info": st.info}


def _messages(model: Model) -> None:
    for message in model.messages:
        _SHOW[message.severity](f"B: {literal(message.text)}")


def _compared(session: Session) -> None:
    view = session.view
    try:
        found = _measured(session)
    except (ConfigError, ParameterError) as error:
        st.error(literal(str(error)))
        return
    comparison = found.comparison
    _differences(comparison)
    _bullets(comparison.notes)
    length = comparison.length
    if length is None or not comparison.layers:
        return
    if length < found.window:
        st.caption(
            f"The larger window has {found.window:,} tokens; the page compares both at {length:,}. "
            "posviz.configs.compare goes on to 4,194,304."
        )
    for each in comparison.layers:
        if len(comparison.layers) > 1 or len(view.model.layer_types) > 1:
            st.markdown(f"**Layers of type {literal(each.layer_type)}**")
        _bullets([*sentences(each, length), *each.notes])
        _draw(found.drawings[each.layer_type], each.layer_type)


def _measured(session: Session) -> SideBySide:
    view = session.view
    if session.rejected is not None:
        return side_by_side(session.rejected[0], model_of(view.compared), None)
    # The page shows one layer type of A at a time; where A has one only, all of B's stand by it.
    layer_type = view.layer_type if len(view.model.layers) > 1 else None
    return of_sources(view.source, view.compared, layer_type)


def _bullets(texts: Iterable[str]) -> None:
    if lines := [f"- {literal(text)}" for text in texts]:
        st.markdown("\n".join(lines))


def _differences(comparison: Comparison) -> None:
    differing = comparison.differing
    parts = {
        "differ": [row for row in differing if not row.only_in],
        "stand in one of them only": [row for row in differing if row.only_in],
        "are equal in both": [row for row in comparison.rows if not row.differs],
    }
    first, *others = parts.items()
    if first[1]:
        st.html(_table(first[1]))
    else:
        st.markdown("No number that both have differs.")
    for what, rows in others:
        if rows:
            with st.expander(f"{len(rows)} numbers {what}"):
                st.html(_table(rows))


def _table(rows: Sequence[ComparedNumber]) -> str:
    several = any(row.layer_type for row in rows)
    titles = ["name", "A", "B", "origin in A", "origin in B"]
    cells = [
        [
            row.name,
            value_text(row.value_a) if row.origin_a else "—",
            value_text(row.value_b) if row.origin_b else "—",
            row.origin_a or "no such number",
            row.origin_b or "no such number",
        ]
        for row in rows
    ]
    if several:
        titles = ["layer type", *titles]
        cells = [[row.layer_type or "all", *line] for row, line in zip(rows, cells, strict=True)]
    return table(titles, cells, name=TABLE)


def _draw(drawings: Sequence[Drawing], layer_type: str) -> None:
    for column, drawing in zip(st.columns(len(drawings)), drawings, strict=True):
        with column:
            st.markdown(f"**{drawing.title}**")
            st.plotly_chart(
                _with_legend(drawing.figure),
                key=f"ab-{layer_type}-{drawing.title}",
                height=320,
                config={"displaylogo": False, "modeBarButtons": [["toImage"]]},
                alt=drawing.says,
            )


def _with_legend(drawing: FigureSpec) -> Figure:
    figure = drawing.figure("dark" if st.context.theme.type == "dark" else "light")
    legend = {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "traceorder": "reversed"}
    return figure.update_layout(showlegend=True, legend=legend, margin_t=36)
