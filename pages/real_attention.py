"""Real attention: kernels, a language model and its heads, extension measured beyond the window."""

from posviz.ui import frame, real_attention

frame.open_page("Real attention")
real_attention.show()
