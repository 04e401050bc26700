"""Self-Extend: beyond the neighbour window positions count in groups."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.remapping import REMAP_SNIPPET, WindowRemapping
from posviz.parameters import Parameter
from posviz.results import Array


class SelfExtend(WindowRemapping):
    """δ inside the window, ⌊m/G⌋ + w - w/G - ⌊n/G⌋ beyond; reaches (L - w)·G + w tokens.

    Each position is floored by itself, so that keys can be cached: w + ⌊(δ - w)/G⌋, which is also
    met, can differ by 1.
    """

    title: ClassVar[str] = "Self-Extend"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning",
            authors="Jin et al.",
            year=2024,
            arxiv="2401.01325",
            place="section 3, algorithm 1",
            code="github.com/datamllab/LongLM cdbbb06 self_extend_forward",
        ),
    )
    formula: ClassVar[str] = (
        r"\delta' = \delta \text{ if } \delta < w,\quad \lfloor m/G \rfloor + w - w/G - "
        r"\lfloor n/G \rfloor \text{ otherwise}"
    )
    shows: ClassVar[str] = (
        "A staircase beyond the window: G neighbouring keys share one distance, and the stairs "
        "shift with the query."
    )
    limits: ClassVar[str] = (
        "Whether a model can tell the keys of one group apart by content is not drawn."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read the distance beyond the window as w + ⌊(δ - w)/G⌋. Positions are "
        "floored one by one, so that keys can be cached, which can give 1 more.",
    )
    snippet: ClassVar[str] = (
        REMAP_SNIPPET
        + """w, G = $window, $group_size
shift = w - (w / G if $shift == "true_division" else w // G)
relative_distance = np.where(m - n < w, m - n, m // G + shift - n // G)
"""
    )
    snippet_gives: ClassVar[str] = "relative_distance"

    group_size: Annotated[
        int,
        Ge(1),
        Le(1 << 20),
        Parameter(
            help="How many tokens beyond the window share one position.",
            symbol="G",
            unit="tokens",
            slider=(1, 64),
            step=1,
        ),
    ] = 8
    shift: Annotated[
        Literal["true_division", "floored"],
        Parameter(
            help="The shift of a grouped query: w - w/G (the authors' code; fractional unless G "
            "divides w) or w - ⌊w/G⌋ (the algorithm as printed)."
        ),
    ] = "true_division"

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "group_size": 8}

    def relative_distance(self, query: Array, key: Array) -> Array:
        distance = query - key
        xp = array_namespace(distance)
        group = self.group_size
        per_group = self.window / group if self.shift == "true_division" else self.window // group
        farther = xp.floor(query / group) + (self.window - per_group) - xp.floor(key / group)
        return self.beyond(distance, farther, xp=xp)

    @property
    def stretch(self) -> float:
        return float(self.group_size)
