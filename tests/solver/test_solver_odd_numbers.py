"""Any number and any thing in place of a number: plain results, or one sentence."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from posviz import solver
from posviz.parameters import ParameterError

ODD: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 0.5, math.nan, math.inf, -math.inf, True, False, "4", "", None, np.int64(4),
    np.float32(4), np.float64("nan"), np.array(4), np.array([4]), 10**30, 1e308, 1e-308, 5e-324,
    2**63, 1 << 20, 1e15, 4 + 0j, b"4", [4], (4,), {}, 1.0000000001, 4096, 4096.0, ["x"],
)  # fmt: skip
MODEL: dict[str, Any] = {"original": 4096, "base": 10000.0, "rotary_dim": 128}
FULL: dict[str, Any] = {**MODEL, "length": 8192}
PAIRS: dict[str, Any] = {**MODEL, "low": 20, "high": 46}
INFINITE = re.compile(r"\b(inf|nan)\b")
NAMES = [*(quantity.id for quantity in solver.names()), "alpha", "base"]

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "advise": (
        solver.advise,
        {**MODEL, "target": 16384, "typical": 100, "betas": (32, 1), "present_factor": 2.0}
        | {"search_up_to": 4096},
    ),
    "convert": (solver.convert, {**FULL, "quantity": "alpha", "value": 4, "to": "factor"}),
    "reach": (
        solver.reach,
        {**MODEL, "quantity": "factor", "value": 4, "search_up_to": 4096},
    ),
    "attention_factor": (
        solver.attention_factor,
        {"factor": 4, "mscale": 1.0, "mscale_all_dim": 0.0},
    ),
    "factor_of_attention": (
        solver.factor_of_attention,
        {"m": 1.1, "mscale": 1.0, "mscale_all_dim": 0.0},
    ),
    "beta_range": (solver.beta_range, {**MODEL, "beta_fast": 32.0, "beta_slow": 1.0}),
    "betas_at": (solver.betas_at, PAIRS),
    "unfinished_pairs": (
        solver.unfinished_pairs,
        {"length": 4096, "base": 1e4, "rotary_dim": 128},
    ),
    "bases_with_unfinished": (
        solver.bases_with_unfinished,
        {"count": 3, "length": 4096, "rotary_dim": 128},
    ),
    "meanings": (solver.meanings, {"name": "alpha"}),
    "alpha_at_lengths": (
        solver.alpha_at_lengths,
        {"definition": "alpha_of_steps", "lengths": [4096], "original": 4096, "factor": 2.0},
    ),
}
CALLS = [(name, argument) for name, (_, given) in FUNCTIONS.items() for argument in given]


def plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if not callable(value) else ""


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def judge(found: Any) -> None:
    """Numbers are Python's own, and no sentence has inf or nan for one."""
    without = plain(found)
    json.dumps(without)
    for text in texts(without):
        assert not INFINITE.search(text), text


@pytest.mark.parametrize(("name", "argument"), CALLS, ids=[".".join(call) for call in CALLS])
def test_any_value_of_any_argument(name: str, argument: str) -> None:
    function, given = FUNCTIONS[name]
    for value in ODD:
        try:
            found = function(**{**given, argument: value})
        except ParameterError as error:
            sentence = str(error)
            assert sentence.endswith((".", "…")), sentence
            assert len(sentence) < 600, sentence
        else:
            judge(found)


@pytest.mark.parametrize("value", [each for each in ODD if isinstance(each, float | int)])
def test_no_sentence_about_any_quantity_has_inf_or_nan_beside_the_number_given(value: Any) -> None:
    sentences: list[str] = []
    for name, given in itertools.product(NAMES, ({}, FULL)):
        for call in (solver.convert, solver.reach):
            options = given if call is solver.convert else {**MODEL, "search_up_to": 4096}
            try:
                judge(call(name, value, **options))
            except ParameterError as error:
                sentences.append(str(error))
    assert [each for each in sentences if INFINITE.search(each.partition("; got ")[0])] == []


def test_the_last_step_of_the_staircase_has_none_above_it() -> None:
    with pytest.raises(ParameterError) as refused:
        solver.convert("alpha_of_steps", 1e308, base=1e4, rotary_dim=128)
    # 2^1023 - 1 as a double is 2^1023; the step above it, 2^1024 - 1, is no double.
    assert "15, …, next to it 8.988465674e+307; got 1e+308" in str(refused.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((4096, 0, 128), "unfinished pairs: base must be a number above 1 and at most 1e+15"),
        ((4096, 1e4, 1e15), "unfinished pairs: rotary_dim must be an even whole number"),
        ((4096, 1e4, math.nan), "unfinished pairs: rotary_dim must be an even whole number"),
        ((0, 1e4, 128), "unfinished pairs: length must be a whole number of at least 1"),
    ],
)
def test_unfinished_pairs_refuses_what_is_no_model(given: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as refused:
        solver.unfinished_pairs(*given)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((math.nan, 4096, 128), "count must be a whole number from 0 to 63"),
        ((64, 4096, 128), "count must be a whole number from 0 to 63"),
        ((-1, 4096, 128), "count must be a whole number from 0 to 63"),
        ((3, -1, 128), "length must be a whole number of at least 1"),
        ((3, 6, 128), "length must be at least 7, since the fastest pair turns once in 2π tokens"),
        ((3, 4096, 127), "rotary_dim must be an even whole number"),
    ],
)
def test_bases_with_unfinished_refuses_what_has_no_bases(given: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as refused:
        solver.bases_with_unfinished(*given)
    assert str(refused.value).startswith(f"unfinished pairs: {sentence}")


@pytest.mark.parametrize("value", [np.int64(4), np.float32(4), np.float64(4), 4])
def test_what_was_given_comes_back_as_a_float(value: Any) -> None:
    (found,) = solver.reach("factor", value, **MODEL)
    assert (type(found.value), found.value) == (float, 4.0)
    assert type(solver.convert("factor", value).value) is float
