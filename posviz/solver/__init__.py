"""From lengths to settings and back, and between the names that tools have for one number.

Pure numbers: nothing here knows a model's configuration. Advice is shown as rules side by side,
each with its formula and its source; a name that means different things to different tools, such
as ``alpha``, is read under every one of its definitions.

>>> from posviz import solver
>>> solver.convert("rope_freq_scale", 0.25).number("factor")
4.0
>>> solver.advise(original=4096, target=16384, base=10000, rotary_dim=128).factor
4.0
"""

from posviz.solver.advice import Advice, advise
from posviz.solver.conversion import Conversion, convert
from posviz.solver.conversion_row import Row
from posviz.solver.lengths import alpha_at_lengths
from posviz.solver.lookup import meanings, names
from posviz.solver.magnitude import AttentionFactor, attention_factor, factor_of_attention
from posviz.solver.quantity import Formula, Quantity
from posviz.solver.ramp_range import BetaRange, beta_range, betas_at
from posviz.solver.reaching import Reached, reach
from posviz.solver.rule import Covered, Rule
from posviz.solver.unfinished import bases_with_unfinished, unfinished_pairs

__all__ = [
    "Advice",
    "AttentionFactor",
    "BetaRange",
    "Conversion",
    "Covered",
    "Formula",
    "Quantity",
    "Reached",
    "Row",
    "Rule",
    "advise",
    "alpha_at_lengths",
    "attention_factor",
    "bases_with_unfinished",
    "beta_range",
    "betas_at",
    "convert",
    "factor_of_attention",
    "meanings",
    "names",
    "reach",
    "unfinished_pairs",
]
