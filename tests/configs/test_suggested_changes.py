"""Suggested changes that meet at one place: what is made, what is left out, and in which order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz import configs
from posviz.configs import ConfigError, Diagnosis
from posviz.configs.checks import SEVERITIES
from posviz.configs.checks.changes import together, together_for_the_better
from tests.fuzz.judging import seeds
from tests.fuzz.mutations import mutated

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "head_dim": 128,
    "rope_theta": 10000.0,
    "max_position_embeddings": 4096,
}
MODERNBERT: dict[str, Any] = {
    "model_type": "modernbert",
    "hidden_size": 768,
    "num_attention_heads": 12,
    "max_position_embeddings": 8192,
    "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0,
}
LINEAR = {"rope_type": "linear", "factor": 2.0, "beta_fast": 32}
SEEDS = seeds()


def wish(*operations: tuple[str, str, Any]) -> Diagnosis:
    patch = tuple({"op": op, "path": path, "value": value} for op, path, value in operations)
    return Diagnosis(code="PV000", severity="warn", message="", patch=patch)


def drop(*paths: str) -> Diagnosis:
    patch = tuple({"op": "remove", "path": path} for path in paths)
    return Diagnosis(code="PV001", severity="warn", message="", patch=patch)


CONFIG = {"d": {"type": "x", "factor": 2, "deep": {"a": 1}}, "window": 4096}
NEW = {"type": "yarn", "factor": 4}
PAIRS = {
    "the same change twice": (drop("/d/type"), drop("/d/type"), True),
    "the same value twice": (wish(("add", "/a", 1)), wish(("add", "/a", 1)), True),
    "another value at the same place": (
        wish(("replace", "/window", 8192)),
        wish(("replace", "/window", 16384)),
        False,
    ),
    "a whole number and the same as a float": (
        wish(("replace", "/window", 8192)),
        wish(("replace", "/window", 8192.0)),
        True,
    ),
    "a switch is no number": (
        wish(("replace", "/window", 1)),
        wish(("replace", "/window", True)),
        False,
    ),
    "two places": (drop("/d/type"), wish(("replace", "/d/factor", 3)), True),
    "removed from what was replaced without it": (
        wish(("replace", "/d", {"factor": 4})),
        drop("/d/type"),
        True,
    ),
    "removed from what was replaced with it": (
        wish(("replace", "/d", NEW)),
        drop("/d/type"),
        False,
    ),
    "set inside what was replaced": (
        wish(("replace", "/d", NEW)),
        wish(("replace", "/d/factor", 8)),
        False,
    ),
    "set inside what was replaced, as it is there now": (
        wish(("replace", "/d", NEW)),
        wish(("replace", "/d/factor", 4)),
        True,
    ),
    "set inside what is gone": (drop("/d"), wish(("replace", "/d/factor", 8)), False),
    "removed from what is gone": (drop("/d"), drop("/d/type"), False),
    "removed whole, after a part was": (drop("/d/type"), drop("/d"), True),
    "removed whole, after a part was set": (wish(("add", "/d/a", 1)), drop("/d"), False),
    "replaced whole, keeping what was set": (
        wish(("replace", "/d/factor", 4)),
        wish(("replace", "/d", NEW)),
        True,
    ),
    "replaced whole, without what was set": (
        wish(("replace", "/d/factor", 3)),
        wish(("replace", "/d", NEW)),
        False,
    ),
    "moved, with a part that was removed": (
        drop("/d/type"),
        wish(("add", "/e", CONFIG["d"]), ("remove", "/d", None)),
        False,
    ),
    "replaced by what is no object": (wish(("replace", "/d", 5)), drop("/d/deep/a"), False),
    "half of it does not fit": (
        drop("/d/deep"),
        wish(("replace", "/window", 1), ("add", "/d/deep/b", 1)),
        False,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_second_change_is_made_only_where_it_undoes_nothing(name: str) -> None:
    first, second, fits = PAIRS[name]
    changes = together(CONFIG, [first, second])
    assert changes.made == ((first, second) if fits else (first,))
    assert changes.left_out == (() if fits else (second,))
    if not fits:
        assert changes.config == configs.applied(CONFIG, first.patch)
        assert list(changes.config) == list(configs.applied(CONFIG, first.patch))
    for diagnosis in changes.made:
        again = together(changes.config, [diagnosis])
        assert again.config == changes.config, "not everything stands as it was wanted"


def test_a_change_with_a_part_that_does_not_fit_is_left_out_whole() -> None:
    first, second, _ = PAIRS["half of it does not fit"]
    assert together(CONFIG, [first, second]).config["window"] == 4096


@pytest.mark.parametrize(
    ("config", "question", "made", "left_out"),
    [
        (
            {**LLAMA, "rope_parameters": LINEAR},
            {"runtime": "transformers_v4"},
            {"PV276"},
            {"PV161"},
        ),
        ({**MODERNBERT, "rope_scaling": LINEAR}, {}, {"PV161"}, set()),
        (
            {**LLAMA, "rope_scaling": {"type": None, "factor": 2.0}},
            {"target_length": 65536},
            {"PV204"},
            {"PV102"},
        ),
    ],
)
def test_changes_that_meet_in_a_configuration(
    config: dict[str, Any], question: dict[str, Any], made: set[str], left_out: set[str]
) -> None:
    report = configs.check(config, **question)
    changes = report.changes()
    assert made <= {each.code for each in changes.made}
    assert {each.code for each in changes.left_out} == left_out
    assert report.patched() == changes.config


def test_a_change_asked_for_alone_is_never_left_out() -> None:
    report = configs.check({**LLAMA, "rope_parameters": LINEAR}, runtime="transformers_v4")
    assert not report.changes("PV161").left_out
    assert "beta_fast" not in report.patched("PV161")["rope_parameters"]


@given(number=st.integers(min_value=0, max_value=1 << 32))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_all_changes_together_never_fail_and_never_make_it_graver(number: int) -> None:
    draw = random.Random(number)
    config = mutated(draw.choice(SEEDS), draw)
    question = {
        "runtime": draw.choice((None, *configs.RUNTIMES)),
        "target_length": draw.choice((None, 1, 8192, 65536, 1 << 20)),
    }
    try:
        report = configs.check(config, **question)
    except ConfigError:
        return
    after = configs.check(report.patched(), **question)
    assert SEVERITIES.index(after.severity) >= SEVERITIES.index(report.severity)


def test_changes_that_are_right_alone_and_graver_together_are_not_both_made() -> None:
    # With the type named, beta_fast counts, and it is below beta_slow.
    yarn = {"rope_typ": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    config = {**LLAMA, "max_position_embeddings": 16384, "rope_scaling": yarn, "beta_fast": 0.5}
    report = configs.check(config)
    each = [code for code in ("PV270", "PV271", "PV275") if report.of(code)]
    assert configs.check(report.patched(*each)).severity == "error"
    changes = report.changes()
    assert changes.left_out
    assert configs.check(changes.config).severity == report.severity == "warn"


def test_what_can_be_made_without_the_one_that_harms_is_made() -> None:
    wanted = [wish(("add", f"/{name}", number)) for number, name in enumerate("abcdefgh")]
    bad = [wanted[2], wanted[5]]

    def is_graver(config: Any) -> bool:
        return any(each.patch[0]["path"][1:] in config for each in bad)

    changes = together_for_the_better({}, wanted, is_graver)
    assert changes.config == {"a": 0, "b": 1, "d": 3, "e": 4, "g": 6, "h": 7}
    assert list(changes.left_out) == bad


def test_a_change_for_another_configuration_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError) as refused:
        configs.applied({"secret": {"a": 1}}, ({"op": "remove", "path": "/secret/b/c"},))
    assert str(refused.value) == (
        "The change does not fit this configuration: it has no place to remove /secret/b/c."
    )


@pytest.mark.parametrize(
    "patch",
    [
        None,
        5,
        "x",
        [5],
        ({"op": "remove"},),
        ({"op": "add"},),
        ({"op": "fly", "path": "/a"},),
        ({"op": "add", "path": 5, "value": 1},),
        ({"op": "add", "path": "/a"},),
        ({"op": "add", "path": "/a/b", "value": 1},),
        ({"op": "replace", "path": "a", "value": 1},),
    ],
)
def test_what_is_no_change_is_refused_in_a_sentence(patch: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        configs.applied({"a": "text"}, patch)
    assert str(refused.value).startswith(("A change is a list of", "The change does not fit"))
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("code", [0, None, ["PV161"], "PV999", ""])
def test_what_is_no_code_is_refused_in_a_sentence(code: Any) -> None:
    report = configs.check({**LLAMA, "rope_scaling": LINEAR})
    with pytest.raises(ConfigError, match="This report has no diagnosis"):
        report.patched(code)
