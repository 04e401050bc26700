"""Every reference case, within its own tolerance.

A case is one line of ``tests/references/<encoding id>.json``: what somebody else's code computed
(``params``, ``outputs``, ``tol``, ``source``), and ``spec``, the link of the encoding that must
give the same (one per layer type where the model has several). ``length`` or ``lengths`` say what
length the library ran at, where that matters; ``reads`` says which of our quantities an output
stands for, where its name does not.

Outputs of rotary encodings are read by the table below. Any other encoding is run at
``params.positions`` with what else ``params`` gives its ``encode`` (parameters, queries, keys), and
an output is the attribute, map or curve of its name; where a library's case has another shape,
``reads`` names a function of ``tests/readers``: ``"bias.masked_logits"``. Such a function takes
(case, spec, expected) and returns our numbers.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posviz
from posviz.attention import logits, weights
from posviz.encodings.rotary import RotaryEncoding
from posviz.results import RelativeRotation

REFERENCES = Path(__file__).parent / "references"
EXCEPTIONS = json.loads((Path(__file__).parent / "reference_exceptions.json").read_text())
FILES = sorted(REFERENCES.glob("*.json"))
CASES = [
    (file.stem, case) for file in FILES for case in json.loads(file.read_text("utf-8"))["cases"]
]

NOT_COMPARED = {
    "rope_parameters": "what transformers makes of a configuration: a matter of configs",
    "cache_length": "how many rows vLLM prepares",
    "seq_len": "an input",
    "call_with_length": "an input",
}


class Run:
    """One spec at one length, with the readings that outputs are compared with."""

    def __init__(self, case: dict[str, Any], link: str, length: int | None):
        self.params = case["params"]
        self.spec = posviz.parse(link)
        self.length = length
        self.positions = np.asarray(self.params.get("positions", self._counted()), dtype=float)
        self.result = self.spec.encode(self.positions, length)

    def _counted(self) -> list[int]:
        if "x" not in self.params:
            return [0]
        x = np.asarray(self.params["x"])
        return list(range(x.shape[self._token_axis()]))

    def _token_axis(self) -> int:
        """Where no layout is named: [batch, head, token, dim] or [batch, token, dim]."""
        if "layout" not in self.params:
            return -2
        names = [part.strip() for part in self.params["layout"].strip("[]").split(",")]
        return names.index("token")

    def widened(self, table: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Half-split tables of transformers and litgpt hold every pair twice."""
        twice = expected.shape[-1] == 2 * table.shape[-1]
        return np.concatenate((table, table), axis=-1) if twice else table

    def rotated(self, name: str) -> np.ndarray:
        values = np.asarray(self.params[name], dtype=float)
        moved, undo = self._tokens_second_last(values)
        turned = self.result.rotate(moved)
        if self.params.get("pairing", "").endswith("writes them half-split"):
            turned = np.concatenate((turned[..., 0::2], turned[..., 1::2]), axis=-1)
        return undo(turned)

    def _tokens_second_last(
        self, values: np.ndarray
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Put the token axis before the last one, and say how to put it back."""
        dim = self.spec.head_dim
        if values.ndim == 2:
            folded = values.reshape(len(values), -1, dim)
            return np.moveaxis(folded, 0, 1), lambda turned: np.moveaxis(turned, 1, 0).reshape(
                values.shape
            )
        axis = self._token_axis()
        return np.moveaxis(values, axis, -2), lambda turned: np.moveaxis(turned, -2, axis)

    def projected(self, name: str) -> np.ndarray:
        """(heads, tokens, head_dim) of the case's input through one of its weights."""
        (x,) = np.asarray(self.params["x"])
        mixed = x @ np.asarray(self.params["weights"][name]).T
        return np.moveaxis(mixed.reshape(len(x), self.params["heads"], -1), 1, 0)

    def attention(self) -> np.ndarray:
        assert isinstance(self.result, RelativeRotation)
        return weights(
            self.result, self.projected("q_proj"), self.projected("k_proj"), is_causal=True
        )

    def attention_output(self) -> np.ndarray:
        mixed = np.moveaxis(self.attention() @ self.projected("v_proj"), 0, 1)
        return mixed.reshape(len(mixed), -1) @ np.asarray(self.params["weights"]["o_proj"]).T

    def products(self) -> np.ndarray:
        q, k = (np.asarray(self.params[name], dtype=float) for name in "qk")
        return logits(self.result, q, k) * math.sqrt(self.spec.head_dim)

    def ramp(self) -> np.ndarray:
        return 1 - self.spec.kept()


def _frequencies_of_wavelengths(run: Run, expected: np.ndarray) -> np.ndarray:
    """MLX stores λ/2π, and null for a pair that does not rotate."""
    turning = run.result.inv_freq != 0
    return np.where(turning, 1 / np.where(turning, run.result.inv_freq, 1), np.nan)


READERS: dict[str, Callable[[Run, np.ndarray], Any]] = {
    "inv_freq": lambda run, _: run.result.inv_freq,
    "inv_freq_after": lambda run, _: run.result.inv_freq,
    "trained_inv_freq": lambda run, _: run.spec.trained_frequencies(),
    "wavelength_over_2pi": _frequencies_of_wavelengths,
    "wavelengths": lambda run, _: run.result.wavelengths,
    "first_wavelengths": lambda run, expected: run.result.wavelengths[: len(expected)],
    "causal_distance": lambda run, _: np.tril(run.result.relative_distance),
    "attention_factor": lambda run, _: run.result.attention_factor,
    "attention_scaling": lambda run, _: run.result.attention_factor,
    "mscale": lambda run, shape: np.broadcast_to(run.result.attention_factor, shape.shape),
    "concentration": lambda run, _: run.result.attention_factor,
    "input_scale": lambda run, _: run.result.attention_factor,
    "softmax_factor": lambda run, _: run.result.softmax_factor,
    "query_scale": lambda run, _: run.result.query_scale,
    "relative_distance": lambda run, _: run.result.relative_distance,
    "head_dim_seen_by_library": lambda run, _: run.spec.head_dim,
    "cos": lambda run, expected: run.widened(run.result.cos, expected),
    "sin": lambda run, expected: run.widened(run.result.sin, expected),
    "sin_then_cos": lambda run, _: np.concatenate((run.result.sin, run.result.cos), axis=-1),
    "q": lambda run, _: run.rotated("q"),
    "k": lambda run, _: run.rotated("k"),
    "x_rotated": lambda run, _: run.rotated("x"),
    "q_dot_k": lambda run, _: run.products(),
    "attention": lambda run, _: run.attention(),
    "output": lambda run, _: run.attention_output(),
    "ramp": lambda run, _: run.ramp(),
    "ramp_low_high": lambda run, _: run.spec.bounds,
}


def plain(case: dict[str, Any], spec: Any, name: str) -> Any:
    """The attribute, map, curve or term of this name, for what the case gives ``encode``."""
    params = case["params"]
    given = {key: params[key] for key in ("parameters", "queries", "keys") if key in params}
    for key in {"queries", "keys"} & set(given):
        given[key] = np.asarray(given[key], dtype=float)
    result = spec.encode(np.asarray(params["positions"], dtype=float), **given)
    named = {**result.maps, **result.curves, **result.strips, **getattr(result, "terms", {})}
    return named[name] if name in named else getattr(result, name)


def ours_for(case: dict[str, Any], link: str, length: int | None, name: str, expected: Any) -> Any:
    reader = case.get("reads", {}).get(name, name)
    module, dot, function = reader.rpartition(".")
    spec = posviz.parse(link)
    if dot:
        read = getattr(importlib.import_module(f"readers.{module}"), function)
        return read(case, spec, expected)
    if isinstance(spec, RotaryEncoding):
        return READERS[reader](Run(case, link, length), expected)
    return plain(case, spec, reader)


def check(case: dict[str, Any], outputs: dict[str, Any], link: str, length: int | None) -> int:
    """Compare all outputs of one run; returns how many were compared."""
    compared = 0
    for name, value in outputs.items():
        if name in NOT_COMPARED:
            continue
        if isinstance(value, list) and any(isinstance(item, str) for item in value):
            assert list(ours_for(case, link, length, name, value)) == value, case["id"]
            compared += 1
            continue
        if isinstance(value, dict):
            # Complex numbers; readers give (2, …) as well.
            value = [value["re"], value["im"]]
        expected = np.asarray(value, dtype=float)
        ours = ours_for(case, link, length, name, expected)
        np.testing.assert_allclose(
            np.asarray(ours, dtype=float),
            expected,
            rtol=case["tol"]["rtol"],
            atol=case["tol"]["atol"],
            err_msg=f"{case['id']}: {name} of {link}",
        )
        compared += 1
    return compared


def check_case(case: dict[str, Any]) -> int:
    outputs, link = case["outputs"], case["spec"]
    if isinstance(link, dict):
        return sum(check(case, outputs[layer], link[layer], None) for layer in link)
    if "by_seq_len" in outputs:
        # No length stands for the module as it is made, before any call.
        return sum(check(case, item, link, item["seq_len"] or 1) for item in outputs["by_seq_len"])
    if "calls" in outputs:
        steps = zip(outputs["calls"], case["lengths"], strict=True)
        return sum(check(case, item, link, length) for item, length in steps)
    return check(case, outputs, link, case.get("length"))


def _marks(case: dict[str, Any]) -> list[pytest.MarkDecorator]:
    reason = EXCEPTIONS.get(case["id"])
    return [pytest.mark.xfail(strict=True, reason=reason)] if reason else []


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"], marks=_marks(case)) for _, case in CASES]
)
def test_case_agrees_within_its_tolerance(case: dict[str, Any]) -> None:
    assert check_case(case) > 0


def test_every_encoding_has_references() -> None:
    assert {file.stem for file in FILES} >= {encoding.id for encoding in posviz.catalog()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_cases_name_their_source_and_belong_to_the_file(file: Path) -> None:
    content = json.loads(file.read_text("utf-8"))
    assert content["schema"] == 1
    for case in content["cases"]:
        assert case["source"]["library"], case["id"]
        assert case["source"]["object"], case["id"]
        links = case["spec"].values() if isinstance(case["spec"], dict) else [case["spec"]]
        assert file.stem in {link.partition("?")[0] for link in links}, case["id"]


def test_case_ids_are_unique() -> None:
    ids = [case["id"] for _, case in CASES]
    assert len(set(ids)) == len(ids)


def test_exceptions_name_existing_cases() -> None:
    assert set(EXCEPTIONS) <= {case["id"] for _, case in CASES}
