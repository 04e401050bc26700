"""Code that reproduces what is shown, as texts of the board."""

from __future__ import annotations

from typing import Any

from posviz.catalog import link
from posviz.encodings.base import Encoding
from posviz.ui.code_block import code_block
from posviz.ui.results_board.view import View


def texts(view: View) -> list[dict[str, Any]]:
    """The NumPy code of every encoding on the board, and the call that gives the same numbers."""
    blocks = []
    for slot, spec in view.specs.items():
        group = f"Code: {slot.upper()} · {spec.title}" if slot else "Code"
        blocks.append(code_block(f"{slot}numpy", group, "NumPy alone", spec.code()))
        blocks.append(code_block(f"{slot}posviz", group, "posviz", call(spec, view.count)))
        blocks.append(code_block(f"{slot}link", group, "link", link(spec)))
    return blocks


def call(spec: Encoding, count: int) -> str:
    """The call that gives the numbers of the picture."""
    attribute, _, entry = spec.snippet_gives.partition(":")
    shown = f'{attribute}["{entry}"]' if entry else attribute
    return (
        "import posviz\n\n"
        f'spec = posviz.parse("{link(spec)}")\n'
        f"result = spec.encode(spec.example_positions({count}))\n"
        f"print(result.{shown})\n"
    )
