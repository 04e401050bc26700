"""Reads an export back, as the runtime that it was written for would take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.json_limits import MAX_BYTES
from posviz.configs.model import Model
from posviz.configs.writers.readers.llama_cpp import read_llama_cpp
from posviz.configs.writers.readers.mlx import read_mlx
from posviz.configs.writers.readers.ollama import read_ollama
from posviz.configs.writers.readers.overrides import read_sglang, read_transformers, read_vllm
from posviz.configs.writers.readers.vllm_old import read_vllm_old
from posviz.configs.writers.settings import Settings
from posviz.parameters import closest, shortened

_READERS: Mapping[str, Callable[[str | Mapping[str, Any], Mapping[str, Any]], Model]] = {
    "transformers": read_transformers,
    "transformers_v4": read_transformers,
    "vllm": read_vllm,
    "vllm_old": read_vllm_old,
    "sglang": read_sglang,
    "llama_cpp": read_llama_cpp,
    "ollama": read_ollama,
    "mlx": read_mlx,
}


def read_export(
    export: Settings | str | Mapping[str, Any],
    runtime: str | None = None,
    base_config: Mapping[str, Any] | None = None,
) -> Model:
    """The model that an export stands for.

    Parameters
    ----------
    export : what :func:`posviz.configs.export` gave, or its text, or its data.
    runtime : the runtime it was written for, transformers by default; Settings know their own.
    base_config : the model's own configuration, over which text or flags are laid.

    Raises
    ------
    ConfigError : no settings of that runtime, or a configuration that cannot be used; an unknown
        runtime.
    """
    if isinstance(export, Settings):
        runtime, base_config = export.runtime, base_config or export.base_config
        export = export.data
    runtime = "transformers" if runtime is None else runtime
    if not isinstance(runtime, str) or runtime not in _READERS:
        raise ConfigError(
            f"There is no runtime {shortened(runtime)}; {closest(runtime, tuple(_READERS))}."
        )
    _check_given(export, base_config)
    return _READERS[runtime](export, dict(base_config or {}))


def _check_given(export: object, base_config: object) -> None:
    if not isinstance(export, str | Mapping):
        kind = type(export).__name__
        raise ConfigError(f"Settings are what configs.export gives, text or a mapping; got {kind}.")
    if base_config is not None and not isinstance(base_config, Mapping):
        kind = type(base_config).__name__
        raise ConfigError(f"base_config must be a model's configuration, a mapping; got {kind}.")
    if isinstance(export, str) and len(export) > MAX_BYTES:
        raise ConfigError(f"Settings may have at most {MAX_BYTES:,} characters; these have more.")
