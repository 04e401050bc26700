"""Small results written out by hand, so that no figure is tested through an encoding."""

import numpy as np

from posviz.results import (
    AttentionMask,
    AttentionTerms,
    AxialRotation,
    MatrixBias,
    PositionTable,
    RelativeRotation,
    Rotation,
    ScaledRotation,
    ToeplitzBias,
)

COUNT = 40
FREQUENCIES = 100.0 ** (-np.arange(8) / 8)
ROTARY = {
    "inv_freq": FREQUENCIES,
    "attention_factor": 1.0,
    "head_dim": 16,
    "rotary_dim": 16,
    "layout": "half_split",
}


def sines(positions):
    """Alternating sines and cosines of 8 waves: (positions, 16)."""
    angles = positions[:, None] * FREQUENCIES
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(len(positions), -1)


def table(count=COUNT, vectors=None):
    positions = np.arange(float(count))
    return PositionTable(
        positions=positions, vectors=sines(positions) if vectors is None else vectors
    )


def rotation(count=COUNT, inv_freq=FREQUENCIES):
    rows = {**ROTARY, "inv_freq": np.asarray(inv_freq)}
    return Rotation(positions=np.arange(float(count)), **rows)


def scaled():
    """Each pair loses 2 % to 0.1 % a token."""
    positions, decay = np.arange(float(COUNT)), np.linspace(0.98, 0.999, 8)
    gain = decay ** positions[:, None]
    return ScaledRotation(
        positions=positions, query_gain=gain, key_gain=1 / gain, decay=decay, **ROTARY
    )


def axial():
    """4 rows of 6 columns; pair 0 turns with the rows, pair 1 with the columns."""
    row, column = np.divmod(np.arange(24.0), 6)
    rows = {**ROTARY, "inv_freq": np.array([0.7, 0.1]), "rotary_dim": 4}
    return AxialRotation(
        positions=np.arange(24.0),
        coordinates=np.stack([row, column], axis=1),
        axis_names=("row", "column"),
        axis_freq=np.array([[0.7, 0.0], [0.0, 0.1]]),
        grid=(4, 6),
        **rows,
    )


def remapped():
    """Distances held at 6."""
    positions = np.arange(float(COUNT))
    gaps = positions[:, None] - positions[None, :]
    return RelativeRotation(positions=positions, relative_distance=np.minimum(gaps, 6), **ROTARY)


def bias(count=COUNT, causal=False):
    """Two heads with slopes 1/2 and 1/4; symmetric unless causal."""
    distances = np.arange(1.0 - count, count)
    slopes = np.array([0.5, 0.25])
    sizes = distances if causal else np.abs(distances)
    return ToeplitzBias(
        positions=np.arange(float(count)),
        heads=2,
        is_causal_only=causal,
        slopes=slopes,
        distances=distances,
        by_distance=-slopes[:, None] * sizes,
    )


def matrix_bias():
    """100·head + 10·query + key."""
    values = np.add.outer(np.array([0, 100]), np.add.outer(10 * np.arange(8), np.arange(8)))
    return MatrixBias(
        positions=np.arange(8.0), heads=2, is_causal_only=True, values=values.astype(float)
    )


def mask(count=COUNT):
    """A causal window of 4 tokens, in 3 layers."""
    distances = np.arange(1.0 - count, count)
    return AttentionMask(
        positions=np.arange(float(count)),
        distances=distances,
        visible=(distances >= 0) & (distances < 4),
        reach=np.array([4.0, 7.0, 10.0]),
    )


def terms():
    """Head 1: query · key, and key - query; head 0 is zero. Causal."""
    places = np.arange(12.0)
    product, gap = np.multiply.outer(places, places), -np.subtract.outer(places, places)
    nothing = np.zeros_like(product)
    return AttentionTerms(
        positions=places,
        terms={"content": np.stack([nothing, product]), "position": np.stack([nothing, gap])},
        is_causal_only=True,
    )
