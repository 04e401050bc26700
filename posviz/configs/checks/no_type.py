"""A dict with the keys of a scaling and no name for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis, Operation
from posviz.configs.checks.look_alikes import look_alikes
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import listed

_OWN_KEYS: Mapping[str, tuple[str, ...]] = {
    # What only this type has; it is the type that was meant where all of them are there.
    "longrope": ("short_factor", "long_factor"),
    "llama3": ("low_freq_factor", "high_freq_factor"),
    "yarn": ("beta_fast", "beta_slow"),
}
_SCALING_KEYS = (
    "factor",
    "short_factor",
    "long_factor",
    "low_freq_factor",
    "high_freq_factor",
    "beta_fast",
    "beta_slow",
)


def without_a_type(subject: Subject) -> Iterator[Diagnosis]:
    """PV275: nothing is scaled, and most loaders say nothing."""
    # A type that is there and misspelt has its own diagnosis.
    misspelt = {one.section.path for one in look_alikes(subject) if one.real == "rope_type"}
    for each in subject.rotating:
        if each.spec.id != "rope" or each.rope.section is None or not _is_default(each):
            continue
        if each.rope.section.path in misspelt:
            continue
        given = [name for name in _SCALING_KEYS if each.given(name) is not None]
        if given and not (given == ["factor"] and each.given("factor") == 1):
            yield _diagnosis(each, given, subject)


def _is_default(each: Rotating) -> bool:
    return all(each.given(name) in (None, "default") for name in ("rope_type", "type"))


def _diagnosis(each: Rotating, given: list[str], subject: Subject) -> Diagnosis:
    named = each.given("rope_type") or each.given("type")
    meant = [name for name, keys in _OWN_KEYS.items() if all(map(each.given, keys))]
    patch: tuple[Operation, ...] = ()
    if named is None and len(meant) == 1:
        patch = (subject.put(each.key("rope_type"), meant[0]),)
    start = "rope_type is default" if named else "The dict names no rope_type, so it is default"
    verb = "has" if len(given) == 1 else "have"
    hint = f" These keys belong to {meant[0]}." if len(meant) == 1 else ""
    return Diagnosis(
        code="PV275",
        severity="warn",
        message=(
            f"{start}, and {listed(map(each.key, given))} {verb} no effect"
            f": nothing is scaled.{hint} Name the type that is meant, or drop the dict."
        ),
        fields=tuple(each.key(name) for name in given),
        values={name: each.given(name) for name in given},
        runtimes=_runtimes(each, subject),
        patch=patch if holds(subject, patch, "warn") else (),
        layer_type=each.name,
        panel="divisors",
    )


def _runtimes(each: Rotating, subject: Subject) -> dict[str, str]:
    assert each.rope.section is not None
    data = each.rope.section.data
    if data.get("rope_type", data.get("type", "default")) is None:
        return {}  # it stops at the null, which has its own diagnosis
    told = {"transformers": "rotates unscaled, with a warning about unrecognised keys."}
    return told if subject.concerns("transformers") else {}
