"""Results of methods that ship with PosViz, drawn whether or not a model is here."""

from __future__ import annotations

import streamlit as st

from posviz.lab.extension import stored
from posviz.lab.extension.records import LossCurve, PasskeyGrid
from posviz.ui.literal import literal
from posviz.ui.real_attention import extension_drawn

CODE = """from posviz.lab.extension.stored import stored

found = stored({name!r})
for {one} in found.{what}:
    {line}
"""


def show() -> None:
    """Draw them, labelled as stored, with the command that makes them again."""
    found = stored.stored()
    if found is None:
        st.info(f"No stored results are here; `{stored.COMMAND}` makes them.")
        return
    model, text = found.about.get("title", ""), found.about.get("text", "")
    st.markdown(
        f":material/inventory_2: **Stored results**, measured once on {literal(str(model))} "
        f"reading {literal(str(text))}. To make them again: `{found.about['command']}`"
    )
    extension_drawn.curves(
        found.curves,
        found.gaps,
        CODE.format(
            name=found.name,
            one="curve",
            what="curves",
            line="print(curve.title, curve.within, curve.beyond, curve.positions, curve.mean)",
        ),
        name="stored",
    )
    extension_drawn.grids(
        found.grids,
        CODE.format(
            name=found.name,
            one="grid",
            what="grids",
            line="print(grid.title, grid.lengths, grid.depths, grid.exact)",
        ),
        name="stored",
    )
    everything: list[LossCurve | PasskeyGrid] = [*found.curves, *found.grids]
    extension_drawn.settings(everything)
    extension_drawn.facts(everything)
