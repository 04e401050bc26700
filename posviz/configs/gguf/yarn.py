"""YaRN as llama.cpp takes it from a GGUF file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posviz.configs.errors import ConfigError
from posviz.configs.gguf.fields import Draft, Fields
from posviz.configs.gguf.placing import Rotation, put, put_original
from posviz.configs.gguf.scaling import Scaling
from posviz.configs.model_classes import model_class
from posviz.encodings.extension import yarn_magnitude
from posviz.encodings.extension.yarn import Yarn
from posviz.parameters import ParameterError

_LARGEST_MULTIPLIER = 1e6
_UNROUNDED = ("gpt-oss",)
"""Architectures whose released configuration has truncate false."""


def put_yarn(fields: Fields, draft: Draft, rotation: Rotation, scaling: Scaling) -> None:
    from gguf.constants import Keys

    rope = Keys.Rope
    _leave_longrope_class(fields, draft)
    put(draft, rotation, "rope_type", "yarn", scaling.kind_name)
    put(draft, rotation, "factor", scaling.factor, scaling.factor_name)
    put_original(draft, rotation, scaling.original, scaling.original_name)
    for key, pattern in (
        ("beta_fast", rope.SCALING_YARN_BETA_FAST),
        ("beta_slow", rope.SCALING_YARN_BETA_SLOW),
    ):
        value = fields.number(pattern)
        if value is not None:
            put(draft, rotation, key, value, fields.key(pattern))
    _put_magnitude(fields, draft, rotation, scaling)
    _note_yarn(fields, draft, scaling)
    if fields.architecture in _UNROUNDED:
        _note_rounding(fields, draft, rotation, scaling)


def _leave_longrope_class(fields: Fields, draft: Draft) -> None:
    facts = model_class(draft.config.get("model_type", ""))
    if facts.original_window is not None:  # the classes of Phi-3 take "yarn" for longrope
        draft.drop("model_type")
        draft.note(
            "info",
            f"llama.cpp applies YaRN to {fields.architecture}; {facts.name} of transformers takes "
            "that name for longrope, so no model type is given here.",
        )


def _note_yarn(fields: Fields, draft: Draft, scaling: Scaling) -> None:
    from gguf.constants import Keys

    rope = Keys.Rope
    if scaling.ramp_weight != 1:
        draft.note(
            "warn",
            f"{fields.key(rope.SCALING_YARN_EXT_FACTOR)} is {scaling.ramp_weight:g}, the weight of "
            "YaRN's ramp; transformers has no such number, and the ramp is shown with weight 1.",
        )
    given = fields.number(rope.SCALING_YARN_ATTN_FACTOR)
    own = yarn_magnitude(scaling.factor)
    if given is not None and given >= 0 and not math.isclose(given, own, rel_tol=1e-4):
        draft.note(
            "warn",
            f"{fields.key(rope.SCALING_YARN_ATTN_FACTOR)} {given:g} has no effect: with a ramp "
            f"llama.cpp replaces it by its own magnitude, {own:.9g} for this factor.",
        )


def _note_rounding(fields: Fields, draft: Draft, rotation: Rotation, scaling: Scaling) -> None:
    told = (
        "llama.cpp always rounds the bounds of YaRN's ramp; the released configuration of "
        f"{fields.architecture} does not (truncate false), so some frequencies differ from its own"
    )
    spec = _unrounded(fields, rotation, scaling)
    if spec is not None:
        own, rounded = (
            np.asarray(spec.with_values(truncate=rounds).frequencies(1)) for rounds in (False, True)
        )
        difference = rounded / own - 1
        pair = int(np.abs(difference).argmax())
        told += (
            f": most of all pair {pair}, which turns by {abs(difference[pair]):.3g} (relative) "
            f"{'faster' if difference[pair] > 0 else 'more slowly'} than in the model's own code"
        )
    draft.note("differs", f"{told}.")


def _unrounded(fields: Fields, rotation: Rotation, scaling: Scaling) -> Yarn | None:
    """The model's own ramp; None where the file's numbers make no YaRN, which the reader says."""
    from gguf.constants import Keys

    rope = Keys.Rope
    values: dict[str, Any] = {
        key: value
        for key, pattern in (
            ("beta_fast", rope.SCALING_YARN_BETA_FAST),
            ("beta_slow", rope.SCALING_YARN_BETA_SLOW),
        )
        if (value := fields.number(pattern)) is not None
    }
    original: Any = scaling.original
    try:
        return Yarn(
            **values,
            base=rotation.base,
            head_dim=2 * (rotation.pairs or 0),
            original_max_position_embeddings=original,
            scaling_factor=scaling.factor,
            truncate=False,
        )
    except ParameterError:
        return None


def _put_magnitude(fields: Fields, draft: Draft, rotation: Rotation, scaling: Scaling) -> None:
    from gguf.constants import Keys

    given = fields.number(Keys.Rope.SCALING_YARN_LOG_MUL)
    name = fields.key(Keys.Rope.SCALING_YARN_LOG_MUL)
    magnitude = yarn_magnitude(scaling.factor)
    if given is not None and not 0 <= given <= _LARGEST_MULTIPLIER:
        raise ConfigError(f"{name} must lie between 0 and {_LARGEST_MULTIPLIER:g}; got {given:g}.")
    if given:
        over_all = _log_multiplier(fields, float(given))
        same = fields.architecture == "deepseek2" and over_all != 1
        mscale = over_all if same else 1.0
        put(draft, rotation, "mscale", mscale, name if same else "")
        put(draft, rotation, "mscale_all_dim", over_all, name)
        magnitude = yarn_magnitude(scaling.factor, mscale)
        magnitude /= yarn_magnitude(scaling.factor, over_all)
    elif given is None and fields.raw(Keys.Attention.KV_LORA_RANK) is not None:
        draft.note(
            "warn",
            f"{name} is missing, as in older conversions: the correction in the softmax scale of "
            "latent attention (mscale_all_dim) cannot be read off this file.",
        )
    if scaling.attention != 1:
        net = magnitude * scaling.attention
        put(draft, rotation, "attention_factor", net, scaling.attention_name)
        twice = math.isclose(scaling.attention, magnitude, rel_tol=1e-3)
        draft.note(
            "warn" if twice else "info",
            f"{scaling.attention_name} {scaling.attention:.9g} multiplies YaRN's own magnitude "
            f"{magnitude:.9g}, so cos and sin carry {net:.9g}"
            + ("; it looks like that magnitude itself, counted twice." if twice else "."),
        )


def _log_multiplier(fields: Fields, given: float) -> float:
    """mscale_all_dim; conversion multiplies it by 0.1 for latent attention, and llama.cpp, in
    float32, divides again."""
    from gguf.constants import Keys

    if fields.raw(Keys.Attention.KV_LORA_RANK) is None:
        return given
    return float(np.float32(given) / np.float32(0.1))
