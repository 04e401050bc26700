"""The page of every code of the configuration doctor, each shown on a small configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from posviz import configs
from posviz.configs.checks import CODES, Diagnosis
from posviz.configs.checks.examples import Example, examples
from posviz.docs.markdown import table

_LONGEST_LIST = 8


def checks_page() -> str:
    """``docs/checks.md``: what each code is about, and what it says of its example."""
    known = examples()
    summary = table(
        ["code", "severity here", "what it is about"],
        (
            [f"[{code}](#{code.lower()})", _shown(known[code]).severity, CODES[code]]
            for code in sorted(CODES)
        ),
    )
    sections = "\n\n".join(_section(code, known[code]) for code in sorted(CODES))
    return (
        "# What the configuration doctor finds\n\n"
        "Written by `make docs` from the checks in `posviz/configs/checks`; edits here are lost. "
        "Every example is run: the sentence under it is what `posviz check` says of it.\n\n"
        "A code never changes its meaning. Severities: `ok` looked at and right, `info` good to "
        "know, `warn` to be seen before the model is used, `error` the numbers must not be "
        "used.\n\n"
        f"{summary}\n\n{sections}\n"
    )


def _shown(example: Example) -> Diagnosis:
    report = configs.check(
        example.given, runtime=example.runtime, target_length=example.target_length
    )
    return report.of(example.code)[0]


def _section(code: str, example: Example) -> str:
    diagnosis = _shown(example)
    parts = [
        f"## {code}",
        CODES[code],
        *_example(example),
        f"> {diagnosis.severity}: {diagnosis.message}",
    ]
    parts += list(_runtimes(diagnosis))
    if diagnosis.patch:
        operations = json.dumps([dict(each) for each in diagnosis.patch], ensure_ascii=False)
        parts.append(f"Suggested change (JSON Patch): `{operations}`")
    return "\n\n".join(parts)


def _example(example: Example) -> Iterator[str]:
    text = (
        example.config
        if isinstance(example.config, str)
        else json.dumps(_shortened(example.config), indent=2, ensure_ascii=False)
    )
    yield f"```json\n{text}\n```"
    asked = [
        f"--runtime {example.runtime}" if example.runtime else "",
        f"--target-length {example.target_length}" if example.target_length else "",
    ]
    if example.gguf is not None:
        tensors = ", ".join(example.gguf["tensors"]) or "none"
        yield f"As read of a GGUF file; its tensors of divisors: {tensors}."
    if any(asked):
        yield f"With `{' '.join(filter(None, asked))}`:"


def _runtimes(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.runtimes:
        yield "\n".join(f"- {name}: {text}" for name, text in diagnosis.runtimes.items())


def _shortened(value: Any) -> Any:
    """The configuration with long lists cut, for reading."""
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    if isinstance(value, list) and len(value) > _LONGEST_LIST:
        return [*value[:3], f"… {len(value)} values in all"]
    return value
