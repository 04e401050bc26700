"""Figures of attention at any length: score, weights, entropy, reach, needle, heads, matrix."""

from posviz.figures.attention.bases import bases
from posviz.figures.attention.bounds import bounds
from posviz.figures.attention.by_length import (
    entropy,
    first_token,
    needle_share,
    reach,
    resolution,
)
from posviz.figures.attention.decay import decay
from posviz.figures.attention.head_weights import head_weights
from posviz.figures.attention.precision import precision
from posviz.figures.attention.receptive import receptive
from posviz.figures.attention.weight_matrix import key_share, query_entropy, weight_matrix
from posviz.figures.attention.weights import weights

__all__ = [
    "bases",
    "bounds",
    "decay",
    "entropy",
    "first_token",
    "head_weights",
    "key_share",
    "needle_share",
    "precision",
    "query_entropy",
    "reach",
    "receptive",
    "resolution",
    "weight_matrix",
    "weights",
]
