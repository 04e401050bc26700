"""Tables of what was read: values and keys of people's files, shown as they are."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, name: str) -> str:
    """An HTML table of texts; ``name`` is its class. Streamlit's own would import pandas for it."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    style = _STYLE.replace("NAME", name)
    return f"{style}<table class='{name}'><tr>{head}</tr>{body}</table>"


_STYLE = """<style>
.NAME { border-collapse: collapse; font-size: 0.875rem; width: 100%; }
.NAME th, .NAME td {
  text-align: left; vertical-align: top; padding: 0.2rem 0.8rem 0.2rem 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent);
  overflow-wrap: anywhere; min-width: 3.9rem;
}
.NAME th { font-weight: 600; }
</style>"""
