"""The page train_short."""

from posviz.ui.train_short.page import show

__all__ = ["show"]
