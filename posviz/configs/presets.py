"""Released models to start from."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.read_only import read_only
from posviz.parameters import closest, shortened


@dataclass(frozen=True)
class Preset:
    """A released model: the fields of its config.json that bear on positions.

    Attributes
    ----------
    id, name, family : short and stable; as its authors call it; for lists.
    window, trained_window : max_position_embeddings and the original length, in tokens, as the
        reader gives them; they stand in the file so that a list needs no reading.
    config : what :func:`posviz.configs.read` takes.
    source : the public model that the fields are from.
    """

    id: str
    name: str
    family: str
    window: int
    trained_window: int
    config: Mapping[str, Any]
    source: str


@functools.cache
def presets() -> tuple[Preset, ...]:
    """All presets, by family and name."""
    text = (files("posviz.configs") / "presets.json").read_text(encoding="utf-8")
    found = [Preset(**entry) for entry in read_only(json.loads(text))]
    return tuple(sorted(found, key=lambda preset: (preset.family, preset.name)))


def preset(preset_id: str) -> Preset:
    """The preset with this id; ConfigError lists the closest ids when there is none."""
    by_id = {item.id: item for item in presets()}
    if not isinstance(preset_id, str) or preset_id not in by_id:
        raise ConfigError(
            f"There is no preset {shortened(preset_id)}; {closest(preset_id, list(by_id))}."
        )
    return by_id[preset_id]
