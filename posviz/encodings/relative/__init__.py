"""Relative encodings with vectors: a distance has a vector that meets the query, the key, or both.

The law of the family: the terms that hold no content depend on the distance only, unless the
encoding says otherwise.
"""

from __future__ import annotations

from typing import ClassVar

from posviz.encodings.given_content import ContentEncoding


class RelativeEncoding(ContentEncoding):
    """Base of the family."""

    family: ClassVar[str] = "relative"
