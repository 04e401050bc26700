"""Text of other people inside Markdown."""

from __future__ import annotations

import re


def literal(text: str) -> str:
    """Text that Markdown shows as it is: messages quote keys of files that people bring."""
    return re.sub(r"([\\`*_{}\[\]()#$:<>~|])", r"\\\1", text)


def with_code(sentence: str) -> str:
    """Our own sentence, literal but for its `code`, such as the commands that it names.

    Nothing that people wrote may stand in the sentence: their backticks would be read as ours.
    """
    pieces = re.split(r"(`[^`]+`)", sentence)
    return "".join(piece if place % 2 else literal(piece) for place, piece in enumerate(pieces))
