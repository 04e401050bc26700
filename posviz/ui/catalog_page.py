"""The page of all encodings: a picture by year and family, and a table to filter and sort."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from posviz import figures
from posviz.overview import Row, rows

_COLUMNS = {
    "gives": "gives",
    "numbers": "numbers",
    "depends on the distance only": "relative",
    "the same in both directions": "symmetric",
    "falls with every step of distance": "falls always",
    "needs a causal mask": "causal only",
    "defined at any position": "any position",
}
"""Property to the heading of its column."""

_BY_FAMILY, _BY_YEAR, _BY_TITLE = "family and year", "year", "title"


def show() -> None:
    """Draw the page."""
    st.title("Catalog")
    everything = rows()
    st.caption(
        f"{len(everything)} encodings. Properties are computed from each one's own result at its "
        "default parameters; point at a cell to read how."
    )
    with st.expander("By year and family", expanded=True):
        mode = "dark" if st.context.theme.type == "dark" else "light"
        entries = [(row.family, row.year, row.title, row.source) for row in everything]
        drawn = figures.family_tree.build(entries)
        st.html(_WIDE)
        with st.container(key="catalog-tree-box"):
            st.plotly_chart(
                drawn.figure(mode),  # type: ignore[arg-type]
                key="catalog-tree",
                height=drawn.layout["height"],
                alt="Every encoding at the year of its first source, in the band of its family.",
            )
    _table_with_filters(everything)


def _table_with_filters(everything: Sequence[Row]) -> None:
    families = list(dict.fromkeys(row.family for row in everything))
    left, middle, right = st.columns([3, 2, 1], vertical_alignment="bottom")
    chosen = left.pills("Families", families, selection_mode="multi", help="None chosen: all.")
    words = middle.text_input(
        "Search", placeholder="title, author, model …", help="In titles, sources and models."
    )
    order = right.selectbox("Sort by", [_BY_FAMILY, _BY_YEAR, _BY_TITLE, *_COLUMNS.values()])
    found = [
        row for row in everything if (not chosen or row.family in chosen) and _matches(row, words)
    ]
    st.caption(f"{len(found)} of {len(everything)} encodings")
    if not found:
        st.info("Nothing fits. Clear the search, or choose more families.")
        return
    st.html(_table(sorted(found, key=lambda row: _place(row, order))))


def _place(row: Row, order: str) -> tuple[str, ...]:
    """What the rows are sorted by."""
    if order == _BY_FAMILY:
        return row.family, str(row.year), row.title
    if order == _BY_YEAR:
        return str(row.year), row.title
    if order == _BY_TITLE:
        return (row.title.lower(),)
    name = next(name for name, heading in _COLUMNS.items() if heading == order)
    return row.value(name), row.title


def _matches(row: Row, words: str) -> bool:
    text = " ".join((row.id, row.title, row.source, row.arxiv, *row.used_in)).lower()
    return all(word in text for word in words.lower().split())


def _table(found: Sequence[Row]) -> str:
    titles = ["encoding", "family", "year", *_COLUMNS.values(), "used in", "first source"]
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in found)
    table = f"<table class='posviz-catalog'><tr>{head}</tr>{body}</table>"
    return f"{_STYLE}<div class='posviz-scroll'>{table}</div>"


def _cells(row: Row) -> str:
    link = f"<a href='explore?encoding={escape(row.id)}' target='_self'>{escape(row.title)}</a>"
    cells = [link, escape(row.family), str(row.year)]
    cells = [f"<td>{cell}</td>" for cell in cells]
    cells += [
        f"<td title='{escape(row.how(name), quote=True)}'>{escape(row.value(name))}</td>"
        for name in _COLUMNS
    ]
    source = escape(row.source) + (f", arXiv:{escape(row.arxiv)}" if row.arxiv else "")
    cells += [f"<td>{escape(', '.join(row.used_in)) or '–'}</td>", f"<td>{source}</td>"]
    return "".join(cells)


# Below this width the labels would run into each other: the picture is moved sideways instead.
_WIDE = """<style>
.st-key-catalog-tree-box { overflow-x: auto; }
.st-key-catalog-tree-box > div { min-width: 64rem; }
</style>"""
_STYLE = """<style>
.posviz-scroll { overflow-x: auto; }
.posviz-catalog { border-collapse: collapse; font-size: 0.85rem; min-width: 60rem; width: 100%; }
.posviz-catalog th, .posviz-catalog td {
  text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent);
}
.posviz-catalog th { font-weight: 600; }
.posviz-catalog a { color: inherit; text-decoration: underline; }
</style>"""
