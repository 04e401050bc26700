"""What the checks look at: the configuration, the model that it describes, what was asked for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posviz.configs.checks.diagnosis import Operation
from posviz.configs.findings import Findings
from posviz.configs.gguf import GgufConfig
from posviz.configs.model import Layer, Model
from posviz.configs.model_classes import ModelClass, model_class
from posviz.configs.rope_dicts import RopeDict, rope_dicts
from posviz.configs.section import Section, text_section
from posviz.encodings.rotary import RotaryEncoding


@dataclass(frozen=True)
class Rotating:
    """A layer type that rotates and whose numbers can be used."""

    layer: Layer
    spec: Any
    """Its encoding; of many classes, so its own parameters are not typed here."""
    rope: RopeDict
    """Where its numbers stand in the configuration."""

    @property
    def name(self) -> str:
        """The layer type for a diagnosis: empty where the model has only one."""
        return self.layer.name if self.rope.per_layer else ""

    def key(self, name: str) -> str:
        """The dotted key of an entry of its dict; beside the dict where there is none."""
        section = self.rope.section
        return section.key(name) if section is not None and section.path else name

    def given(self, name: str) -> Any:
        """The value of an entry of its dict; None when it is absent or null."""
        return None if self.rope.section is None else self.rope.section.data.get(name)


@dataclass(frozen=True)
class Subject:
    """One configuration under examination."""

    model: Model
    runtime: str | None = None
    target_length: int | None = None

    @property
    def gguf(self) -> GgufConfig | None:
        """What was read of a GGUF file, where the configuration came from one."""
        return self.model.gguf

    @property
    def config(self) -> Mapping[str, Any]:
        return self.model.config

    @functools.cached_property
    def section(self) -> Section:
        """The text model's own keys."""
        return text_section(self.model.config)[0]

    @functools.cached_property
    def facts(self) -> ModelClass:
        """What the model's class takes by itself."""
        return model_class(self.model.model_type)

    @functools.cached_property
    def rotating(self) -> tuple[Rotating, ...]:
        """Every layer type whose spec can be used."""
        if not self.model.layers:
            return ()
        dicts = {each.layer_type: each for each in rope_dicts(self.section, self.facts, Findings())}
        return tuple(
            Rotating(layer, layer.spec, dicts[layer.name])
            for layer in self.model.layers
            if isinstance(layer.spec, RotaryEncoding) and layer.name in dicts
        )

    @functools.cached_property
    def main(self) -> Rotating | None:
        """The layer type asked for by default: full attention, or the first that rotates."""
        if not self.rotating:
            return None
        chosen = self.model.layer().name
        return next((each for each in self.rotating if each.layer.name == chosen), self.rotating[0])

    def concerns(self, *runtimes: str) -> bool:
        """Whether one of these runtimes is the one asked about; True where none was named."""
        return self.runtime is None or self.runtime in runtimes

    def put(self, key: str, value: Any) -> Operation:
        """The operation that sets a dotted key, whether it is there or not."""
        exists, pointer = self._pointer(key)
        return {"op": "replace" if exists else "add", "path": pointer, "value": value}

    def drop(self, key: str) -> tuple[Operation, ...]:
        """The operation that removes a dotted key; none where it is not there."""
        exists, pointer = self._pointer(key)
        return ({"op": "remove", "path": pointer},) if exists else ()

    def _pointer(self, key: str) -> tuple[bool, str]:
        """Whether a dotted key is there, and its JSON pointer. Keys may contain dots themselves."""
        inside: Any = self.config
        rest, parts = key, []
        while rest:
            name = _first_name(inside, rest)
            parts.append(name)
            rest = rest[len(name) :].removeprefix(".")
            known = isinstance(inside, Mapping) and name in inside
            inside = inside[name] if known else None
            if not known and rest:
                parts += rest.split(".")
                return False, _joined(parts)
        return known, _joined(parts)


def _first_name(inside: Any, key: str) -> str:
    if isinstance(inside, Mapping):
        whole = [name for name in inside if key == name or key.startswith(f"{name}.")]
        if whole:
            return str(max(whole, key=len))
    return key.partition(".")[0]


def _joined(parts: list[str]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
