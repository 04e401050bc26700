"""Where a key that the reader names stands in the configuration, or where it would stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posviz.configs.checks.subject import Subject
from posviz.configs.findings import Findings
from posviz.configs.rope_dicts import RopeDict, rope_dicts
from posviz.configs.section import Section
from posviz.configs.type_values import ALWAYS_READ, READ_KEYS

DICT_KEYS: frozenset[str] = frozenset(ALWAYS_READ).union(*READ_KEYS.values())
"""Every key of a dict of rotary parameters that the reader reads for some rope type."""


ONLY_INSIDE = DICT_KEYS.difference(("rope_theta", "partial_rotary_factor", "type"))
"""Those whose place is in the dict; the original window is read beside it too."""
READ_INSIDE_ONLY = ONLY_INSIDE.difference(("original_max_position_embeddings",))


@dataclass(frozen=True)
class Place:
    """The dict of rotary parameters that a message is about, and the keys around it."""

    subject: Subject
    rope: RopeDict | None

    @property
    def section(self) -> Section | None:
        """The dict itself; None where the configuration has none (a class may bring its own)."""
        inner = None if self.rope is None else self.rope.section
        return inner if inner is not None and exists(self.subject.config, inner.path) else None

    def given(self, name: str) -> Any:
        """An entry of the dict; None when it is absent or null."""
        return None if self.section is None else self.section.data.get(name)

    def holds(self, name: str) -> bool:
        """Whether the key really stands in the dict, null included."""
        return self.section is not None and exists(self.subject.config, self.section.key(name))

    def key(self, name: str) -> str:
        """The dotted key of an entry of the dict, there or not."""
        if self.section is not None:
            return self.section.key(name)
        return self.subject.section.key(name)

    def located(self, field: str) -> str:
        """The dotted key behind a field of a message; empty when it names no key."""
        name = field.partition(",")[0].partition(" / ")[0].partition("[")[0]
        if name in READ_INSIDE_ONLY and self.holds(name):
            return self.key(name)
        if exists(self.subject.config, name):
            return name
        if self.section is not None and (name in self.section or name in DICT_KEYS):
            return self.section.key(name)
        if not name or " " in name:
            return ""
        path = self.subject.section.path
        return name if not path or name.startswith(f"{path}.") else self.subject.section.key(name)


def places_of(subject: Subject) -> Mapping[str, Place]:
    """The place of what is said about a layer type, by its name; "" is the first one's."""
    dicts = rope_dicts(subject.section, subject.facts, Findings()) if subject.model.layers else ()
    first = Place(subject, dicts[0] if dicts else None)
    return {"": first, **{each.layer_type: Place(subject, each) for each in dicts}}


def exists(config: Mapping[str, Any], key: str) -> bool:
    """Whether a dotted key stands in a configuration; its names may contain dots themselves."""
    if not key:
        return False
    if key in config:
        return True
    parts = key.split(".")
    heads = (".".join(parts[:count]) for count in range(1, len(parts)))
    return any(
        isinstance(config.get(head), Mapping) and exists(config[head], key[len(head) + 1 :])
        for head in heads
    )
