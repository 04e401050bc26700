"""Figures of what was measured on real attention and real models: plain arrays in."""
