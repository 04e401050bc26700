"""Training recipes: no formula of positions, but a way to train with them."""

from __future__ import annotations

from typing import ClassVar

from posviz.encodings.base import Encoding


class RecipeEncoding(Encoding):
    """Base of the family."""

    family: ClassVar[str] = "recipe"
