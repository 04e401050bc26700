"""What was read stays what was read: no caller can change it by way of a result."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from posviz import configs
from posviz.configs.read_only import ReadOnlyDict, ReadOnlyList, read_only

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "head_dim": 128,
    "rope_theta": 10000.0,
    "max_position_embeddings": 16384,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
    "eos_token_id": [1, 2],
}
DICT_CHANGES: dict[str, Callable[[Any], object]] = {
    "set": lambda found: found.__setitem__("a", 1),
    "delete": lambda found: found.__delitem__("head_dim"),
    "clear": lambda found: found.clear(),
    "pop": lambda found: found.pop("head_dim"),
    "popitem": lambda found: found.popitem(),
    "setdefault": lambda found: found.setdefault("a", 1),
    "update": lambda found: found.update(a=1),
    "|=": lambda found: found.__ior__({"a": 1}),
}
LIST_CHANGES: dict[str, Callable[[Any], object]] = {
    "set": lambda found: found.__setitem__(0, 1),
    "delete": lambda found: found.__delitem__(0),
    "append": lambda found: found.append(1),
    "extend": lambda found: found.extend([1]),
    "insert": lambda found: found.insert(0, 1),
    "remove": lambda found: found.remove(1),
    "pop": lambda found: found.pop(),
    "clear": lambda found: found.clear(),
    "sort": lambda found: found.sort(),
    "reverse": lambda found: found.reverse(),
    "+=": lambda found: found.__iadd__([1]),
    "*=": lambda found: found.__imul__(2),
}


def results() -> dict[str, Any]:
    report = configs.check({**CONFIG, "rope_scaling": {**CONFIG["rope_scaling"], "factor": 0.5}})
    diagnosis = report.of("PV113")[0]
    return {
        "a model's configuration": report.model.config,
        "a part of it": report.model.config["rope_scaling"],
        "a preset's configuration": configs.presets()[0].config,
        "a suggested operation": diagnosis.patch[0],
        "the numbers of a diagnosis": diagnosis.values,
        "the sentences about runtimes": diagnosis.runtimes,
        "the numbers of a report": report.values,
    }


@pytest.mark.parametrize("change", DICT_CHANGES)
@pytest.mark.parametrize("name", results())
def test_no_object_of_a_result_can_be_changed(name: str, change: str) -> None:
    found = results()[name]
    before = json.dumps(found)
    with pytest.raises(TypeError, match="is read-only; copy it first"):
        DICT_CHANGES[change](found)
    assert json.dumps(found) == before


@pytest.mark.parametrize("change", LIST_CHANGES)
def test_no_list_of_a_result_can_be_changed(change: str) -> None:
    found = configs.read(CONFIG).config["eos_token_id"]
    with pytest.raises(TypeError, match="is read-only; copy it first"):
        LIST_CHANGES[change](found)
    assert found == [1, 2]


def test_a_copy_is_an_ordinary_one_all_the_way_down() -> None:
    found = configs.read(CONFIG).config
    for copied in (copy.deepcopy(found), copy.deepcopy(dict(found))):
        copied["rope_scaling"]["factor"] = 8.0
        copied["eos_token_id"].append(3)
    copy.copy(found)["a"] = 1
    found.copy()["a"] = 1  # type: ignore[attr-defined]
    dict(found)["a"] = 1
    assert found == CONFIG
    assert json.loads(json.dumps(found)) == CONFIG
    assert repr(found) == repr(CONFIG)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_one_comes_back_read_only(protocol: int) -> None:
    model = configs.read(CONFIG)
    again = pickle.loads(pickle.dumps(model, protocol))
    assert again == model
    assert isinstance(again.config["rope_scaling"], ReadOnlyDict)
    assert isinstance(again.config["eos_token_id"], ReadOnlyList)


def test_what_was_given_stays_the_callers_own() -> None:
    given = copy.deepcopy(CONFIG)
    report = configs.check(given)
    given["rope_scaling"]["factor"] = 99.0
    assert report.model.config == CONFIG
    changed = report.patched()
    changed["rope_scaling"]["factor"] = 99.0
    assert report.model.config == CONFIG
    assert read_only(given) == given


def test_a_changed_configuration_is_the_callers_own() -> None:
    report = configs.check({**CONFIG, "rope_scaling": {**CONFIG["rope_scaling"], "factor": 0.5}})
    first = report.patched()
    expected = copy.deepcopy(first)
    first["rope_scaling"]["factor"] = 99.0
    assert report.patched() == expected
