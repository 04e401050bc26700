"""use_dynamic_ntk of the first Qwen models: the base rises in steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.encodings.extension import ntk_base
from posviz.parameters import is_finite_number
from posviz.solver import alpha_at_lengths

_STEPS = (1, 2, 4)
"""Multiples of the window at which the steps end."""
_LONGEST = 1 << 40


def stepwise(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV214, where the configuration switches it on."""
    if subject.section.data.get("use_dynamic_ntk") is not True:
        return
    window = _window(subject)
    if window is None or each.spec.id != "rope":
        return
    lengths = [window, window + 1, 2 * window, 2 * window + 1, 4 * window]
    if subject.target_length is not None:
        lengths.append(subject.target_length)
    alphas = dict(
        zip(lengths, alpha_at_lengths("alpha_of_steps", lengths, original=window), strict=True)
    )
    bases = {
        length: ntk_base(each.spec.base, alpha, each.spec.rotary_dim)
        for length, alpha in alphas.items()
    }
    listed = ", ".join(
        f"α = {alphas[step * window]:g} and base {bases[step * window]:.7g} up to {step * window}"
        for step in _STEPS
    )
    beyond = subject.target_length is not None and subject.target_length > window
    yield Diagnosis(
        code="PV214",
        severity="warn" if beyond else "info",
        message=(
            f"use_dynamic_ntk takes α = 2^⌈log2(ℓ/{window}) + 1⌉ - 1 and the base b·α^(d/(d-2)): "
            f"{listed} tokens. α jumps from 1 to 3 just past the window."
            + (
                f" At {subject.target_length} tokens the rotation is not the one shown here."
                if beyond
                else ""
            )
        ),
        fields=(subject.section.key("use_dynamic_ntk"),),
        values={
            **{f"alpha_at_{length}": alpha for length, alpha in alphas.items()},
            **{f"base_at_{length}": base for length, base in bases.items()},
        },
        layer_type=each.name,
    )


def _window(subject: Subject) -> int | None:
    """Qwen's own code measures in seq_length; max_position_embeddings may be longer."""
    candidates: tuple[Any, ...] = (subject.section.data.get("seq_length"), subject.model.window)
    for value in candidates:
        if is_finite_number(value) and not isinstance(value, bool) and 1 <= value <= _LONGEST:
            return int(value)
    return None
