"""Curves and numbers that follow from a spec or its result: plain arrays with names.

Nothing here knows which encoding it measures; a measure asks a spec for its frequencies, its
factors, the distance that its rotation sees, or for the row of logits of its last query.
"""

from posviz.measures.blocks import (
    BlockMeans,
    banded_block_means,
    block_means,
    toeplitz_block_means,
)
from posviz.measures.bounds import covering_base, critical_dimension, decay_bound
from posviz.measures.content import Content
from posviz.measures.contexts import (
    ContextCurves,
    WeightProfile,
    context_curves,
    context_lengths,
    half_life,
    weight_profile,
)
from posviz.measures.decay import (
    ScoreDecay,
    ShortRangeCost,
    first_negative,
    score_decay,
    short_range_cost,
)
from posviz.measures.equality import relation
from posviz.measures.heads import HeadProfiles, head_profiles, head_weights
from posviz.measures.likeness import Relation
from posviz.measures.logit_factors import Temperature, logit_gain, temperature
from posviz.measures.needle import Needle, needle_weight
from posviz.measures.pairs import BANDS, Spectrum, spectrum
from posviz.measures.profiles import ProfileDifference, profile_difference
from posviz.measures.properties import Property, kind_of, properties
from posviz.measures.questions import (
    IndependentScores,
    correlated_pair,
    equal_scores,
    given_scores,
    independent_scores,
)
from posviz.measures.rotating_pair import Clock, clock
from posviz.measures.rows import alike, alike_at, logit_row, longest_row, row_refusal
from posviz.measures.running import RunningSoftmax, running_softmax
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
from posviz.measures.wave_sum import wave_sum
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
    "Content",
    "ContextCurves",
    "Features",
    "HeadProfiles",
    "IndependentScores",
    "Needle",
    "PowerSpectrum",
    "PrincipalPlane",
    "ProfileDifference",
    "Property",
    "Relation",
    "RunningSoftmax",
    "ScoreDecay",
    "ScoreMap",
    "ShortRangeCost",
    "SimilarityMap",
    "SimilarityProfile",
    "Spectrum",
    "Temperature",
    "WeightProfile",
    "alike",
    "alike_at",
    "banded_block_means",
    "block_means",
    "clock",
    "context_curves",
    "context_lengths",
    "correlated_pair",
    "cos_mean",
    "cos_mean_at",
    "covering_base",
    "critical_dimension",
    "decay_bound",
    "direct_cos_mean",
    "equal_scores",
    "features",
    "first_negative",
    "given_scores",
    "half_life",
    "head_profiles",
    "head_weights",
    "independent_scores",
    "kind_of",
    "logit_blocks",
    "logit_gain",
    "logit_row",
    "longest_row",
    "needle_weight",
    "position_logits",
    "power_spectrum",
    "principal_plane",
    "profile_difference",
    "properties",
    "relation",
    "row_norms",
    "row_refusal",
    "running_softmax",
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
    "wave_sum",
    "weight_profile",
]
