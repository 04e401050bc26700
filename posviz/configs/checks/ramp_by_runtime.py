"""Runtimes whose ramp is another one: who rounds its bounds, who takes another window."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import keys_given, of_runtime

ALWAYS_ROUND = ("llama_cpp", "ollama", "mlx", "vllm_old")
_ROUNDING = {
    "llama_cpp": "llama.cpp rounds all the same",
    "ollama": "Ollama rounds all the same",
    "mlx": "MLX rounds all the same",
    "vllm_old": "Older vLLM rounds in the releases that do not read truncate",
}
_MROPE_ENLARGEMENT = 4
"""vLLM enlarges the cache of an M-RoPE model by this, and works the ramp out with that length."""


def rounding(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV223, where the bounds are not rounded and that makes a difference."""
    rounded = each.spec.model_copy(update={"truncate": True})
    own, other = each.spec.frequencies(1), rounded.frequencies(1)
    difference = np.abs(other / own - 1)
    if not difference.max() > 0:
        return
    pair = int(np.argmax(difference))
    low, high = each.spec.bounds
    whole_low, whole_high = rounded.bounds
    texts = dict.fromkeys(ALWAYS_ROUND, f"always rounds: {whole_low:g} to {whole_high:g}.")
    told = {"transformers": "does not round.", "vllm": "does not round.", **texts}
    told["vllm_old"] = "rounds in some of its releases, which do not read truncate."
    who = _ROUNDING.get(subject.runtime or "", "llama.cpp and MLX round all the same")
    yield Diagnosis(
        code="PV223",
        severity="warn" if subject.runtime in ALWAYS_ROUND else "ok",
        message=(
            f"truncate is false, so the ramp runs from {low:.6g} to {high:.6g}, not rounded to "
            f"{whole_low:g} and {whole_high:g}. {who}: pair {pair} "
            f"then turns by {difference[pair]:.3g} (relative) "
            f"{'faster' if other[pair] > own[pair] else 'more slowly'} than the model's own "
            "frequencies."
        ),
        fields=keys_given(each, "truncate"),
        values={
            "ramp_low": low,
            "ramp_high": high,
            "ramp_if_truncated": [whole_low, whole_high],
            f"inv_freq[{pair}]": float(own[pair]),
            f"inv_freq[{pair}]_truncated": float(other[pair]),
            "largest_relative_difference": float(difference[pair]),
        },
        runtimes=of_runtime(subject, told),
        layer_type=each.name,
        panel="profiles",
        pairs=pairs_between(each, whole_low, whole_high),
    )


def lost_truncate(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV227: gpt-oss was trained with truncate false; a dict without the key rounds."""
    trained = subject.facts.rope_parameters.get("truncate", True)
    found = each.rope.section.find("truncate") if each.rope.section is not None else None
    if trained is not False or not each.spec.truncate or found is not None:
        return
    unrounded = each.spec.model_copy(update={"truncate": False})
    own, other = each.spec.frequencies(1), unrounded.frequencies(1)
    difference = np.abs(own / other - 1)
    pair = int(np.argmax(difference))
    (low, high), (real_low, real_high) = each.spec.bounds, unrounded.bounds
    patch = (subject.put(each.key("truncate"), False),)
    yield Diagnosis(
        code="PV227",
        severity="warn",
        message=(
            f"The dict has no truncate, so the ramp is rounded to {low:g} to {high:g}; the class "
            f"{subject.facts.name} is trained with truncate false, a ramp from {real_low:.6g} to "
            f"{real_high:.6g}. Pair {pair} differs by {difference[pair]:.3g} (relative). Write "
            "truncate false."
        ),
        fields=(each.key("truncate"),),
        values={
            "ramp_low": low,
            "ramp_high": high,
            "ramp_of_the_class": [real_low, real_high],
            "largest_relative_difference": float(difference[pair]),
        },
        patch=patch if holds(subject, patch, "warn") else (),
        layer_type=each.name,
        panel="divisors",
        pairs=pairs_between(each, low, high),
    )


def with_mrope(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV225: the ramp for four times the trained window."""
    original = each.spec.original_max_position_embeddings
    enlarged = each.spec.model_copy(
        update={"original_max_position_embeddings": _MROPE_ENLARGEMENT * original}
    )
    own, other = each.spec.frequencies(1), enlarged.frequencies(1)
    difference = np.abs(other / own - 1)
    (low, high), (far_low, far_high) = each.spec.bounds, enlarged.bounds
    yield Diagnosis(
        code="PV225",
        severity="warn" if subject.runtime == "vllm" else "info",
        message=(
            f"YaRN with mrope_section: vLLM works the ramp out with {_MROPE_ENLARGEMENT} × "
            f"{original} tokens, the length of its enlarged cache, so that it runs over pairs "
            f"{far_low:.5g} to {far_high:.5g} in place of {low:.5g} to {high:.5g}; frequencies "
            f"differ by up to {difference.max():.3g} (relative)."
        ),
        fields=keys_given(each, "mrope_section", "original_max_position_embeddings"),
        values={
            "ramp_low": low,
            "ramp_high": high,
            "ramp_in_vllm": [far_low, far_high],
            "largest_relative_difference": float(difference.max()),
        },
        runtimes={"vllm": f"ramp over pairs {far_low:.5g} to {far_high:.5g}."},
        layer_type=each.name,
        panel="divisors",
        pairs=pairs_between(each, low, far_high),
    )


def pairs_between(each: Rotating, low: float, high: float) -> tuple[int, int]:
    """The pairs of a band as a diagnosis names them, within the ladder."""
    last = each.spec.pairs - 1
    return min(int(low), last), min(math.ceil(high), last)
