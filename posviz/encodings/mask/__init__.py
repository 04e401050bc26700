"""Masks: which keys a query may see."""

from __future__ import annotations

from typing import ClassVar

from posviz.encodings.base import Encoding


class MaskEncoding(Encoding):
    """Base of the family."""

    family: ClassVar[str] = "mask"
