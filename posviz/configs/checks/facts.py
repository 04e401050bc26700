"""The numbers that a configuration comes to, by name."""

from __future__ import annotations

import math
from typing import Any

from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.numbers import whole
from posviz.measures import spectrum

_OF_THE_MODEL = (
    *("table_size", "usable_positions", "first_position_id"),
    *("heads", "slopes", "alibi_bias_max"),
    *("num_buckets", "max_distance", "last_bucket_from_two_way", "last_bucket_from_causal"),
)


_LONGEST = 1 << 53
"""Tokens; positions beyond are no whole numbers in float64, and a file may claim any window."""


def facts_of(subject: Subject) -> dict[str, Any]:
    """Numbers of the model; of a layer type under ``<layer type>.<name>`` where it has several."""
    values: dict[str, Any] = {}
    if subject.model.window is not None and subject.model.layers:
        values["max_position_embeddings"] = subject.model.window
    values.update(
        {row.name: row.value for row in subject.model.resolved if row.name in _OF_THE_MODEL}
    )
    if subject.model.unrotated_layers:
        values["layers_without_rotation"] = list(subject.model.unrotated_layers)
    if subject.main is not None:
        values.update(_of_layer(subject.main, subject))
    if len(subject.model.layers) > 1:
        for each in subject.rotating:
            own = _of_layer(each, subject)
            values.update({f"{each.layer.name}.{name}": value for name, value in own.items()})
    return values


def _of_layer(each: Rotating, subject: Subject) -> dict[str, Any]:
    spec = each.spec
    length = _length(each, subject)
    trained = getattr(spec, "original_max_position_embeddings", None) or length
    measure = spectrum(spec, length=length, trained_length=trained)
    rotation = spec.encode([0.0], length=length)
    frequencies = rotation.inv_freq
    rotating = frequencies[frequencies > 0]
    values: dict[str, Any] = {
        "head_dim": spec.head_dim,
        "rotary_dim": spec.rotary_dim,
        "pairs": spec.rotary_dim // 2,
        "unrotated_dims": spec.head_dim - spec.rotary_dim,
        "base": spec.base,
        "layout": spec.layout,
        "attention_factor": float(rotation.attention_factor),
        "softmax_scale_multiplier": float(rotation.softmax_factor),
        "logit_gain": float(rotation.attention_factor**2 * rotation.softmax_factor),
        "slowest_wavelength": math.tau / float(rotating.min()),
        "pairs_unchanged": int(measure.kept),
        "pairs_blended": int(measure.blended),
        "pairs_divided": int(measure.divided),
    }
    if each.layer.indices:
        values["layers"] = list(each.layer.indices)
    return values | _of_method(each, subject)


def _length(each: Rotating, subject: Subject) -> int:
    """The length at which a method that follows it is looked at: the one asked for, or a window."""
    trained = getattr(each.spec, "original_max_position_embeddings", None)
    asked = int(subject.target_length or subject.model.window or trained or 1)
    return min(asked, _LONGEST)


def _of_method(each: Rotating, subject: Subject) -> dict[str, Any]:
    spec = each.spec
    values: dict[str, Any] = {}
    original = getattr(spec, "original_max_position_embeddings", None)
    factor = getattr(spec, "scaling_factor", None)
    # The window of a class that counts it extended says nothing about the trained one.
    extended_already = spec.id == "linear" and subject.facts.window_is_extended
    if original is not None and not extended_already:
        values["original_max_position_embeddings"] = original
    if factor is not None:
        values["scaling_factor"] = factor
    extended = _extended_context(each, subject)
    if extended is not None:
        values["extended_context"] = extended
    bounds = getattr(spec, "bounds", None)
    if bounds is not None:
        values["ramp_low"], values["ramp_high"] = bounds
    return values


def _extended_context(each: Rotating, subject: Subject) -> float | int | None:
    """Tokens that the method reaches: factor × trained window where the factor is their ratio.

    The factor of llama3, the lists of longrope, HunYuan's alpha and linear in a class whose window
    is the extended one already are no such ratio: there the window itself is what is reached.
    """
    spec, window = each.spec, subject.model.window
    if spec.id == "linear" and subject.facts.window_is_extended:
        return window
    if spec.id in ("yarn", "dynamic_ntk", "linear") or getattr(spec, "variant", "") == "vllm":
        return whole(spec.scaling_factor * spec.original_max_position_embeddings)
    return window if spec.id in ("llama3", "longrope", "ntk_aware") else None
