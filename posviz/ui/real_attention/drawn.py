"""One figure on this page: picture, formula, words, the numbers behind it, and code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from posviz.figures import FigureSpec
from posviz.ui.literal import literal
from posviz.ui.panel import Panel, Words, as_csv

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class Drawn:
    """A figure with all that stands around it."""

    id: str
    words: Words
    figure: FigureSpec
    code: str
    """Python that gives the same numbers."""
    title: str = ""
    """Instead of the figure's own."""
    slots: Mapping[str, str] = field(default_factory=dict)
    """What stands in the formula in place of its named numbers."""
    notes: Sequence[str] = ()
    """What is read from these very numbers."""
    height: int = 360
    legend: bool = True
    """Whether the names of the traces stand above the picture."""
    narrowest: int = 0
    """Pixels that the picture needs; in a narrower place it is moved sideways."""
    csv: Callable[[], str] | None = None
    """The numbers, where the traces do not tell them all."""


def draw(drawn: Drawn, on_select: Callable[[], None] | None = None) -> None:
    """Put it on the page."""
    words = drawn.words
    title = drawn.title or words.title
    st.markdown(f"##### {literal(title)}")
    picture(drawn, on_select)
    st.latex(formula_of(words.formula, drawn.slots))
    for note in drawn.notes:
        st.markdown(f"- {literal(note)}")
    st.caption(f"{words.help}")
    st.caption(f"**What this does not show.** {words.limits}")
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            drawn.csv or (lambda: csv_of(drawn)),
            f"posviz-{drawn.id}.csv",
            "text/csv",
            key=f"csv-{drawn.id}",
            on_click="ignore",
            help="The numbers that the figure draws.",
        )
        with st.popover("In Python", key=f"python-{drawn.id}"):
            st.code(drawn.code, "python")


def picture(drawn: Drawn, on_select: Callable[[], None] | None = None) -> None:
    """The figure alone."""
    title = drawn.title or drawn.words.title
    more: dict[str, Any] = {}
    if on_select is not None:
        more = {"on_select": on_select, "selection_mode": "points"}
    if drawn.narrowest:
        st.html(_WIDE.replace("ID", drawn.id).replace("PIXELS", str(drawn.narrowest)))
    with st.container(key=f"box-{drawn.id}"):
        st.plotly_chart(
            _figure(drawn),
            key=f"plot-{drawn.id}",
            height=drawn.height,
            config={
                "displaylogo": False,
                "modeBarButtons": [["toImage"]],
                "toImageButtonOptions": {"format": "svg", "filename": f"posviz-{drawn.id}"},
            },
            alt=f"{title}. {drawn.words.help}",
            **more,
        )


_WIDE = """<style>
.st-key-box-ID { overflow-x: auto; }
.st-key-box-ID > div { min-width: PIXELSpx; }
</style>"""


def _figure(drawn: Drawn) -> Figure:
    found = drawn.figure.figure("dark" if st.context.theme.type == "dark" else "light")
    found.update_layout(height=drawn.height)
    if not drawn.legend:
        return found
    found.for_each_trace(
        lambda trace: trace.update(showlegend=False),
        lambda trace: trace.type != "scatter" or trace.marker.opacity == 0,
    )
    legend = {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"}
    return found.update_layout(showlegend=True, legend=legend, margin_t=40)


def csv_of(drawn: Drawn) -> str:
    """The numbers of the traces."""
    return as_csv(Panel(drawn.id, drawn.words, None, drawn.figure, {}, ()))


def formula_of(formula: str, slots: Mapping[str, str]) -> str:
    """The formula with its named numbers filled in; without numbers, without their places."""
    if not slots:
        return re.split(r"\s*=\s*\\text\{⟨", formula)[0]
    return re.sub(r"⟨(\w+)⟩", lambda found: slots[found[1]], formula)
