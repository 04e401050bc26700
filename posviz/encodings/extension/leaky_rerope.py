"""Leaky ReRoPE: beyond the window the distance grows more slowly."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.remapping import REMAP_SNIPPET, QueryScaling, WindowRemapping
from posviz.parameters import Parameter
from posviz.results import Array


class LeakyRerope(WindowRemapping):
    """δ inside the window, w + (δ - w)/k beyond; reaches (L - w)·k + w tokens."""

    title: ClassVar[str] = "Leaky ReRoPE"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Rectified rotary position embeddings",
            authors="Su",
            year=2023,
            place="kexue.fm 9708",
            code="github.com/bojone/rerope acfe788 forward_with_leaky_rerope",
        ),
    )
    formula: ClassVar[str] = (
        r"\delta' = \delta \text{ if } \delta < w,\quad w + \frac{\delta - w}{k} \text{ otherwise}"
    )
    shows: ClassVar[str] = (
        "A kink at the window: exact order nearby, k tokens per step of distance beyond."
    )
    limits: ClassVar[str] = (
        "Every logit needs two rotations, so cached keys cannot stay rotated; fractional distances "
        "were never trained."
    )
    snippet: ClassVar[str] = (
        REMAP_SNIPPET
        + """w, k = $window, $scaling_factor
relative_distance = np.where(m - n < w, m - n, w + (m - n - w) / k)
"""
    )
    snippet_gives: ClassVar[str] = "relative_distance"

    query_scaling: QueryScaling = True
    scaling_factor: Annotated[
        float,
        Ge(1),
        Le(1e6),
        Parameter(
            help="How many tokens beyond the window make one step of distance.",
            symbol="k",
            slider=(1, 64),
            scale="log",
        ),
    ] = 8.0

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "scaling_factor": longest / length}

    def relative_distance(self, query: Array, key: Array) -> Array:
        distance = query - key
        farther = self.window + (distance - self.window) / self.scaling_factor
        return self.beyond(distance, farther, xp=array_namespace(distance))

    @property
    def stretch(self) -> float:
        return self.scaling_factor
