"""Keys that nothing reads and that look like one that is read: slips, and other tools' names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from posviz.configs.checks.foreign_names import (
    FOREIGN,
    INSIDE_ONLY,
    NOT_A_SLIP,
    Foreign,
    changes_nothing,
)
from posviz.configs.checks.places import DICT_KEYS, exists
from posviz.configs.checks.subject import Subject
from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.rope_dicts import RopeDict, rope_dicts
from posviz.configs.section import Section

_CUTOFF = 0.86
"""Likeness as difflib counts it: one or two letters amiss, not another word."""
_MOST_KEYS = 300
"""Keys looked at in one object; a real configuration has some dozens."""
_LONGEST_KEY = 60
TOP_LEVEL = (
    "max_position_embeddings",
    "original_max_position_embeddings",
    "rope_scaling",
    "rope_parameters",
    "rope_theta",
    "partial_rotary_factor",
    "rotary_dim",
    "rotary_pct",
    "rotary_emb_base",
    "rope_local_base_freq",
    "qk_rope_head_dim",
    "no_rope_layers",
    "no_rope_layer_interval",
    "rope_interleave",
    "use_logn_attn",
    "use_dynamic_ntk",
)
"""Keys beside the dict that decide about rotation."""
READ_INSIDE = DICT_KEYS | {
    "alpha",
    "attn_factor",
    "extrapolation_factor",
    "finetuned",
    "max_trained_positions",
    "rope_dim",
    "llama_4_scaling_beta",
}
"""Keys of the dict that some runtime or model reads, for some type."""


@dataclass(frozen=True)
class LookAlike:
    """One key that nothing reads."""

    name: str
    section: Section
    """Where it stands."""
    real: str
    """The key that is read instead."""
    rope: RopeDict | None
    """The dict that it stands in; None beside it."""
    foreign: Foreign | None = None
    """The tool whose name it is; None for a slip."""

    @property
    def key(self) -> str:
        return self.section.key(self.name)

    @property
    def value(self) -> Any:
        return self.section.data[self.name]


def plain(text: str) -> str:
    """A key without capitals, blanks, hyphens, dots and underscores."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def look_alikes(subject: Subject) -> tuple[LookAlike, ...]:
    """Every such key of the text model's section and of its rotary dicts."""
    if not subject.model.layers:
        return ()
    found = [_as_read(each, subject.facts) for each in _beside(subject.section)]
    seen: set[str] = set()
    for rope in rope_dicts(subject.section, subject.facts, Findings()):
        if rope.section is not None and rope.section.path not in seen | {subject.facts.origin, ""}:
            seen.add(rope.section.path)
            found += _inside(rope)
    meant = (each for each in found if not changes_nothing(each.foreign, each.value))
    return tuple(each for each in meant if _stands(subject.config, each.key))


def _as_read(each: LookAlike, facts: ModelClass) -> LookAlike:
    """Some classes have their own name for the share of a head."""
    own = facts.partial_keys[0] if facts.partial_keys else each.real
    return replace(each, real=own) if each.real == "partial_rotary_factor" else each


def _stands(config: Mapping[str, Any], key: str) -> bool:
    """Whether the key is the file's own, not one that the class lays under the dict."""
    return exists(config, key)


def _beside(section: Section) -> Iterator[LookAlike]:
    for name in _unknown(section.data, frozenset(TOP_LEVEL)):
        foreign = _foreign(name)
        if foreign is not None and plain(name) not in INSIDE_ONLY:
            yield LookAlike(name, section, foreign.real, None, foreign)
            continue
        real = _slip(name, TOP_LEVEL)
        if real:
            yield LookAlike(name, section, real, None)


def _inside(rope: RopeDict) -> Iterator[LookAlike]:
    assert rope.section is not None
    for name in _unknown(rope.section.data, READ_INSIDE):
        foreign = _foreign(name)
        if foreign is not None:
            yield LookAlike(name, rope.section, foreign.real, rope, foreign)
            continue
        real = _slip(name, tuple(sorted(READ_INSIDE)))
        if real:
            yield LookAlike(name, rope.section, real, rope)


def _unknown(data: Mapping[str, Any], known: frozenset[str] | set[str]) -> list[str]:
    names = (name for name in data if name not in known and len(name) <= _LONGEST_KEY)
    return [name for _, name in zip(range(_MOST_KEYS), names, strict=False)]


def _foreign(name: str) -> Foreign | None:
    return FOREIGN.get(plain(name))


def _slip(name: str, known: tuple[str, ...]) -> str:
    """The key that was meant; empty where the name is a word of its own."""
    same = [key for key in known if plain(key) == plain(name)]
    if same:
        return same[0]
    if name in NOT_A_SLIP:
        return ""
    near = difflib.get_close_matches(name.casefold(), known, n=1, cutoff=_CUTOFF)
    return near[0] if near and not _has_word_more(name, near[0]) else ""


def _has_word_more(name: str, real: str) -> bool:
    """``t2u_max_position_embeddings`` is not a slip of max_position_embeddings."""
    words, wanted = name.casefold().split("_"), real.split("_")
    return len(words) > len(wanted) and set(wanted) <= set(words)
