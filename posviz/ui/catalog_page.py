"""The page of all encodings: a picture by year and family, and a table to filter and sort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from posviz import figures, overview
from posviz.figures.family_tree import WIDTH, Entry
from posviz.overview import HEADINGS, NONE, Row
from posviz.parameters import closest

USUAL = "family, then year"
NUMBERS = ("designed", "learned")
CODE = """from posviz.overview import rows

for row in rows():
    print(row.id, row.year, row.value("depends on the distance only"))
"""


@dataclass(frozen=True)
class Wanted:
    """Which rows a reader asked for, and in which order."""

    families: tuple[str, ...] = ()
    """None means all of them."""
    numbers: str | None = None
    words: str = ""
    order: str = USUAL
    is_reversed: bool = False

    def rows(self, everything: Sequence[Row]) -> list[Row]:
        """The rows that fit, sorted by a column; rows that it says nothing of come last."""
        found = [row for row in everything if self._fits(row)]
        if self.order == USUAL:
            return found[::-1] if self.is_reversed else found
        known = [row for row in found if row.cells[self.order] != NONE]
        known.sort(key=lambda row: row.cells[self.order].lower(), reverse=self.is_reversed)
        return known + [row for row in found if row.cells[self.order] == NONE]

    def _fits(self, row: Row) -> bool:
        text = " ".join([row.id, *row.cells.values(), *(one.text for one in row.sources)]).lower()
        return (
            (not self.families or row.family in self.families)
            and self.numbers in (None, row.value("numbers"))
            and all(word in text for word in self.words.lower().split())
        )

    @property
    def widening(self) -> str:
        """What would give more rows."""
        steps = ["search for fewer words"] if self.words.strip() else []
        steps += ["choose more families, or none for all"] if self.families else []
        steps += [f"choose other numbers than {self.numbers}"] if self.numbers else []
        return "; or ".join(steps)


def show() -> None:
    """Draw the page."""
    st.title("Catalog")
    everything = _everything()
    st.caption(
        f"{len(everything)} encodings. Their properties are computed from each one's own result at "
        "its default parameters: point at a cell to read how, or open the encoding."
    )
    with st.expander("By year and family", expanded=True):
        _picture(everything)
    wanted = _filters(everything)
    found = wanted.rows(everything)
    st.caption(f"{len(found)} of {len(everything)} encodings")
    if not found:
        st.info(f"No encoding fits. To see some: {wanted.widening}.")
        return
    st.html(table(found, wanted))
    st.download_button(
        "These rows as CSV", overview.csv_text(found), "posviz-catalog.csv", "text/csv"
    )
    with st.expander("In Python"):
        st.code(CODE)


@st.cache_resource(show_spinner=False)
def _everything() -> tuple[Row, ...]:
    return overview.rows()


def _picture(everything: Sequence[Row]) -> None:
    entries = [
        Entry(row.family, row.year, row.title, row.source, row.is_learned) for row in everything
    ]
    drawn = figures.family_tree.build(entries)
    st.html(_WIDE)
    with st.container(key="catalog-tree-box"):
        st.plotly_chart(
            drawn.figure("dark" if st.context.theme.type == "dark" else "light"),
            key="catalog-tree",
            height=drawn.layout["height"],
            config={
                "displaylogo": False,
                "modeBarButtons": [["toImage"]],
                "toImageButtonOptions": {"format": "svg", "filename": "posviz-catalog"},
            },
            alt="Every encoding at the year of its first source, in the band of its family; the "
            "table below says the same.",
        )
    st.caption(f"{figures.family_tree.help} {figures.family_tree.limits}")


def _filters(everything: Sequence[Row]) -> Wanted:
    """Controls whose values stand in the address, so that going back finds the same rows."""
    families = list(dict.fromkeys(row.family for row in everything))
    orders = [USUAL, *everything[0].cells]
    for problem in _problems({"family": families, "numbers": NUMBERS, "sort": orders}):
        st.warning(problem)
    chosen = st.pills(
        "Families",
        families,
        selection_mode="multi",
        key="family",
        bind="query-params",
        help="None chosen: all of them.",
    )
    columns = st.columns([4, 3, 3, 2], vertical_alignment="bottom")
    words = columns[0].text_input(
        "Search",
        key="find",
        bind="query-params",
        placeholder="title, author, model …",
        help="Looks for every word in titles, families, properties, models and sources.",
    )
    numbers = columns[1].segmented_control(
        "Numbers",
        NUMBERS,
        key="numbers",
        bind="query-params",
        help="Designed numbers follow from a formula; learned ones are trained. None chosen: both.",
    )
    order = columns[2].selectbox("Sort by", orders, key="sort", bind="query-params")
    is_reversed = columns[3].toggle("Reversed", key="reversed", bind="query-params")
    return Wanted(tuple(chosen or ()), numbers, words or "", order or USUAL, is_reversed)


def _problems(known: Mapping[str, Sequence[str]]) -> list[str]:
    """What in the address cannot be used; Streamlit drops such values without a word."""
    return [
        f"The address has a value of {name} that is not known; {closest(value, values)}."
        for name, values in known.items()
        for value in st.query_params.get_all(name)
        if value not in values
    ]


def table(found: Sequence[Row], wanted: Wanted) -> str:
    head = "".join(_heading(title, wanted) for title in found[0].cells)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in found)
    return (
        f"{_STYLE}<div class='posviz-scroll' role='region' aria-label='Encodings' tabindex='0'>"
        f"<table class='posviz-catalog'><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _heading(title: str, wanted: Wanted) -> str:
    if title != wanted.order:
        return f"<th scope='col'>{escape(title)}</th>"
    word, arrow = ("descending", "▼") if wanted.is_reversed else ("ascending", "▲")
    return f"<th scope='col' aria-sort='{word}'>{escape(title)} {arrow}</th>"


def _cells(row: Row) -> str:
    hints = {heading: row.how(name) for name, heading in HEADINGS.items()}
    cells = []
    for heading, text in row.cells.items():
        if heading == "encoding":
            link = f"<a href='explore?encoding={escape(row.id)}'>{escape(text)}</a>"
            cells.append(f"<th scope='row'>{link}</th>")
        elif heading in hints:
            quiet = " class='posviz-quiet'" if text in ("no", NONE) else ""
            cells.append(f"<td title='{escape(hints[heading])}'{quiet}>{escape(text)}</td>")
        elif heading == "source" and row.arxiv:
            address = f"https://arxiv.org/abs/{escape(row.arxiv)}"
            link = f"<a href='{address}' target='_blank' rel='noreferrer'>{escape(row.arxiv)}</a>"
            cells.append(f"<td>{escape(row.source)}, arXiv:{link}</td>")
        else:
            cells.append(f"<td>{escape(text)}</td>")
    return "".join(cells)


# In a narrower picture the labels would run into each other: it is moved sideways instead.
_WIDE = f"""<style>
.st-key-catalog-tree-box {{ overflow-x: auto; }}
.st-key-catalog-tree-box > div {{ min-width: {WIDTH}px; }}
</style>"""
_STYLE = """<style>
.posviz-scroll { overflow-x: auto; }
.posviz-catalog { border-collapse: collapse; font-size: 0.85rem; min-width: 64rem; width: 100%; }
.posviz-catalog th, .posviz-catalog td {
  text-align: left; vertical-align: top; padding: 0.3rem 0.8rem 0.3rem 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent);
}
.posviz-catalog thead th { font-weight: 600; white-space: nowrap; }
.posviz-catalog tbody th { font-weight: 500; }
.posviz-catalog td[title] { cursor: help; }
.posviz-quiet { opacity: 0.7; }
.posviz-catalog a { color: inherit; text-decoration: underline; }
</style>"""
