"""The attention page: score, weights, entropy and reach of any encodings, at any length."""

from posviz.ui.attention.page import show

__all__ = ["show"]
