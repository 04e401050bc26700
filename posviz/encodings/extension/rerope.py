"""ReRoPE: no distance is larger than the window."""

from __future__ import annotations

import math
from typing import ClassVar

from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.remapping import REMAP_SNIPPET, QueryScaling, WindowRemapping
from posviz.results import Array


class Rerope(WindowRemapping):
    """The distance δ becomes min(δ, w); usual windows are L/4 to L/2."""

    title: ClassVar[str] = "ReRoPE"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Rectified rotary position embeddings",
            authors="Su",
            year=2023,
            place="kexue.fm 9708",
            code="github.com/bojone/rerope acfe788; github.com/jquesnelle/yarn 995db5b LlamaReRoPE",
        ),
    )
    formula: ClassVar[str] = r"\delta' = \min(\delta, w)"
    shows: ClassVar[str] = (
        "Everything beyond the window stands at one distance: the score is flat there, and no "
        "length leaves the trained range."
    )
    limits: ClassVar[str] = (
        "Order is lost beyond the window; every logit needs two rotations, so cached keys cannot "
        "stay rotated."
    )
    snippet: ClassVar[str] = (
        REMAP_SNIPPET + "relative_distance = np.where(m - n < $window, m - n, $window)"
    )
    snippet_gives: ClassVar[str] = "relative_distance"

    query_scaling: QueryScaling = True

    def relative_distance(self, query: Array, key: Array) -> Array:
        distance = query - key
        xp = array_namespace(distance)
        return self.beyond(distance, xp.full_like(distance, self.window), xp=xp)

    @property
    def stretch(self) -> float:
        return math.inf
