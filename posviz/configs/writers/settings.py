"""What a writer gives, and what all writers need to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.model import FULL, Model
from posviz.configs.model_classes import ModelClass, model_class
from posviz.encodings.base import Encoding


@dataclass(frozen=True)
class Settings:
    """Settings for one runtime.

    Attributes
    ----------
    text : what to paste: JSON, or command-line flags with their JSON quoted for a POSIX shell.
    data : the same as data: for llama.cpp its flags by name, for Ollama its parameters, otherwise
        the whole configuration as the runtime then sees it; :func:`posviz.configs.read` reads it
        back to the same rotation.
    notes : the version assumed, and what else must be known.
    runtime, title : which runtime, by id and in words.
    base_config : what the settings are laid over; flags and a Modelfile need it to be read back.
    """

    text: str
    data: Mapping[str, Any]
    notes: tuple[str, ...]
    runtime: str
    title: str
    base_config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """What to write: the specs by layer type, the model around them, the lengths asked for."""

    specs: Mapping[str, Encoding | None]
    """None for a layer type that does not rotate."""
    model: Model | None
    target_length: int | None = None
    window: int | None = None
    carried: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the dict that are not about frequencies (M-RoPE sections) and must survive."""

    @property
    def is_per_layer(self) -> bool:
        """Whether layer types have their own dicts."""
        return tuple(self.specs) != (FULL,)

    @property
    def facts(self) -> ModelClass:
        """What the model's class takes by itself."""
        return model_class("" if self.model is None else self.model.model_type)

    @property
    def section(self) -> Mapping[str, Any]:
        """The text model's own keys; empty without a model."""
        data: Any = {} if self.model is None else self.model.config
        path = self.model.text_path if self.model is not None else ""
        for part in path.split(".") if path else []:
            data = data[part]
        return data  # type: ignore[no-any-return]

    @property
    def overrules_partial(self) -> bool:
        """Whether a partial factor stands elsewhere, so that a factor of 1 must be written too."""
        keys = ("partial_rotary_factor", "rotary_pct", "rotary_dim")
        given = any(self.section.get(key) is not None for key in keys)
        return given or self.facts.partial_rotary_factor is not None

    @property
    def spec(self) -> Encoding:
        """The spec of a plain model, or of the full-attention layers."""
        found = self.specs.get(FULL) or next((item for item in self.specs.values() if item), None)
        if found is None:
            message = "No layer of this model rotates, so there is nothing to export."
            raise ExportError(message, kind="request")
        return found


def share_beside(task: Task, written: dict[str, Any]) -> dict[str, Any]:
    """Takes the partial factor out of a dict, for the key beside it that the class reads.

    A class that reads no share of a head gets the count of dimensions.
    """
    share = written.pop("partial_rotary_factor", None)
    if share is None:
        return {}
    if task.facts.partial_keys:
        return {task.facts.partial_keys[0]: share}
    return {"rotary_dim": task.spec.rotary_dim}  # type: ignore[attr-defined]


def extended_length(task: Task) -> int | None:
    """The length to run at: the one asked for, or the one that the method itself names."""
    if task.target_length is not None:
        return task.target_length
    own = _own_length(task.spec)
    model_window: int | None = task.model.window if task.model is not None else None
    if task.spec.id == "linear" and task.facts.window_is_extended:
        return model_window
    if has_fixed_alpha(task):
        return task.window or model_window
    if task.spec.id in ("yarn", "linear", "dynamic_ntk", "ntk_aware", "self_extend"):
        return own
    if task.spec.id in ("llama3", "ntk_by_parts") and task.window is None and own is not None:
        # A window within the trained one is from before the method was chosen.
        trained: int = task.spec.original_max_position_embeddings  # type: ignore[attr-defined]
        return own if model_window is None or model_window <= trained else model_window
    return task.window or model_window or own


def position_window(task: Task) -> int | None:
    """The max_position_embeddings to write, as the type's own rule wants it."""
    spec = task.spec
    if spec.id == "longrope":
        return int(spec.max_position_embeddings)  # type: ignore[attr-defined]
    vllm_ntk = spec.id == "ntk_aware" and spec.variant == "vllm"  # type: ignore[attr-defined]
    if spec.id in ("dynamic_ntk", "linear") or vllm_ntk:
        # These take the trained window from here; vLLM multiplies it by the factor itself.
        return int(spec.original_max_position_embeddings)  # type: ignore[attr-defined]
    if task.window is not None:
        return task.window
    # A target below what the method covers limits the runtime, not the method.
    by_method = extended_length(replace(task, target_length=None))
    known = [length for length in (by_method, task.target_length) if length is not None]
    return max(known, default=None)


def has_fixed_alpha(task: Task) -> bool:
    """Whether a larger base stands for HunYuan's alpha, which is no ratio of lengths."""
    dicts = (task.section.get("rope_scaling"), task.section.get("rope_parameters"))
    given = any(isinstance(each, Mapping) and each.get("alpha") is not None for each in dicts)
    return task.spec.id == "ntk_aware" and given


def _own_length(spec: Encoding) -> int | None:
    if spec.id == "self_extend":
        return int(spec.reach)  # type: ignore[attr-defined]
    if spec.id == "longrope":
        return int(spec.max_position_embeddings)  # type: ignore[attr-defined]
    original = getattr(spec, "original_max_position_embeddings", None)
    factor = getattr(spec, "scaling_factor", None)
    if original is None:
        return None
    length: int = round(original * (factor or 1))
    return length


def length_notes(task: Task) -> list[str]:
    """What to say about a target that the method does not reach, or overshoots."""
    own = None if has_fixed_alpha(task) else _own_length(task.spec)
    target = task.target_length
    window = None if task.model is None else task.model.window
    if own is None and target is not None and window is not None and target > window:
        return [
            f"Nothing here extends the rotation: {target} tokens lie beyond the window of {window}."
        ]
    if own is None or target is None or task.spec.id in ("dynamic_ntk", "llama3", "longrope"):
        return []
    if target > own:
        return [f"The target of {target} tokens is beyond what the method covers, {own} tokens."]
    if task.spec.id == "yarn" and target < own:
        factor = max(1.0, target / task.spec.original_max_position_embeddings)  # type: ignore[attr-defined]
        return [
            f"A factor of {factor:g} would cover {target} tokens; the factor applies to short "
            "inputs too, so use the smallest one that covers the need."
        ]
    return []
