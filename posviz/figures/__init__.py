"""Figures: pure functions of a result or a measure, each in a file of its own.

Call one for a plotly Figure: ``posviz.figures.wavelengths(series, …)``. Its ``build`` gives the
same figure as plain dictionaries, its ``help``, ``limits`` and ``formula`` the words beside it.
"""

from posviz.figures import attention
from posviz.figures.clock import clock
from posviz.figures.cost_pad import Mark, cost_pad
from posviz.figures.divisors import divisors
from posviz.figures.family_tree import family_tree
from posviz.figures.needle import needle
from posviz.figures.profile_difference import profile_difference
from posviz.figures.score_decay import score_decay
from posviz.figures.score_map import score_map
from posviz.figures.short_range_cost import short_range_cost
from posviz.figures.spec import FigureBuilder, FigureSpec, Series
from posviz.figures.turns import turns
from posviz.figures.wavelengths import has_bands, wavelengths

__all__ = [
    "FigureBuilder",
    "FigureSpec",
    "Mark",
    "Series",
    "attention",
    "clock",
    "cost_pad",
    "divisors",
    "family_tree",
    "has_bands",
    "needle",
    "profile_difference",
    "score_decay",
    "score_map",
    "short_range_cost",
    "turns",
    "wavelengths",
]
