"""Attention at any length: score, weights, entropy, reach and needle of up to six encodings."""

from posviz.ui import attention, frame

frame.open_page("Attention")
attention.show()
