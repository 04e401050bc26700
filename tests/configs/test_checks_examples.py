"""The small example of every code: it shows the code, and its change mends it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from posviz import configs
from posviz.configs.checks import SEVERITIES
from posviz.configs.checks.examples import Example, examples
from posviz.configs.findings import Findings
from posviz.configs.json_limits import load

PANELS = {
    "wavelengths",
    "divisors",
    "turns",
    "score_decay",
    "short_range_cost",
    "needle",
    "clock",
    "score_map",
    "profiles",
    "cost_pad",
}
BROKEN = re.compile(
    r"\bNone\b(?! (?:is|of)\b)|\bnan\b|\binf\b|\{|\}|  |\.\.(?!\.)|\( | \)|,\.|Traceback"
)


@functools.cache
def report(code: str) -> configs.Report:
    return checked(example(code), example(code).given)


def example(code: str) -> Example:
    found = examples().get(code)
    if found is None:
        pytest.fail(f"{code} has no example in posviz/configs/checks/examples/")
    return found


def checked(of: Example, config: Mapping[str, Any] | str | configs.Model) -> configs.Report:
    return configs.check(config, runtime=of.runtime, target_length=of.target_length)


def test_every_code_has_an_example_and_every_example_a_code() -> None:
    assert set(configs.CODES) == set(examples())


@pytest.mark.parametrize("code", sorted(configs.CODES))
def test_the_example_shows_its_code(code: str) -> None:
    shown = [diagnosis.code for diagnosis in report(code).diagnoses]
    assert code in shown, f"the example of {code} shows {shown}"


def suggests_a_change(code: str) -> bool:
    return code in examples() and any(diagnosis.patch for diagnosis in report(code).of(code))


@pytest.mark.parametrize("code", [*filter(suggests_a_change, sorted(configs.CODES))])
def test_the_suggested_change_mends_it_and_nothing_graver_appears(code: str) -> None:
    before = report(code)
    after = checked(example(code), before.patched(code))
    assert not after.of(code), [each.message for each in after.of(code)]
    known = {diagnosis.code for diagnosis in before.diagnoses}
    graver = [
        each.message
        for each in after.diagnoses
        if rank(each) < rank(before.of(code)[0]) and each.code not in known
    ]
    assert not graver


@pytest.mark.parametrize("code", sorted(configs.CODES))
def test_all_suggested_changes_can_be_made_together(code: str) -> None:
    assert isinstance(report(code).patched(), dict)


@pytest.mark.parametrize("code", sorted(configs.CODES))
def test_every_diagnosis_of_the_example_is_a_full_sentence(code: str) -> None:
    for each in report(code).diagnoses:
        assert each.message.endswith("."), each.message
        assert each.message[0].isupper() or each.message[0].isdigit() or names_key(each), each
        assert not BROKEN.search(without_quotes(each.message)), each.message
        for runtime, text in each.runtimes.items():
            assert runtime in configs.RUNTIMES, (each.code, runtime)
            assert text, (each.code, runtime)
            assert not BROKEN.search(without_quotes(text)), text


@pytest.mark.parametrize("code", sorted(configs.CODES))
def test_fields_are_keys_of_the_file_or_keys_that_it_lacks(code: str) -> None:
    found = report(code)
    for each in found.diagnoses:
        for field in each.fields:
            assert stands(found.model.config, field), f"{each.code}: {field}"


@pytest.mark.parametrize("code", sorted(configs.CODES))
def test_the_report_is_json_and_points_at_things_that_exist(code: str) -> None:
    found = report(code)
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert [each["code"] for each in told["diagnoses"]] == [each.code for each in found.diagnoses]
    names = {layer.name for layer in found.model.layers} | {""}
    for each in found.diagnoses:
        assert each.panel in PANELS | {""}, each.code
        assert each.layer_type in names, each.code
        assert each.pairs is None or 0 <= each.pairs[0] <= each.pairs[1], each.code


def rank(diagnosis: configs.Diagnosis) -> int:
    return SEVERITIES.index(diagnosis.severity)


def names_key(diagnosis: configs.Diagnosis) -> bool:
    """Whether the sentence starts with a key of the file, which has no capital."""
    return re.match(r"[a-z_0-9.]+\b", diagnosis.message) is not None


def without_quotes(text: str) -> str:
    """The sentence without what it cites from the file."""
    return re.sub(r"'[^']*'", "''", text)


def stands(config: Mapping[str, Any], field: str) -> bool:
    """Whether a dotted key is there, or could be added to an object that is there."""
    *outer, last = field.split(".")
    inside: Any = config
    for name in outer:
        if not isinstance(inside, Mapping) or name not in inside:
            return False
        inside = inside[name]
    return isinstance(inside, Mapping) and last.isprintable() and " " not in last


def test_the_examples_are_small() -> None:
    for each in examples().values():
        config = each.config if isinstance(each.config, str) else json.dumps(each.config)
        assert len(config) < 1000, each.code
        assert load(config, Findings())
