"""Two configurations measured and drawn side by side, without anything of the page."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from posviz import figures, measures
from posviz.configs import Model
from posviz.configs.comparison import LONGEST_COMPARISON, Comparison, compare
from posviz.configs.comparison_pairs import layer_pairs, rotary_spec
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures import FigureSpec, Series
from posviz.ui.context_extension.address import model_of
from posviz.ui.context_extension.view import MOST_COSINES


@dataclass(frozen=True)
class Drawing:
    """One figure: A in colour, B behind it as a ghost."""

    title: str
    figure: FigureSpec
    says: str
    """What it shows, for those who cannot see it."""


@dataclass(frozen=True)
class SideBySide:
    """The numbers, and the figures of every layer type that could be compared."""

    comparison: Comparison
    drawings: dict[str, tuple[Drawing, ...]]
    window: int
    """The larger of the two windows; the comparison's length is shorter where a page cannot work
    that one out at once."""


@functools.lru_cache(maxsize=16)
def of_sources(source_a: str, source_b: str, layer_type: str | None) -> SideBySide:
    """The two models behind two sources; see :func:`side_by_side`."""
    return side_by_side(model_of(source_a), model_of(source_b), layer_type)


def side_by_side(a: Model, b: Model, layer_type: str | None) -> SideBySide:
    """Both models at the larger of their windows, in one layer type or in all."""
    window = max(model.window or model.trained_window or 0 for model in (a, b))
    length = min(window, LONGEST_COMPARISON, MOST_COSINES // max(_pairs(a), _pairs(b)))
    found = compare(a, b, layer_type=layer_type, length=length or None)
    compared = {each.layer_type for each in found.layers}
    drawings = {
        name: tuple(
            _drawings(rotary_spec(one), rotary_spec(two), a.trained_window or length, length)
        )
        for name, one, two in layer_pairs(a, b, layer_type)
        if one is not None and two is not None and name in compared
    }
    return SideBySide(found, drawings, window)


def _pairs(model: Model) -> int:
    specs = [layer.spec for layer in model.layers]
    return max((spec.pairs for spec in specs if isinstance(spec, RotaryEncoding)), default=1)


def _drawings(
    a: RotaryEncoding, b: RotaryEncoding, trained_length: int, length: int
) -> Iterator[Drawing]:
    ghost_first = (("B", None, b), ("A", 0, a))
    spectra = [
        Series(name, slot, measures.spectrum(spec, length=length, trained_length=trained_length))
        for name, slot, spec in ghost_first
    ]
    lengths = {"trained_length": trained_length, "target_length": length}
    yield Drawing(
        figures.wavelengths.title,
        figures.wavelengths.build(spectra, **lengths),
        "Tokens per turn of every pair: the line of A over the grey line of B.",
    )
    if length > 1:  # an axis of distances starts at 1
        decays = [
            Series(name, slot, measures.score_decay(spec, length=length))
            for name, slot, spec in ghost_first
        ]
        yield Drawing(
            figures.score_decay.title,
            figures.score_decay.build(decays, **lengths),
            "Score of an equal query and key against their distance, all factors on the logits "
            "included: the line of A over the grey line of B.",
        )
    if a.pairs == b.pairs:
        difference = measures.profile_difference(b, a, length=length)
        if difference.largest:
            yield Drawing(
                "Relative difference of each frequency",
                figures.profile_difference.build(difference, label="B against A", slot=0),
                "The frequency of every pair in B divided by the one in A, less 1.",
            )
