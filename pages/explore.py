"""One encoding: its figures, formula, properties, source, and code that reproduces it."""

from posviz.ui import explore, frame

frame.open_page("Explore")
explore.show()
