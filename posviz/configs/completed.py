"""A link that leaves out what only the model knows, completed with the model's own numbers."""

from __future__ import annotations

from typing import Any

from posviz.catalog import parse
from posviz.configs.model import Model

_FROM_THE_MODEL = (
    "base",
    "head_dim",
    "partial_rotary_factor",
    "layout",
    "original_max_position_embeddings",
)


def completed_link(
    link: str, model: Model, *, layer_type: str | None = None, target_length: int | None = None
) -> str:
    """The link with the numbers of the model that it does not give itself.

    With a target and no factor, the factor is the smallest one that covers the target.

    Raises
    ------
    ParameterError : there is no such encoding.
    ConfigError : the model has no rotary layer of this type.
    """
    own = model.spec(layer_type)
    encoding_id, _, query = link.strip().partition("?")
    asked = parse(encoding_id)
    given = {part.partition("=")[0] for part in query.split("&") if part}
    known = {declaration.name: declaration for declaration in asked.declarations()}
    values: dict[str, Any] = {name: getattr(own, name, None) for name in _FROM_THE_MODEL}
    if values["original_max_position_embeddings"] is None:
        values["original_max_position_embeddings"] = model.trained_window
    original = values["original_max_position_embeddings"]
    if target_length is not None and original is not None:
        values["scaling_factor"] = max(1.0, target_length / original)
    more = [
        f"{name}={known[name].format(value)}"
        for name, value in values.items()
        if name in known and name not in given and value is not None
    ]
    return f"{encoding_id}?{'&'.join([*filter(None, [query]), *more])}"
