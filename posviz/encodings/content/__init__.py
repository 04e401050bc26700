"""Biases and positions that depend on the content: what a token counts as is decided by q and k."""

from __future__ import annotations

from typing import ClassVar

from posviz.encodings.given_content import ContentEncoding


class ContentBiasEncoding(ContentEncoding):
    """Base of the family."""

    family: ClassVar[str] = "content"
