"""A model whose spec a runtime understands otherwise than transformers would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from posviz.configs.messages import Message
from posviz.configs.model import Model
from posviz.encodings.base import Encoding
from posviz.encodings.extension import yarn_magnitude

_ABOUT_OTHER_RUNTIMES = ("PV161", "PV164")


def with_spec(model: Model, change: Callable[[Any], Encoding]) -> Model:
    """The model with its spec changed, without messages about keys that this runtime does read."""
    messages: tuple[Message, ...] = tuple(
        message for message in model.messages if message.code not in _ABOUT_OTHER_RUNTIMES
    )
    return model.with_spec(change(model.spec()), messages=messages)


def multiplied_yarn(
    spec: Any, written: Mapping[str, Any], *, reads_mscale: bool = False
) -> Encoding:
    """attn_factor multiplies what the runtime derives, and extrapolation_factor is read.

    attention_factor itself is not read, and mscale and mscale_all_dim by the DeepSeek classes only;
    with ``reads_mscale`` also by the others, where both are there.
    """
    both = reads_mscale and None not in (spec.mscale, spec.mscale_all_dim)
    if not spec.softmax_correction and not both:
        spec = spec.with_values(mscale=None, mscale_all_dim=None)
    derived = spec.with_values(attention_factor=None)
    times = written.get("attn_factor")
    factor = derived.magnitude(1)
    if both and 0 in (spec.mscale, spec.mscale_all_dim):
        # transformers takes a 0 for a missing number, SGLang does not.
        times = 1.0 if times is None else times
        factor = yarn_magnitude(spec.scaling_factor, spec.mscale) / yarn_magnitude(
            spec.scaling_factor, spec.mscale_all_dim
        )
    values: dict[str, Any] = {"attention_factor": None if times is None else float(times) * factor}
    if written.get("extrapolation_factor") is not None:
        values["extrapolation_factor"] = float(written["extrapolation_factor"])
    return spec.with_values(**values)  # type: ignore[no-any-return]


def longrope_by_mscales(spec: Any, written: Mapping[str, Any]) -> Encoding:
    """short_mscale and long_mscale, which vLLM and SGLang read for every longrope model."""
    names = ("short_mscale", "long_mscale")
    found = {name: float(written[name]) for name in names if written.get(name) is not None}
    return spec.with_values(**found) if found else spec  # type: ignore[no-any-return]
