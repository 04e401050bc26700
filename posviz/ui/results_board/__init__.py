"""Boards that show results: one encoding (explore) or several on the same axes (compare)."""
