"""Tables over grids, in the axes that libraries give them in."""

from __future__ import annotations

from typing import Any

import numpy as np

from posviz.encodings.coordinates import spread, walked


def _vectors(case: dict[str, Any], spec: Any) -> tuple[np.ndarray, list[int]]:
    params = case["params"]
    sides = params.get("grid", params.get("feat_shape"))
    points = walked([spread(side, spec.coordinates) for side in sides])
    return np.asarray(spec.encode(points).vectors), sides


def grid_table(case: dict[str, Any], spec: Any, expected: np.ndarray) -> np.ndarray:
    """(rows, columns, model_dim), or (places, model_dim) where the library flattens the grid."""
    return _vectors(case, spec)[0].reshape(expected.shape)


def features_first(case: dict[str, Any], spec: Any, expected: np.ndarray) -> np.ndarray:
    """(model_dim, rows, columns)."""
    vectors, sides = _vectors(case, spec)
    return np.moveaxis(vectors.reshape(*sides, -1), -1, 0)


def fourier_table(case: dict[str, Any], spec: Any, expected: np.ndarray) -> np.ndarray:
    """(sine or cosine, rows, columns, axis, band), after the library's own rounding.

    Coordinates of whole numbers meet frequencies of whole multiples of π, whose sines are 0: what
    the library has there instead is the rounding of π and of its product to float32.
    """
    vectors, sides = _vectors(case, spec)
    exact = np.moveaxis(vectors.reshape(*sides, 2, 2, -1), 2, 0)
    bands = (spec.inv_freq(xp=np, device=None) / np.pi).astype(np.float32)
    points = walked([spread(side, spec.coordinates) for side in sides]).astype(np.float32)
    angles = points[:, :, None] * (bands * np.float32(np.pi))
    rounded = np.stack((np.sin(angles), np.cos(angles))).reshape(2, *sides, 2, -1)
    # The rounding must be all that differs: 112 π to 24 bits is off by up to 3e-5.
    np.testing.assert_allclose(rounded, exact, atol=4e-5)
    return rounded
