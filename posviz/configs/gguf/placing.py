"""Where rotary parameters go in the configuration, and lists of divisors among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from posviz.configs.gguf.fields import Draft
from posviz.configs.gguf.scaling import Scaling
from posviz.configs.model_classes import model_class


@dataclass(frozen=True)
class Rotation:
    """Where the parameters of one layer type go, and what is known about it already."""

    path: tuple[str, ...]
    base: float
    base_name: str
    pairs: int | None
    """Half of the rotated dimensions; None when the file does not tell."""
    scaled: bool = True


def put(draft: Draft, rotation: Rotation, key: str, value: object, name: str) -> None:
    draft.put((*rotation.path, key), value, name)


def put_original(draft: Draft, rotation: Rotation, value: float | None, name: str) -> None:
    """The original window, where the model's class looks for it first."""
    if value is None:
        return
    key = "original_max_position_embeddings"
    at_top = model_class(draft.config.get("model_type", "")).original_window is not None
    # Classes with a window of their own read the top level before the dict.
    path = () if at_top and len(rotation.path) == 1 else rotation.path
    draft.put((*path, key), value, name)


def put_lists(
    draft: Draft,
    rotation: Rotation,
    scaling: Scaling,
    short: Sequence[float],
    long: Sequence[float],
    names: tuple[str, str],
) -> None:
    """The divisors of longrope, with the scaling factor and attn_factor in them."""
    if scaling.factor != 1:
        draft.note(
            "warn",
            f"{scaling.factor_name} {scaling.factor:g} divides every frequency as well; it is "
            "multiplied into the lists here.",
        )
    put(draft, rotation, "rope_type", "longrope", names[0] or scaling.kind_name)
    for key, values, name in (("short_factor", short, names[0]), ("long_factor", long, names[1])):
        put(draft, rotation, key, [value * scaling.factor for value in values], name)
    put(draft, rotation, "attention_factor", scaling.attention, scaling.attention_name)
    original, name = scaling.original, scaling.original_name
    if original is None:  # llama.cpp then takes the window itself
        original = draft.config.get("max_position_embeddings")
        name = draft.names.get("max_position_embeddings", "")
    put_original(draft, rotation, original, name)
