"""What a product of factor and original may mean that is not max_position_embeddings."""

from __future__ import annotations

from posviz.configs.section import Found

_LARGEST_USUAL_FACTOR = 1024
_SHORTEST_WINDOW = 512
USUAL_WINDOWS = (2048, 4096, 8192, 16384, 32768)
"""Tokens that models are trained at before they are extended."""


def factor_meant(factor: float, original: int, window: int) -> float | None:
    """The ratio behind a factor that looks like a length; None where it looks like a factor."""
    is_length = factor >= _SHORTEST_WINDOW and factor in (original, window)
    if not is_length and factor <= _LARGEST_USUAL_FACTOR:
        return None
    ratio = window / original if window > original else factor / original
    return ratio if 1 < ratio <= _LARGEST_USUAL_FACTOR else None


def may_be_extended(factor: float, original: int, window: int) -> bool:
    """Whether an original equal to the window may be the extended length, typed in its place."""
    return window == original >= 65536 and window / factor in USUAL_WINDOWS


def reading_of_mismatch(factor: float, original: Found, window: Found) -> str:
    """What factor × original beside another max_position_embeddings may mean; empty if open."""
    meant = factor_meant(factor, original.value, window.value)
    if meant is not None:
        return f" {factor:g} looks like a length; as a ratio of lengths it would be {meant:g}."
    if may_be_extended(factor, original.value, window.value):
        trained = f"{window.value / factor:g}"
        return (
            " Either the file keeps the trained window there, so that vLLM stops at it until it "
            f"is raised, or {original.key} was given the extended length; then the trained window "
            f"is {window.value} / {factor:g} = {trained}, and the ramp belongs elsewhere."
        )
    if window.value == original.value:
        return " The file keeps the trained window there."
    return ""
