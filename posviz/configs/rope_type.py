"""Which encoding a rope type stands for; spellings that need a word of explanation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posviz.catalog import catalog
from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.numbers import shown
from posviz.configs.rope_dicts import RopeDict
from posviz.configs.section import Found
from posviz.encodings.base import Encoding
from posviz.parameters import closest

LONGROPE_CLASSES = ("phi3", "phi4_multimodal")
"""Classes whose "su" and "yarn" mean longrope in transformers."""
MROPE_CLASSES = ("qwen2_vl_text", "qwen2_5_vl_text")
"""Classes that take "mrope" for default; the others with M-RoPE know only default."""


@dataclass(frozen=True)
class RopeType:
    """A rope type as the configuration means it.

    ``name`` is the spelling after legacy names are resolved; ``values`` are fields of the encoding
    that the spelling itself fixes.
    """

    name: str
    encoding: type[Encoding]
    values: Mapping[str, Any] = field(default_factory=dict)


def known_rope_types() -> tuple[str, ...]:
    """Every value of rope_type that some encoding stands for."""
    return tuple(name for encoding in catalog() for name in getattr(encoding, "rope_types", ()))


def encoding_for(rope_type: str) -> type[Encoding] | None:
    """The encoding class that a rope type means, found by what the classes say themselves."""
    return next((item for item in catalog() if rope_type in getattr(item, "rope_types", ())), None)


def resolve_rope_type(rope: RopeDict, facts: ModelClass, findings: Findings) -> RopeType | None:
    """The rope type of one dict, or None after an error message."""
    found = _written(rope, findings)
    if not isinstance(found.value, str):
        findings.error("PV101", f"{found.key} must be a name; got {shown(found.value)}.", found.key)
        return None
    name, values = _resolved(found, rope, facts, findings)
    encoding = encoding_for(name)
    if encoding is None:
        _report_unknown(found, findings)
        return None
    origin = found.key if name == found.value else f"{found.key}: {found.value} stands for {name}"
    findings.row("rope_type", name, origin)
    return RopeType(name, encoding, values)


def _written(rope: RopeDict, findings: Findings) -> Found:
    assert rope.section is not None
    new, old = rope.section.find("rope_type"), rope.section.find("type")
    if new and old and not _agree(new.value, old.value):
        findings.warn(
            "PV103",
            f"{new.key} is {shown(new.value)} and {old.key} is {shown(old.value)}; transformers "
            "takes rope_type silently, vLLM refuses the file.",
            new.key,
            old.key,
        )
    found = new or old
    if found is None:
        return Found("default", "no rope type is given: default")
    if found.value is None:
        findings.info("PV102", f"{found.key} is null, which is treated as default.", found.key)
        return Found("default", f"{found.key} is null: default")
    return found


def _agree(new: Any, old: Any) -> bool:
    """Whether rope_type and type say the same; null says nothing, and vLLM knows two aliases."""
    aliases = (("longrope", "su"), ("default", "mrope"))
    return new == old or None in (new, old) or (new, old) in aliases


def _resolved(
    found: Found, rope: RopeDict, facts: ModelClass, findings: Findings
) -> tuple[str, dict[str, Any]]:
    name = str(found.value)
    if facts.name in LONGROPE_CLASSES and name in ("su", "yarn"):
        _note_spelling(found, f"{name} means longrope in {facts.name}.", findings)
        return "longrope", {}
    if name == "su":
        if facts.known:
            _warn_unusable(found, "longrope", "Phi-3", facts, findings)
        return "longrope", {}
    if name == "mrope":
        if facts.known and facts.name not in MROPE_CLASSES:
            _warn_unusable(found, "default", "M-RoPE", facts, findings)
        return "default", {}
    if name == "deepseek_yarn":
        return "yarn", {"mscale_rule": "deepseek_yarn"}
    if name == "telechat3-yarn":
        return "yarn", _telechat(found, rope, findings)
    if name == "ntk":
        return "ntk", {"variant": "vllm"}
    return name, {}


def _telechat(found: Found, rope: RopeDict, findings: Findings) -> dict[str, Any]:
    assert rope.section is not None
    _note_spelling(
        found, "telechat3-yarn is yarn with an attention factor of 0.07·ln(factor) + 1.", findings
    )
    factor = rope.section.data.get("factor")
    usable = isinstance(factor, int | float) and factor >= 1
    return {"attention_factor": 0.07 * math.log(factor) + 1} if usable and factor else {}


def _note_spelling(found: Found, text: str, findings: Findings) -> None:
    findings.info("PV104", f"{found.key}: {text}", found.key)


def _warn_unusable(
    found: Found, meaning: str, home: str, facts: ModelClass, findings: Findings
) -> None:
    findings.warn(
        "PV104",
        f"{found.key} {found.value!r} is a spelling of the {home} models for {meaning}; "
        f"{facts.name} loads it with a warning and then fails in transformers. It is read as "
        f"{meaning} here.",
        found.key,
    )


def _report_unknown(found: Found, findings: Findings) -> None:
    known = known_rope_types()
    written = str(found.value)[:40]
    hint = closest(written.strip().casefold(), known)
    listed = f"known types: {', '.join(known)}"
    tail = listed if hint.startswith("known") else f"{hint}; {listed}"
    if written == "axial":
        tail = f"axial belongs to vision towers, which are not read here; {listed}"
    findings.error(
        "PV101", f"{found.key}: there is no rope type {written!r} known; {tail}.", found.key
    )
