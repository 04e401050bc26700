"""One writer per runtime: settings that can be pasted, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from posviz.configs.errors import ConfigError, ExportError
from posviz.configs.findings import Findings
from posviz.configs.model import FULL, Model
from posviz.configs.model_classes import model_class
from posviz.configs.rope_dicts import rope_dicts
from posviz.configs.section import text_section
from posviz.configs.writers import (
    llama_cpp,
    llama_cpp_yarn,
    mlx,
    ollama,
    sglang,
    transformers,
    vllm,
    vllm_old,
)
from posviz.configs.writers.dialects import refusal
from posviz.configs.writers.read_back import read_export
from posviz.configs.writers.settings import Settings, Task
from posviz.encodings.base import Encoding
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import closest, shortened

_TABLE: Mapping[str, tuple[str, Callable[[Task], Settings]]] = {
    "transformers": ("transformers", transformers.write_v5),
    "transformers_v4": ("transformers 4", transformers.write_v4),
    "vllm": ("vLLM", vllm.write),
    "vllm_old": (vllm_old.TITLE, vllm_old.write),
    "sglang": ("SGLang", sglang.write),
    "llama_cpp": (llama_cpp_yarn.TITLE, llama_cpp.write),
    "ollama": (ollama.TITLE, ollama.write),
    "mlx": (mlx.TITLE, mlx.write),
}
TITLES: Mapping[str, str] = {runtime: title for runtime, (title, _) in _TABLE.items()}
"""The runtimes that settings can be written for, and their names in words."""
RUNTIMES: tuple[str, ...] = tuple(TITLES)
LONGEST_LENGTH = 1 << 30
"""Tokens; no runtime and no model is near it, and lengths enter products."""
_CARRIED = ("mrope_section", "mrope_interleaved")
_READ_BY_ATTENTION = ("llama_4_scaling_beta",)
"""Keys of the dict that the attention of a class reads; no number of the rotation."""


def export(
    model_or_spec: Model | Encoding,
    runtime: str,
    *,
    target_length: int | None = None,
    window: int | None = None,
) -> Settings:
    """Settings that make a runtime rotate as this model or spec says.

    Parameters
    ----------
    model_or_spec : a model as it was read or tuned (:meth:`Model.with_spec`), or a lone spec.
    runtime : one of :data:`RUNTIMES`.
    target_length : the length to run at, in tokens; by default what the method itself covers.
    window : max_position_embeddings to write, where the method leaves it open.

    Raises
    ------
    ExportError : the runtime cannot express it, or does not exist; the reason in one sentence.
    ConfigError : the model's own numbers cannot be used.
    """
    if not isinstance(runtime, str) or runtime not in TITLES:
        message = f"There is no runtime {shortened(runtime)}; {closest(runtime, RUNTIMES)}."
        raise ExportError(message, kind="request")
    for name, value in (("target_length", target_length), ("window", window)):
        _check_length(name, value)
    task = _task(model_or_spec, target_length, window)
    _, write = _TABLE[runtime]
    settings = write(task)
    _check_read_back(task, settings)
    return settings


def _check_length(name: str, value: int | None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and (not whole or not 1 <= value <= LONGEST_LENGTH):
        allowed = f"a whole number from 1 to {LONGEST_LENGTH:,}"
        message = f"{name} must be {allowed}; got {shortened(value)}."
        raise ExportError(message, kind="request")


def _task(model_or_spec: Model | Encoding, target_length: int | None, window: int | None) -> Task:
    if isinstance(model_or_spec, Model):
        model = model_or_spec
        if not model.layers:
            model.spec()  # says why there is nothing to export
        specs = {
            layer.name: model.spec(layer.name) if layer.rotates else None for layer in model.layers
        }
        return Task(specs, model, target_length, window, _carried(model))
    if not isinstance(model_or_spec, Encoding):
        kind = type(model_or_spec).__name__
        message = (
            "Settings are written for a model that configs.read gives, or for an encoding; "
            f"got {kind}."
        )
        raise ExportError(message, kind="request")
    if not isinstance(model_or_spec, RotaryEncoding):
        raise refusal(model_or_spec, "any runtime here", "it is no rotary encoding")
    return Task({FULL: model_or_spec}, None, target_length, window)


def _carried(model: Model) -> dict[str, Any]:
    """What must survive although a dict is replaced whole: M-RoPE's keys, and the attention's."""
    rows = {row.name: row.value for row in model.resolved if row.name in _CARRIED}
    kept = {
        name: list(value) if isinstance(value, tuple) else value for name, value in rows.items()
    }
    section, model_type = text_section(model.config)
    for rope in rope_dicts(section, model_class(model_type), Findings()):
        found = {} if rope.section is None else rope.section.data
        kept |= {name: found[name] for name in _READ_BY_ATTENTION if name in found}
    return kept


def _check_read_back(task: Task, settings: Settings) -> None:
    """A model class may read the settings otherwise than they were meant; then they are refused."""
    try:
        again = read_export(settings)
        for name, spec in task.specs.items():
            if spec is not None and not _rotates_alike(spec, again.spec(name)):
                raise refusal(
                    spec,
                    settings.title,
                    f"these settings would be read as another rotation. {_reasons(again)}".strip(),
                )
    except ConfigError as error:
        message = f"These values cannot be written for {settings.title}: {error}"
        raise ExportError(message, kind="unknown") from None


def _reasons(model: Model) -> str:
    return " ".join(message.text for message in model.messages if message.severity != "info")


def _rotates_alike(first: Any, second: Any) -> bool:
    if first.id == "longrope" and getattr(second, "switch", "") == "length":
        # The lists are the same everywhere; when each is used is a note, not a refusal.
        first = first.with_values(switch="length")
    trained = getattr(first, "original_max_position_embeddings", 4096)
    positions = [0.0, 1.0, trained - 1.0, float(trained), 2.0 * trained]
    return all(
        _equal(first.encode(positions, length=length), second.encode(positions, length=length))
        for length in (1, trained, trained + 1, 4 * trained)
    )


def _equal(one: Any, two: Any) -> bool:
    names = ("inv_freq", "attention_factor", "softmax_factor", "query_scale", "relative_distance")
    alike = type(one) is type(two) and one.head_dim == two.head_dim and one.layout == two.layout
    return alike and all(
        _close(getattr(one, name, None), getattr(two, name, None)) for name in names
    )


def _close(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    return np.shape(one) == np.shape(two) and bool(np.allclose(one, two, rtol=1e-12, atol=0))


__all__ = ["RUNTIMES", "TITLES", "ExportError", "Settings", "export", "read_export"]
