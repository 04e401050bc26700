"""Small specs that remap distances, so that measures are tested without any one encoding."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from posviz.encodings.rotary import RotaryEncoding


class _Remapped(RotaryEncoding):
    title: ClassVar[str] = "Remapped"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Any, ...]] = ()
    formula: ClassVar[str] = ""
    shows: ClassVar[str] = ""
    limits: ClassVar[str] = ""
    remaps_distance: ClassVar[bool] = True


class Clamped(_Remapped):
    """min(d, 1024), as ReRoPE."""

    def relative_distance(self, query: Any, key: Any) -> Any:
        return np.minimum(query - key, 1024)


class Kinked(_Remapped):
    """d up to 1024, then an eighth as fast, as Leaky ReRoPE."""

    def relative_distance(self, query: Any, key: Any) -> Any:
        distance = query - key
        return np.where(distance < 1024, distance, 1024 + (distance - 1024) / 8)


class Staircase(_Remapped):
    """Positions floored in groups of 8 beyond 1024, as Self-Extend."""

    def relative_distance(self, query: Any, key: Any) -> Any:
        near = query - key
        far = np.floor(query / 8) + 1024 - 128 - np.floor(key / 8)
        return np.where(near < 1024, near, far)


class UnevenStaircase(_Remapped):
    """Groups of 7, which do not divide the window: fractional beyond it, whole below."""

    def relative_distance(self, query: Any, key: Any) -> Any:
        near = query - key
        far = np.floor(query / 7) + 1024 - 1024 / 7 - np.floor(key / 7)
        return np.where(near < 1024, near, far)


class Sawtooth(_Remapped):
    """Keys counted modulo a chunk, as dual chunk attention: the distance falls and rises."""

    def relative_distance(self, query: Any, key: Any) -> Any:
        return 3071 - np.mod(key, 3072) + 0 * query


class Bent(_Remapped):
    """d^0.9: neither whole numbers nor evenly spaced runs."""

    def relative_distance(self, query: Any, key: Any) -> Any:
        return (query - key) ** 0.9


class Stopped(_Remapped):
    """Pairs below 1e-3 stopped, and pairs between 1e-3 and 1e-2 at half speed."""

    remaps_distance: ClassVar[bool] = False

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Any:
        trained = self.trained_frequencies(xp=xp, device=device)
        return np.where(trained < 1e-3, 0.0, np.where(trained < 1e-2, trained / 2, trained))


class Tempered(_Remapped):
    """Factors in all three places; the query's grows with its position."""

    remaps_distance: ClassVar[bool] = False

    def magnitude(self, length: int) -> float:
        return 1.5

    def softmax_magnitude(self, length: int) -> float:
        return 2.0

    def query_scale(self, query: Any, length: int) -> Any:
        return 1 + query / 1000


@pytest.fixture(params=[Clamped, Kinked, Staircase, UnevenStaircase, Sawtooth, Bent])
def remapping(request: pytest.FixtureRequest) -> RotaryEncoding:
    spec: RotaryEncoding = request.param()
    return spec


@pytest.fixture(params=[Clamped, Kinked, Staircase, UnevenStaircase, Sawtooth])
def patterned(request: pytest.FixtureRequest) -> RotaryEncoding:
    spec: RotaryEncoding = request.param()
    return spec


@pytest.fixture
def clamped() -> RotaryEncoding:
    return Clamped()


@pytest.fixture
def kinked() -> RotaryEncoding:
    return Kinked()


@pytest.fixture
def stopped() -> RotaryEncoding:
    return Stopped()


@pytest.fixture
def tempered() -> RotaryEncoding:
    return Tempered()
