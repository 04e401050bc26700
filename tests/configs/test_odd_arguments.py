"""Arguments of a wrong type, settings without end, mappings that fail: one sentence each."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz import configs
from posviz.configs import ConfigError, ExportError
from posviz.configs.presets import preset
from posviz.configs.writers.readers.text import words
from posviz.parameters import ParameterError

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "head_dim": 128,
    "rope_theta": 10000.0,
    "max_position_embeddings": 4096,
    "rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_fast": 32},
}
MODEL = configs.read(LLAMA)
REPORT = configs.check(LLAMA)
ODD: tuple[Any, ...] = (0, True, 0.5, ["vllm"], {}, b"vllm", (), 10**5000, "x" * 10_000, object)

CALLS: dict[str, Callable[[Any], object]] = {
    "export to": lambda odd: configs.export(MODEL, odd),
    "export of": lambda odd: configs.export(odd, "vllm"),
    "export at": lambda odd: configs.export(MODEL, "vllm", target_length=odd or -1),
    "export with": lambda odd: configs.export(MODEL, "vllm", window=odd or -1),
    "check of": lambda odd: configs.check(odd),
    "check for": lambda odd: configs.check(LLAMA, runtime=odd),
    "check at": lambda odd: configs.check(LLAMA, target_length=odd),
    "patched": lambda odd: REPORT.patched(odd),
    "compare with": lambda odd: configs.compare(LLAMA, odd),
    "compare layers": lambda odd: configs.compare(LLAMA, LLAMA, layer_type=odd),
    "compare at": lambda odd: configs.compare(LLAMA, LLAMA, length=odd or -1),
    "compared layer": lambda odd: configs.compare(LLAMA, LLAMA).layer(odd),
    "read": lambda odd: configs.read(odd),
    "read_export of": lambda odd: configs.read_export(odd, "vllm"),
    "read_export by": lambda odd: configs.read_export("{}", odd),
    "read_export over": lambda odd: configs.read_export("--hf-overrides '{}'", "vllm", odd or 1),
    "applied": lambda odd: configs.applied(LLAMA, odd or 0),
    "preset": lambda odd: preset(odd),
    "layer": lambda odd: MODEL.layer(odd),
    "spec": lambda odd: MODEL.spec(odd),
    "rotation at": lambda odd: MODEL.rotation(length=odd or -1),
    "with_spec": lambda odd: MODEL.with_spec(MODEL.spec(), odd),
}


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12] if odd != 10**5000 else "huge")
@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_type_is_a_sentence(call: str, odd: Any) -> None:
    if (call, odd) in (("compare at", True), ("compare at", 0.5)):
        odd = -1
    with pytest.raises((ConfigError, ExportError, ParameterError)) as refused:
        CALLS[call](odd)
    sentence = str(refused.value)
    assert sentence.endswith("."), sentence
    assert len(sentence) < 500, sentence


def test_a_configuration_that_was_not_read_is_told_to_be_read() -> None:
    with pytest.raises(ExportError) as refused:
        configs.export(LLAMA, "vllm")  # type: ignore[arg-type]
    assert str(refused.value) == (
        "Settings are written for a model that configs.read gives, or for an encoding; got dict."
    )


@pytest.mark.parametrize("name", ["target_length", "window"])
def test_no_length_is_exported_that_check_would_refuse(name: str) -> None:
    with pytest.raises(ExportError) as refused:
        configs.export(MODEL, "llama_cpp", **{name: (1 << 30) + 1})
    assert str(refused.value) == (
        f"{name} must be a whole number from 1 to 1,073,741,824; got 1073741825."
    )
    with pytest.raises(ConfigError, match="from 1 to 1,073,741,824; got 1073741825"):
        configs.check(LLAMA, target_length=(1 << 30) + 1)
    yarn = MODEL.with_spec(MODEL.spec())
    assert configs.export(yarn, "llama_cpp", target_length=1 << 30).data["ctx"] == 1 << 30


class Failing(Mapping[str, Any]):
    """A mapping whose own code fails at one step."""

    def __init__(self, step: str) -> None:
        self.step = step

    def __getitem__(self, key: str) -> Any:
        if self.step == "get":
            raise RuntimeError("no value")
        return 1

    def __iter__(self) -> Iterator[str]:
        if self.step == "iterate":
            raise RuntimeError("no keys")
        yield "rope_theta"
        if self.step == "go on":
            raise ValueError("no more")

    def __len__(self) -> int:
        raise RuntimeError("no length")


class Endless(Mapping[str, Any]):
    """A mapping without an end, which counts how far it was read."""

    read = 0

    def __getitem__(self, key: str) -> Any:
        return {}

    def __iter__(self) -> Iterator[str]:
        while True:
            self.read += 1
            yield f"key {self.read}"

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("step", ["get", "iterate", "go on"])
@pytest.mark.parametrize("call", ["check", "read", "compare"])
@pytest.mark.parametrize("inner", [False, True])
def test_a_mapping_whose_own_code_fails_is_named(step: str, call: str, inner: bool) -> None:
    config: Any = {**LLAMA, "rope_scaling": Failing(step)} if inner else Failing(step)
    with pytest.raises(ConfigError) as refused:
        configs.compare(LLAMA, config) if call == "compare" else getattr(configs, call)(config)
    where = "rope_scaling" if inner else "the top level"
    kind = "ValueError" if step == "go on" else "RuntimeError"
    assert f"The values at {where} cannot be read: {kind}." in str(refused.value)
    assert refused.value.__cause__ is not None or call == "compare"


class FailingList(list[Any]):
    """A list whose own code fails."""

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no entries")


def test_a_list_whose_own_code_fails_is_named() -> None:
    with pytest.raises(ConfigError, match="The values at layer_types cannot be read: RuntimeErr"):
        configs.check({**LLAMA, "layer_types": FailingList()})


def test_a_mapping_without_an_end_is_refused_soon() -> None:
    endless = Endless()
    with pytest.raises(ConfigError, match="more than 300,000 values"):
        configs.read(endless)
    assert endless.read <= 300_001


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "x" * 5000, "no such file"])
def test_a_name_that_no_file_has_is_a_sentence(name: str) -> None:
    for call in (configs.read, configs.check):
        with pytest.raises(ConfigError) as refused:
            call(Path(name))
        str(refused.value).encode()
        assert "cannot be read: " in str(refused.value)


LONG = 900_000
HOSTILE: dict[str, Callable[[str], str]] = {
    "one long word": lambda flag: "x" * LONG,
    "a long value": lambda flag: f"{flag} {'x' * LONG}",
    "a long quoted value": lambda flag: f"{flag} '{'x' * LONG}'",
    "an open quote": lambda flag: f"{flag} '{'x' * LONG}",
    "an open double quote": lambda flag: f'{flag} "{"x" * LONG}',
    "many backslashes": lambda flag: "\\" * (LONG + 1),
    "many quotes": lambda flag: "'" * LONG,
    "many words": lambda flag: "x " * (LONG // 2),
    "many lines": lambda flag: "\n" * LONG,
    "deep JSON": lambda flag: f"{flag} '{'[' * LONG}'",
    "bare deep JSON": lambda flag: '{"a":' * (LONG // 5),
    "a number without end": lambda flag: f"{flag} '{{\"rope_theta\": {'9' * LONG}}}'",
    "a bare number without end": lambda flag: f'{{"rope_theta": {"9" * LONG}}}',
    "more than a configuration may have": lambda flag: " " * 1_000_001,
}
FLAGS = {
    "vllm": "--hf-overrides",
    "vllm_old": "--rope-scaling",
    "sglang": "--json-model-override-args",
    "llama_cpp": "--rope-freq-base",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("runtime", configs.RUNTIMES)
def test_settings_of_any_length_are_refused_soon(runtime: str, name: str) -> None:
    text = HOSTILE[name](FLAGS.get(runtime, "--flag"))
    started = time.process_time()
    if (runtime, name) == ("llama_cpp", "many lines"):
        configs.read_export(text, runtime)  # no flags change nothing
    else:
        with pytest.raises(ConfigError) as refused:
            configs.read_export(text, runtime)
        assert len(str(refused.value)) < 500
    assert time.process_time() - started < 2


@given(text=st.text(alphabet=" \t\r\n'\"\\#ab$;\x0b\x00é", max_size=30))
@settings(max_examples=2000, deadline=None, derandomize=True)
def test_the_words_are_those_of_a_posix_shell(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        with pytest.raises(ConfigError, match="The quotes in these settings do not match"):
            words(text)
    else:
        assert words(text) == expected
