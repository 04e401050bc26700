"""Code to take away, as a text of a board."""

from __future__ import annotations

from typing import Any


def code_block(block_id: str, group: str, title: str, text: str) -> dict[str, Any]:
    """One text with its place among the texts of the board."""
    return {
        "id": block_id,
        "group": group,
        "title": title,
        "text": text.rstrip("\n"),
        "notes": [],
        "language": "python",
    }
