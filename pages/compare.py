"""Two to four encodings on the same axes."""

from posviz.ui import compare, frame

frame.open_page("Compare")
compare.show()
