"""Text of other people inside Markdown."""

from __future__ import annotations

import re


def literal(text: str) -> str:
    """Text that Markdown shows as it is: messages quote keys of files that people bring."""
    return re.sub(r"([\\`*_{}\[\]()#$:<>~|])", r"\\\1", text)
