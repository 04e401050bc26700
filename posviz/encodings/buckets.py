"""Buckets of distances, as T5 counts them: shared by all encodings with one number per bucket."""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from posviz.results import Array


def t5_bucket(
    relative_position: Array, *, bidirectional: bool, num_buckets: int, max_distance: float
) -> Array:
    """Bucket of every relative position, whole numbers of the same shape.

    With N buckets a side and e = ⌊N/2⌋, distances below e have a bucket each, and a larger one has
    e + ⌊ln(distance/e) / ln(max_distance/e) · (N - e)⌋, at most N - 1. Both directions: half of the
    buckets are for keys before the query and itself, the other half for keys after it. Else keys
    after the query share bucket 0 with the query itself.

    The logarithm is rounded to float32 and so is each step after it, as in the code that the
    released models were trained with: it decides on which side of an edge a distance falls.

    Parameters
    ----------
    relative_position : any shape, tokens, key - query.
    bidirectional : whether keys after the query have buckets of their own.
    num_buckets : of both sides together; at least 2 a side.
    max_distance : from here on all distances share the last bucket; above e.

    Raffel et al., arXiv:1910.10683, section 2.1; transformers 5.24.0,
    ``T5Attention._relative_position_bucket``.
    """
    xp = array_namespace(relative_position)
    key_minus_query = xp.astype(relative_position, xp.float64)
    side = num_buckets // 2 if bidirectional else num_buckets
    if bidirectional:
        first = xp.where(key_minus_query > 0, side, 0)
        distance = xp.abs(key_minus_query)
    else:
        first = xp.zeros_like(key_minus_query)
        distance = xp.where(key_minus_query < 0, -key_minus_query, first)
    exact = side // 2
    is_exact = distance < exact
    far = xp.where(is_exact, xp.ones_like(distance) * exact, distance)
    # In float32 throughout: Python numbers do not widen it, and so decide no edge.
    ratio = xp.astype(xp.log(xp.astype(far, xp.float32) / exact), xp.float32)
    log_bucket = xp.trunc(ratio / math.log(max_distance / exact) * (side - exact))
    last = xp.full_like(log_bucket, side - 1)
    large = xp.astype(xp.minimum(exact + log_bucket, last), xp.int64)
    within = xp.where(is_exact, xp.astype(distance, xp.int64), large)
    return within + xp.astype(first, xp.int64)


def log_bucket(distance: Array, bucket_size: int, max_position: int) -> Array:
    """Signed bucket of every distance, whole numbers of the same shape.

    With e = ⌊bucket_size/2⌋ distances up to e keep themselves; a larger one becomes
    e + ⌈ln(|δ|/e) / ln((max_position-1)/e) · (e - 1)⌉ with its sign. It is odd: bucket(-δ) is
    -bucket(δ). The logarithm is rounded to float32, as in the code that models were trained with.

    Parameters
    ----------
    distance : any shape, tokens, query - key.
    bucket_size : buckets of one direction, at least 4.
    max_position : the distance that the last bucket stands for; above e + 1.

    He et al., arXiv:2006.03654, appendix; transformers 5.24.0 ``make_log_bucket_position``.
    """
    xp = array_namespace(distance)
    at = xp.astype(distance, xp.float64)
    exact = bucket_size // 2
    size = xp.abs(at)
    far = xp.where(size > exact, size, xp.full_like(size, exact))
    ratio = xp.log(xp.astype(far, xp.float32) / exact)
    steps = xp.ceil(ratio / math.log((max_position - 1) / exact) * (exact - 1))
    bucket = xp.where(size <= exact, size, xp.astype(steps, xp.float64) + exact)
    return xp.astype(bucket * xp.sign(at), xp.int64)
