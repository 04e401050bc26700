"""Further cases of the kinds that practice shows, over methods, spellings and numbers."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from posviz import configs
from posviz.configs.checks import layers
from tests.cases import kinds_of_methods as methods
from tests.cases import kinds_of_models as models
from tests.cases import kinds_of_shape as shape
from tests.cases.kind import METHODS, SPELLINGS, Kind, Refusal, judged, scaled
from tests.cases.practice import missing_ideas, near, sentences, value

KINDS: tuple[Kind, ...] = (
    *shape.DICTS,
    *shape.NAMES,
    *shape.NUMBERS,
    *shape.BASES,
    *shape.WINDOWS,
    *methods.BOOKS,
    *methods.RAMPS,
    *methods.MAGNITUDES,
    *methods.BANDS,
    *methods.LISTS,
    *methods.LENGTHS,
    *models.HEADS,
    *models.SECTIONS,
    *models.LAYERS,
    *models.TABLES,
    *models.BIASES,
    *models.FILES,
)


def text_of(found: configs.Report | Refusal) -> str:
    return found.text if isinstance(found, Refusal) else sentences(found)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kind(kind: Kind) -> None:
    found = judged(kind)
    assert found.severity == kind.severity, text_of(found)
    assert missing_ideas(text_of(found), kind.says) == [], text_of(found)
    assert missing_ideas(text_of(found), kind.silent_about) == list(kind.silent_about)
    if isinstance(found, Refusal):
        assert not kind.numbers
        return
    json.dumps(found.as_dict(), allow_nan=False)
    for name, number in kind.numbers.items():
        assert value(found, name) == near(number), name
    for name, text in kind.texts.items():
        assert value(found, name) == text, name


def test_every_kind_has_its_own_name() -> None:
    names = [kind.name for kind in KINDS]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(("method", "spelling"), list(itertools.product(METHODS, SPELLINGS)))
def test_a_spelling_changes_neither_severity_nor_numbers(method: str, spelling: str) -> None:
    config = scaled(METHODS[method])
    usual = configs.check(config)
    other = configs.check(SPELLINGS[spelling](config))
    assert other.severity == usual.severity
    first, second = usual.model.rotation(), other.model.rotation("full_attention")
    assert np.array_equal(first.inv_freq, second.inv_freq)
    assert first.attention_factor == second.attention_factor


_BAD: tuple[tuple[str, Any], ...] = (
    ("factor", 0.5),
    ("factor", "4"),
    ("factor", None),
    ("factor", 0),
)


@pytest.mark.parametrize(
    ("method", "spelling", "bad"),
    list(itertools.product(("yarn", "llama3", "linear", "dynamic"), SPELLINGS, _BAD)),
)
def test_a_bad_factor_is_refused_in_every_spelling(
    method: str, spelling: str, bad: tuple[str, Any]
) -> None:
    rope = {**METHODS[method], bad[0]: bad[1]}
    found = configs.check(SPELLINGS[spelling](scaled(rope)))
    if (method, bad[1]) == ("yarn", None):
        assert found.severity == "warn"  # null is then the ratio of the windows
        return
    assert found.severity == "error"
    with pytest.raises(configs.ConfigError, match="factor"):
        found.model.spec("full_attention")


def test_the_layer_types_are_those_of_transformers() -> None:
    library = pytest.importorskip("transformers.configuration_utils")
    assert set(layers.LAYER_TYPES) == set(library.ALLOWED_LAYER_TYPES)
