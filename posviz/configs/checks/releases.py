"""transformers 4: from which release on a dict is read as meant, and what no release reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import keys_given
from posviz.configs.numbers import shown
from posviz.configs.position_tables import is_size
from posviz.configs.writers.releases import EXACT_KEYS, entries_of, yarn_by_release

CODES: Mapping[str, str] = {
    "PV352": "Releases of transformers 4 that read the dict of rotary parameters otherwise.",
}
_ORIGINAL, _WINDOW = "original_max_position_embeddings", "max_position_embeddings"


def find(subject: Subject) -> Iterator[Diagnosis]:
    """Where transformers 4 was asked about and the dict is in its spelling."""
    if subject.runtime != "transformers_v4" or subject.gguf is not None:
        return
    for each in subject.rotating:
        section = each.rope.section
        if section is None or not section.path.endswith("rope_scaling"):
            continue
        if subject.model.model_type in EXACT_KEYS:
            yield from _refused(each, subject)
        elif each.spec.id == "yarn":
            yield from _yarn(each, subject)
        elif each.spec.id == "longrope":
            yield from _longrope(each, subject)


def _refused(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    name = subject.model.model_type
    assert each.rope.section is not None
    if set(each.rope.section.data) == EXACT_KEYS[name]:
        return
    yield Diagnosis(
        code="PV352",
        severity="warn",
        message=(
            f"transformers 4 refuses the dict on loading: its configuration class of {name} takes "
            f"a rope_scaling of just the entries {entries_of(name)}. The settings for "
            "transformers 4 are written so."
        ),
        fields=(each.rope.section.path,),
        layer_type=each.name,
    )


def _yarn(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    original, window = each.given(_ORIGINAL), subject.section.data.get(_WINDOW)
    if original is None or window is None or not is_size(original) or not is_size(window):
        return
    assert each.rope.section is not None
    factor = float(each.spec.scaling_factor)
    told = yarn_by_release(each.rope.section.data, factor, int(original), int(window))
    alike = math.isclose(window / original, factor, rel_tol=1e-9)
    yield Diagnosis(
        code="PV352",
        severity="info" if alike else "warn",
        message=f"transformers 4.56 and 4.57 read this dict as version 5 does. {told}",
        fields=(*keys_given(each, "factor", _ORIGINAL), subject.section.key(_WINDOW)),
        values={"factor_in_4_51_to_4_55": window / original},
        layer_type=each.name,
    )


def _longrope(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    inside, beside = each.given(_ORIGINAL), subject.section.data.get(_ORIGINAL)
    if beside is not None or inside is None or subject.facts.original_window is not None:
        return
    key = subject.section.key(_ORIGINAL)
    patch = (subject.put(key, inside),)
    yield Diagnosis(
        code="PV352",
        severity="warn",
        message=(
            f"No release of transformers 4 reads {each.key(_ORIGINAL)}: for longrope they take it "
            f"from beside the dict, and max_position_embeddings where it is not there{_then(each)}."
            f" Write {key} = {shown(inside)} too."
        ),
        fields=keys_given(each, _ORIGINAL),
        values={_ORIGINAL: inside},
        layer_type=each.name,
        patch=patch if holds(subject, patch, "warn") else (),
    )


def _then(each: Rotating) -> str:
    stops: Any = each.given("factor") is None and each.given("attention_factor") is None
    return ", and then stop with TypeError for lack of a factor" if stops else ""
