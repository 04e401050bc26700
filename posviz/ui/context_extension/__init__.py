"""The context-extension page: a configuration in, tuned by eye, settings out."""

from posviz.ui.context_extension.page import show

__all__ = ["show"]
