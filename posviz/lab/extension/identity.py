"""What a run's numbers depend on, and what is said about where they come from; light."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import posviz
from posviz.lab.extension.applied import Applied
from posviz.lab.hashes import text_hash
from posviz.lab.language_model.sources import Source

_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model")
_PACKAGES = ("torch", "transformers", "tokenizers", "gguf", "safetensors", "numpy")


def model_hash(source: Source) -> str:
    """SHA-256 of weights, configuration and tokenizer; of a GGUF file, of the file."""
    if source.is_gguf:
        return source.file_hash()
    digest = hashlib.sha256(source.file_hash().encode())
    digest.update(json.dumps(source.config(), sort_keys=True).encode())
    for name in _TOKENIZER:
        path = source.path / name
        digest.update(path.read_bytes() if path.is_file() else b"\0")
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Of posviz, and of the packages that read the weights, make the tokens and calculate."""
    found = {"posviz": posviz.__version__}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def about(
    kind: str, settings: Applied, source: Source, text: str, plan: Mapping[str, Any]
) -> dict[str, Any]:
    """All that a run's numbers depend on.

    ``plan`` holds the values that change them; a running mean's window does not: single-token
    losses are kept, and averaged anew.
    """
    return {
        "kind": kind,
        "applied": settings.text,
        "changed": dict(settings.changed),
        "model": model_hash(source),
        "text": text_hash(text),
        "plan": dict(plan),
        "versions": versions(),
    }


def machine() -> str:
    """The machine in a few words."""
    name = _processor() or platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count() or 1} cores, {platform.system()}"


def _processor() -> str:
    """The processor's name where Linux tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line for line in file if line.startswith("model name")]
    except OSError:
        return ""
    return lines[0].partition(":")[2].strip() if lines else ""
