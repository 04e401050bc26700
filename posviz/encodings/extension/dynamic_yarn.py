"""Dynamic YaRN: YaRN whose factor follows the length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from posviz.encodings.base import Source
from posviz.encodings.extension import DynamicExtension
from posviz.encodings.rotary import SNIPPET_AT_LENGTH
from posviz.encodings.yarn_rules import RAMP_SNIPPET, YarnRules


class DynamicYarn(YarnRules, DynamicExtension):
    """YaRN with s = max(1, ℓ/L), frequencies and attention factor alike."""

    title: ClassVar[str] = "Dynamic YaRN"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="YaRN: Efficient Context Window Extension of Large Language Models",
            authors="Peng et al.",
            year=2023,
            arxiv="2309.00071",
            place="section 3.3",
            code="github.com/jquesnelle/yarn 995db5b LlamaDynamicYaRNScaledRotaryEmbedding",
        ),
    )
    formula: ClassVar[str] = (
        r"f'_i = \gamma_i f_i + (1 - \gamma_i)\frac{f_i}{s},\quad s = \max(1, \ell / L),"
        r"\quad m = 0.1 \ln s + 1"
    )
    shows: ClassVar[str] = (
        "Nothing changes up to the trained window; beyond it the slow pairs slow down further with "
        "every token."
    )
    limits: ClassVar[str] = (
        "Keys that are cached already rotated keep the frequencies of the length at which they "
        "were written; a runtime has to cache them unrotated to compute this."
    )
    snippet: ClassVar[str] = (
        SNIPPET_AT_LENGTH
        + "s = max(1, length / L)\n"
        + RAMP_SNIPPET
        + "inv_freq = f / s + $extrapolation_factor * kept * (f - f / s)\n"
    )
    snippet_gives: ClassVar[str] = "inv_freq"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "authors' code": {"ramp": "pair_index", "truncate": True, "crossed_bounds": "backwards"},
        "paper (ramp in turns)": {
            "ramp": "turns",
            "truncate": True,
            "crossed_bounds": "backwards",
        },
    }
