"""Which encodings a causal model of text can be trained with, and why the others cannot."""

from __future__ import annotations

import inspect

from posviz.catalog import catalog, link
from posviz.encodings.base import Encoding
from posviz.results import AxialRotation, Result, Schedule


def refusal(spec: Encoding) -> str:
    """Why no causal model of text can be trained with it, one sentence; empty where one can."""
    missing = spec.missing()
    if missing:
        return missing
    return _refusal_of(spec, spec.encode(spec.example_positions(4)))


def _refusal_of(spec: Encoding, result: Result) -> str:
    if isinstance(result, Schedule):
        return (
            f"{spec.title} says how the lengths of training grow, not where a token stands: there "
            "is nothing to put into a model."
        )
    if isinstance(result, AxialRotation) or result.grid:
        return (
            f"{spec.title} places tokens on a grid of rows and columns, or of frames; the tasks "
            "here are rows of tokens, on which only one axis would be left."
        )
    if result.labels and not takes(spec, "queries"):
        return (
            f"{spec.title} places the words of a sentence of its own; the tasks here have neither "
            "words nor sentences."
        )
    return ""


def takes(spec: Encoding, name: str) -> bool:
    """Whether ``spec.encode`` has an argument of this name."""
    return name in inspect.signature(spec.encode).parameters


def trainable_links() -> tuple[str, ...]:
    """Links of all encodings of the catalog, with their defaults, that can be trained."""
    specs = [encoding() for encoding in catalog()]
    return tuple(link(spec) for spec in specs if not refusal(spec))


def refusals() -> dict[str, str]:
    """Title to reason, for every encoding of the catalog that cannot be trained."""
    found = {encoding.title: refusal(encoding()) for encoding in catalog()}
    return {title: why for title, why in found.items() if why}
