"""Which figures a link can be drawn as, and how each is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from posviz import figures, measures
from posviz.catalog import link
from posviz.encodings.base import Encoding
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures import FigureSpec, Series
from posviz.figures.results import accepting, drawn
from posviz.figures.results.drawn import At
from posviz.parameters import ParameterError, closest

_MOST_LINKS = 6
Window = tuple[int, int]
"""The trained window and the length to draw, in tokens."""


def _of_spectra(builder: Any) -> Callable[[Sequence[RotaryEncoding], Window], FigureSpec]:
    def make(specs: Sequence[RotaryEncoding], window: Window) -> FigureSpec:
        trained, length = window
        series = [
            Series(link(spec), slot, measures.spectrum(spec, length=length, trained_length=trained))
            for slot, spec in enumerate(specs)
        ]
        return builder.build(series, trained_length=trained, target_length=length)  # type: ignore[no-any-return]

    return make


def _score_decay(specs: Sequence[RotaryEncoding], window: Window) -> FigureSpec:
    trained, length = window
    series = [
        Series(link(spec), slot, measures.score_decay(spec, length=length))
        for slot, spec in enumerate(specs)
    ]
    return figures.score_decay.build(series, trained_length=trained, target_length=length)


_OF_ROTATIONS: dict[str, Callable[[Sequence[RotaryEncoding], Window], FigureSpec]] = {
    "wavelengths": _of_spectra(figures.wavelengths),
    "divisors": _of_spectra(figures.divisors),
    "turns": _of_spectra(figures.turns),
    "score_decay": _score_decay,
}
"""Figures that lay several rotary encodings on the same axes."""


def picture(specs: Sequence[Encoding], name: str | None, length: int | None, count: int) -> Any:
    """The figure of one encoding, or of several rotary ones together.

    Parameters
    ----------
    name : of the figure; by default the first that there is.
    length : of the context that a rotary figure looks at; by default what the methods cover.
    count : how many positions a figure of a result shows.

    Raises
    ------
    ParameterError : no such figure for these encodings, or too many of them.
    """
    if len(specs) > _MOST_LINKS:
        raise ParameterError(f"At most {_MOST_LINKS} links fit in a figure; got {len(specs)}.")
    known = names(specs, count)
    chosen = name or known[0]
    if chosen not in known:
        raise ParameterError(
            f"There is no figure {chosen!r:.40} for this; {closest(chosen, known)}. "
            f"It has: {', '.join(known)}."
        )
    if chosen in _OF_ROTATIONS:
        return _OF_ROTATIONS[chosen](specs, _window(specs, length)).figure()  # type: ignore[arg-type]
    result = specs[0].encode(specs[0].example_positions(count))
    figure = next(each for each in accepting(result) if each.id == chosen)
    at = At(position=count // 2, part=next(iter(figure.parts(result)), "") if figure.parts else "")
    return drawn(figure.content(result, at)).figure()


def names(specs: Sequence[Encoding], count: int) -> list[str]:
    """The figures that can show these encodings."""
    of_rotations = list(_OF_ROTATIONS) if all(map(_rotates, specs)) else []
    if len(specs) > 1:
        if not of_rotations:
            raise ParameterError(
                "Several links can only be drawn together when all of them are rotary."
            )
        return of_rotations
    result = specs[0].encode(specs[0].example_positions(count))
    return of_rotations + [figure.id for figure in accepting(result)]


def _rotates(spec: Encoding) -> bool:
    return isinstance(spec, RotaryEncoding)


def _window(specs: Sequence[Any], length: int | None) -> Window:
    trained = max(getattr(spec, "original_max_position_embeddings", 0) or 0 for spec in specs)
    factors = [getattr(spec, "scaling_factor", None) or 1 for spec in specs]
    trained = trained or length or 4096
    return trained, length or round(trained * max(factors))
