"""PosViz: the home page."""

from posviz.ui import frame, home

frame.open_page("Positional encodings, computed, proved and shown")
home.show()
