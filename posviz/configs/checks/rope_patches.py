"""Changes of the rotary dict that several groups of checks suggest."""

from __future__ import annotations

from typing import Any

from posviz.configs.checks.diagnosis import Operation
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import window_key
from posviz.configs.rope_type import LONGROPE_CLASSES
from posviz.configs.windows import ORIGINAL

LARGEST_FACTOR = 1e6
_KEPT = (
    "rope_theta",
    "partial_rotary_factor",
    "mrope_section",
    "mrope_interleaved",
)

Patch = tuple[Operation, ...]


def tried(subject: Subject, patch: Patch) -> Patch:
    """The change, if the changed configuration reads without anything graver than a warning."""
    return patch if holds(subject, patch, "warn") else ()


def stands_in_file(subject: Subject, each: Rotating) -> bool:
    """Whether the layer type has a dict of its own in the file, not only its class's default."""
    section = each.rope.section
    if section is None or section.path in ("", subject.facts.origin):
        return False
    return bool(subject.put(section.path, None)["op"] == "replace")


def window_operations(subject: Subject, window: int) -> Patch:
    """Sets max_position_embeddings, under the name that the file has for it."""
    return () if subject.model.window == window else (subject.put(window_key(subject), window),)


def with_factor(subject: Subject, each: Rotating, factor: float, window: int) -> Patch:
    """Another factor, and the window that it comes to."""
    if not stands_in_file(subject, each) or not 1 <= factor <= LARGEST_FACTOR:
        return ()
    put = subject.put(each.key("factor"), factor)
    return tried(subject, (put, *window_operations(subject, window)))


def without_extension(subject: Subject, each: Rotating) -> Patch:
    """Plain rotation, and the trained window."""
    section = each.rope.section
    if section is None or not stands_in_file(subject, each) or _would_resize(subject, each):
        return ()
    kept = {key: section.data[key] for key in _KEPT if key in section.data}
    operations = (
        subject.put(section.path, {"rope_type": "default", **kept}),
        *window_operations(subject, int(each.spec.original_max_position_embeddings)),
        *(subject.drop(subject.section.key(ORIGINAL)) if not each.rope.per_layer else ()),
    )
    return tried(subject, operations)


def with_yarn(subject: Subject, each: Rotating, factor: float, original: int, window: int) -> Patch:
    """YaRN in place of plain rotation, in the file's own spelling."""
    section = each.rope.section
    if section is None or not 1 <= factor <= LARGEST_FACTOR or _would_resize(subject, each):
        return ()
    if section.path == subject.facts.origin or subject.facts.name in LONGROPE_CLASSES:
        return ()  # such a class brings a dict of its own, or means longrope by yarn
    new: dict[str, Any] = {key: section.data[key] for key in _KEPT if key in section.data}
    new |= {"rope_type": "yarn", "factor": factor, ORIGINAL: original}
    path = section.path if stands_in_file(subject, each) else _new_dict(subject)
    if path.endswith("rope_parameters") and "rope_theta" not in new:
        new["rope_theta"] = each.spec.base
    if not _can_put(subject, path):
        return ()
    return tried(subject, (subject.put(path, new), *window_operations(subject, window)))


def _new_dict(subject: Subject) -> str:
    data = subject.section.data
    new_spelling = "rope_parameters" in data and "rope_scaling" not in data
    return subject.section.key("rope_parameters" if new_spelling else "rope_scaling")


def _can_put(subject: Subject, path: str) -> bool:
    """Whether everything around the dict is there already."""
    inside: Any = subject.config
    for name in path.split(".")[:-1]:
        inside = inside.get(name) if isinstance(inside, dict) else None
    return isinstance(inside, dict)


def _would_resize(subject: Subject, each: Rotating) -> bool:
    """Whether the class obeys the partial factor for one of the two types only.

    Some classes rotate whole heads with rope type default whatever the partial factor says.
    """
    if not subject.facts.known or subject.facts.rotates_partially:
        return False
    partial = each.given("partial_rotary_factor")
    outer = subject.section.data.get("partial_rotary_factor")
    return any(value is not None and value != 1 for value in (partial, outer))
