"""Curves and numbers that follow from a spec or its result: plain arrays with names.

Nothing here knows which encoding it measures; a measure asks a spec for its frequencies, its
factors, the distance that its rotation sees, or for the row of logits of its last query.
"""

from posviz.measures.base_search import (
    BaseSearch,
    fitted_lower_bound,
    smallest_valid_base,
    valid_bases,
)
from posviz.measures.bias_precision import BiasPrecision, bias_precision
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
    entropy,
    half_life,
    weight_profile,
)
from posviz.measures.cost_pad import CostPad, PointCosts, cost_pad
from posviz.measures.decay import (
    ScoreDecay,
    ShortRangeCost,
    first_negative,
    score_decay,
    short_range_cost,
)
from posviz.measures.distinct_positions import DistinctPositions, distinct_positions
from posviz.measures.equality import relation
from posviz.measures.first_difference import first_difference
from posviz.measures.granularity import (
    adjacent_similarity,
    limit_granularity,
    neighbour_granularity,
)
from posviz.measures.heads import HeadProfiles, head_profiles, head_weights
from posviz.measures.interpolation_bounds import (
    FittedScores,
    extrapolation_bound,
    fitted_scores,
    interpolation_bound,
    largest_interpolation_error,
    printed_interpolation_bound,
)
from posviz.measures.likeness import Relation
from posviz.measures.logit_factors import Temperature, logit_gain, temperature
from posviz.measures.needle import Needle, needle_weight
from posviz.measures.pad_costs import pareto_front
from posviz.measures.pad_proposal import Proposal, propose
from posviz.measures.pairs import BANDS, Spectrum, spectrum
from posviz.measures.precision import PrecisionLens, precision_lens
from posviz.measures.profiles import ProfileDifference, profile_difference
from posviz.measures.properties import Property, kind_of, properties
from posviz.measures.questions import (
    HEAD_DIM,
    IndependentScores,
    correlated_pair,
    equal_scores,
    given_scores,
    independent_scores,
)
from posviz.measures.receptive import (
    LONGEST_SUPPORT,
    ReceptiveField,
    receptive_field,
    stacked_weights,
)
from posviz.measures.resolution import ResolutionCurve, attention_resolution, resolution_curve
from posviz.measures.rotating_pair import Clock, clock
from posviz.measures.rounding import rounded
from posviz.measures.rows import (
    LONGEST_CONTEXT,
    alike,
    alike_at,
    head_bias,
    logit_row,
    longest_row,
    row_refusal,
    scored,
)
from posviz.measures.running import RunningSoftmax, running_softmax
from posviz.measures.score_error import largest_score_error
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
from posviz.measures.weight_window import WeightWindow, weight_window

__all__ = [
    "BANDS",
    "HEAD_DIM",
    "LONGEST_CONTEXT",
    "LONGEST_SUPPORT",
    "BaseSearch",
    "BiasPrecision",
    "BlockMeans",
    "Clock",
    "Content",
    "ContextCurves",
    "CostPad",
    "DistinctPositions",
    "Features",
    "FittedScores",
    "HeadProfiles",
    "IndependentScores",
    "Needle",
    "PointCosts",
    "PowerSpectrum",
    "PrecisionLens",
    "PrincipalPlane",
    "ProfileDifference",
    "Property",
    "Proposal",
    "ReceptiveField",
    "Relation",
    "ResolutionCurve",
    "RunningSoftmax",
    "ScoreDecay",
    "ScoreMap",
    "ShortRangeCost",
    "SimilarityMap",
    "SimilarityProfile",
    "Spectrum",
    "Temperature",
    "WeightProfile",
    "WeightWindow",
    "adjacent_similarity",
    "alike",
    "alike_at",
    "attention_resolution",
    "banded_block_means",
    "bias_precision",
    "block_means",
    "clock",
    "context_curves",
    "context_lengths",
    "correlated_pair",
    "cos_mean",
    "cos_mean_at",
    "cost_pad",
    "covering_base",
    "critical_dimension",
    "decay_bound",
    "direct_cos_mean",
    "distinct_positions",
    "entropy",
    "equal_scores",
    "extrapolation_bound",
    "features",
    "first_difference",
    "first_negative",
    "fitted_lower_bound",
    "fitted_scores",
    "given_scores",
    "half_life",
    "head_bias",
    "head_profiles",
    "head_weights",
    "independent_scores",
    "interpolation_bound",
    "kind_of",
    "largest_interpolation_error",
    "largest_score_error",
    "limit_granularity",
    "logit_blocks",
    "logit_gain",
    "logit_row",
    "longest_row",
    "needle_weight",
    "neighbour_granularity",
    "pareto_front",
    "position_logits",
    "power_spectrum",
    "precision_lens",
    "principal_plane",
    "printed_interpolation_bound",
    "profile_difference",
    "properties",
    "propose",
    "receptive_field",
    "relation",
    "resolution_curve",
    "rounded",
    "row_norms",
    "row_refusal",
    "running_softmax",
    "score_decay",
    "score_map",
    "scored",
    "seen_blocks",
    "shift_error",
    "short_range_cost",
    "similarity_map",
    "similarity_profile",
    "smallest_valid_base",
    "softmax_rows",
    "spectrum",
    "stacked_weights",
    "temperature",
    "thin",
    "toeplitz_block_means",
    "valid_bases",
    "wave_sum",
    "weight_profile",
    "weight_window",
]
