"""Curves and numbers that follow from any rotary spec: plain arrays with names.

Nothing here knows which encoding it measures; a measure asks a spec for its frequencies, its
factors, and the distance that its rotation sees.
"""

from posviz.measures.blocks import (
    BlockMeans,
    banded_block_means,
    block_means,
    toeplitz_block_means,
)
from posviz.measures.bounds import covering_base, critical_dimension, decay_bound
from posviz.measures.decay import (
    ScoreDecay,
    ShortRangeCost,
    first_negative,
    score_decay,
    short_range_cost,
)
from posviz.measures.equality import relation
from posviz.measures.likeness import Relation
from posviz.measures.logit_factors import Temperature, logit_gain, temperature
from posviz.measures.needle import Needle, needle_weight
from posviz.measures.pairs import BANDS, Spectrum, spectrum
from posviz.measures.profiles import ProfileDifference, profile_difference
from posviz.measures.properties import Property, kind_of, properties
from posviz.measures.rotating_pair import Clock, clock
from posviz.measures.score_map import ScoreMap, score_map
from posviz.measures.shift import shift_error
from posviz.measures.similarity import (
    Features,
    SimilarityMap,
    SimilarityProfile,
    features,
    similarity_map,
    similarity_profile,
)
from posviz.measures.split_angle import cos_mean, cos_mean_at, direct_cos_mean
from posviz.measures.tables import (
    PowerSpectrum,
    PrincipalPlane,
    power_spectrum,
    principal_plane,
    row_norms,
)
from posviz.measures.thinning import thin
from posviz.measures.weight_rows import (
    logit_blocks,
    position_logits,
    seen_blocks,
    softmax_rows,
)

__all__ = [
    "BANDS",
    "BlockMeans",
    "Clock",
    "Features",
    "Needle",
    "PowerSpectrum",
    "PrincipalPlane",
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
    "banded_block_means",
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
    "logit_blocks",
    "logit_gain",
    "needle_weight",
    "position_logits",
    "power_spectrum",
    "principal_plane",
    "profile_difference",
    "properties",
    "relation",
    "row_norms",
    "score_decay",
    "score_map",
    "seen_blocks",
    "shift_error",
    "short_range_cost",
    "similarity_map",
    "similarity_profile",
    "softmax_rows",
    "spectrum",
    "temperature",
    "thin",
    "toeplitz_block_means",
]
