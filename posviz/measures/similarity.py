"""What two positions have in common before any content comes in, as products of features.

A vector table has its own rows as features; a rotation has the cosines and sines of its angles, so
that the product of two positions is the mean over pairs of cos(angle difference), the score of an
equal query and key. Products are bilinear: the mean over a block of the matrix is the product of
the means of its rows, so a picture of any length needs no large matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posviz.measures.blocks import block_means
from posviz.results import PositionTable, Result, Rotation, ScaledRotation

MOST_FOR_PROFILE = 1024
"""Positions whose pairs are all looked at for a profile over distances."""


@dataclass(frozen=True)
class Features:
    """Similarity of positions m and n is ``queries[m] @ keys[n]``.

    Attributes
    ----------
    queries, keys : (positions, features).
    """

    queries: np.ndarray
    keys: np.ndarray


@dataclass(frozen=True)
class SimilarityMap:
    """Means of the similarity over blocks.

    Attributes
    ----------
    values : (blocks, blocks), queries by keys.
    middles : (blocks,) middle of each block, in positions.
    block : positions per block, at most.
    """

    values: np.ndarray
    middles: np.ndarray
    block: int


@dataclass(frozen=True)
class SimilarityProfile:
    """Similarity against distance, over all pairs of the first positions.

    Attributes
    ----------
    distances : (distances,) query - key, from -(n-1) to n-1.
    mean, low, high : (distances,) over the positions at that distance; low and high are equal to
        the mean where the similarity depends on the distance only.
    """

    distances: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def features(result: Result) -> Features | None:
    """The features of a result whose similarity is a product; None where it is not."""
    if isinstance(result, PositionTable):
        vectors = np.asarray(result.vectors)
        return Features(vectors, vectors)
    if isinstance(result, Rotation):
        angles = np.asarray(result.angles)
        plain = np.concatenate((np.cos(angles), np.sin(angles)), axis=1)
        plain = plain / math.sqrt(max(1, angles.shape[1]))
        if not isinstance(result, ScaledRotation):
            return Features(plain, plain)
        gains = [np.tile(np.asarray(one), 2) for one in (result.query_gain, result.key_gain)]
        return Features(plain * gains[0], plain * gains[1])
    return None


def similarity_map(found: Features, most: int) -> SimilarityMap:
    """Similarity of all positions in at most ``most`` blocks a side."""
    queries = block_means(found.queries, most, axis=0)
    keys = block_means(found.keys, most, axis=0)
    return SimilarityMap(queries.values @ keys.values.T, queries.middles, queries.block)


def similarity_profile(found: Features) -> SimilarityProfile:
    """Similarity against distance over the first 1,024 positions."""
    matrix = found.queries[:MOST_FOR_PROFILE] @ found.keys[:MOST_FOR_PROFILE].T
    count = len(matrix)
    distances = np.arange(1 - count, count)
    # A diagonal above the main one holds keys after their query: a negative distance.
    diagonals = [np.diagonal(matrix, -distance) for distance in distances]
    return SimilarityProfile(
        distances,
        np.array([one.mean() for one in diagonals]),
        np.array([one.min() for one in diagonals]),
        np.array([one.max() for one in diagonals]),
    )
