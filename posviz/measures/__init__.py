"""Curves and numbers that follow from any rotary spec: plain arrays with names.

Nothing here knows which encoding it measures; a measure asks a spec for its frequencies, its
factors, and the distance that its rotation sees.
"""

from posviz.measures.blocks import BlockMeans, block_means
from posviz.measures.bounds import covering_base, critical_dimension, decay_bound
from posviz.measures.decay import (
    ScoreDecay,
    ShortRangeCost,
    first_negative,
    score_decay,
    short_range_cost,
)
from posviz.measures.equality import Relation, relation
from posviz.measures.logit_factors import Temperature, logit_gain, temperature
from posviz.measures.needle import Needle, needle_weight
from posviz.measures.pairs import BANDS, Spectrum, spectrum
from posviz.measures.profiles import ProfileDifference, profile_difference
from posviz.measures.properties import Property, kind_of, properties
from posviz.measures.rotating_pair import Clock, clock
from posviz.measures.score_map import ScoreMap, score_map
from posviz.measures.similarity import (
    Features,
    SimilarityMap,
    SimilarityProfile,
    features,
    similarity_map,
    similarity_profile,
)
from posviz.measures.split_angle import cos_mean, cos_mean_at, direct_cos_mean
from posviz.measures.thinning import thin
from posviz.measures.weight_rows import position_logits, softmax_rows

__all__ = [
    "BANDS",
    "BlockMeans",
    "Clock",
    "Features",
    "Needle",
    "ProfileDifference",
    "Property",
    "Relation",
    "ScoreDecay",
    "ScoreMap",
    "ShortRangeCost",
    "SimilarityMap",
    "SimilarityProfile",
    "Spectrum",
    "Temperature",
    "block_means",
    "clock",
    "cos_mean",
    "cos_mean_at",
    "covering_base",
    "critical_dimension",
    "decay_bound",
    "direct_cos_mean",
    "features",
    "first_negative",
    "kind_of",
    "logit_gain",
    "needle_weight",
    "position_logits",
    "profile_difference",
    "properties",
    "relation",
    "score_decay",
    "score_map",
    "short_range_cost",
    "similarity_map",
    "similarity_profile",
    "softmax_rows",
    "spectrum",
    "temperature",
    "thin",
]
