"""Words about an encoding: formula, what to see, sources, properties, and what was misread."""

from __future__ import annotations

from html import escape

import streamlit as st

from posviz.encodings.base import Encoding
from posviz.measures import properties


def introduction(encoding: type[Encoding]) -> None:
    """What it is, above its figures."""
    st.latex(encoding.formula)
    st.markdown(encoding.shows)


def about(spec: Encoding) -> None:
    """What is known about it, below its figures."""
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("##### Properties")
        st.html(_properties(spec))
    with right:
        st.markdown("##### What this does not show")
        st.markdown(spec.limits)
        if spec.misread:
            st.markdown("##### You may have read")
            for sentence in spec.misread:
                st.markdown(f"- {sentence}")
        st.markdown("##### Source")
        for source in spec.sources:
            st.text(source.text)
        if spec.used_in:
            st.caption("Used in " + ", ".join(spec.used_in))


def _properties(spec: Encoding) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.name)}</td><td>{escape(one.value)}</td><td>{escape(one.how)}</td></tr>"
        for one in properties(spec)
    )
    head = "<tr><th>property</th><th>here</th><th>how it was found</th></tr>"
    return f"{_STYLE}<table class='posviz-about'>{head}{rows}</table>"


_STYLE = """<style>
.posviz-about { border-collapse: collapse; font-size: 0.875rem; width: 100%; }
.posviz-about th, .posviz-about td {
  text-align: left; vertical-align: top; padding: 0.2rem 0.8rem 0.2rem 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent);
}
.posviz-about th { font-weight: 600; }
</style>"""
