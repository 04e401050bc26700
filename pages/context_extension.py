"""Tune a model's RoPE extension by eye."""

from posviz.ui import context_extension, frame

frame.open_page("Context extension")
context_extension.show()
