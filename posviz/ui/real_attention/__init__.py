"""The page real_attention."""

from posviz.ui.real_attention.page import show

__all__ = ["show"]
