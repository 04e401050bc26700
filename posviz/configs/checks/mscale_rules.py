"""mscale and mscale_all_dim under the rule of each runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keys_given, of_runtime

_RULES: Mapping[str, str] = {
    "transformers": "transformers",
    "vllm": "transformers",
    "mlx": "deepseek_yarn",
    "llama_cpp": "llama.cpp",
}
"""Rule by runtime; vLLM's DeepSeek classes take deepseek_yarn."""
_HEEDS_NONE = ("sglang", "vllm_old")
"""Runtimes whose yarn reads mscale in the DeepSeek classes only."""
_SAME = 1e-6


def gains_by_runtime(each: Rotating, subject: Subject) -> dict[str, tuple[float, float]]:
    """Factor on cos and sin, and what logits of rotated dimensions change by, in each runtime."""
    rules = dict(_RULES)
    latent = _is_latent(each, subject)
    if latent:
        rules["vllm"] = "deepseek_yarn"
    found = {name: _numbers(each.spec, rule) for name, rule in rules.items()}
    if not latent:
        plain = each.spec.model_copy(update={"mscale": None, "mscale_all_dim": None})
        found |= dict.fromkeys(_HEEDS_NONE, _numbers(plain, "transformers"))
    return found


def _numbers(spec: Any, rule: str) -> tuple[float, float]:
    changed = spec.model_copy(update={"mscale_rule": rule})
    magnitude = float(changed.magnitude(1))
    return magnitude, magnitude**2 * float(changed.softmax_magnitude(1))


def mscale_numbers(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV233: the numbers, where mscale or mscale_all_dim is given."""
    if not each.spec.mscale and not each.spec.mscale_all_dim:
        return
    found = gains_by_runtime(each, subject)
    own = subject.runtime if subject.runtime in found else "transformers"
    magnitude, gain = found[own]
    reference = found["transformers"][0]
    differ = any(abs(each_one[0] / reference - 1) > _SAME for each_one in found.values())
    yield Diagnosis(
        code="PV233",
        severity=_severity(each, subject, differ),
        message=_text(each, magnitude, gain, differ, found),
        fields=keys_given(each, "mscale", "mscale_all_dim", "factor"),
        values={
            "attention_factor": magnitude,
            "logit_gain": gain,
            **{f"attention_factor_{name}": pair[0] for name, pair in found.items()},
        },
        runtimes=of_runtime(
            subject,
            {name: f"cos and sin × {pair[0]:.6g}." for name, pair in found.items()}
            if differ
            else {},
        ),
        layer_type=each.name,
        panel="profiles" if differ else "score_decay",
    )


def _severity(each: Rotating, subject: Subject, differ: bool) -> Any:
    if not differ:
        return "ok"
    # One of the two alone is not the recipe of any model that was released with them.
    lone = not (each.spec.mscale and each.spec.mscale_all_dim)
    return "warn" if lone or subject.runtime not in (None, "transformers") else "info"


def _text(
    each: Rotating,
    magnitude: float,
    gain: float,
    differ: bool,
    found: Mapping[str, tuple[float, float]],
) -> str:
    given = ", ".join(
        f"{key} {value:g}"
        for key in ("mscale", "mscale_all_dim")
        if (value := getattr(each.spec, key)) is not None
    )
    told = f"{given}: cos and sin are multiplied by {magnitude:.6g}"
    if each.spec.softmax_correction:
        told += ", and the softmax scale carries the rest"
    told += f"; logits of rotated dimensions change by {gain:.6g} in all."
    if differ:
        listed = ", ".join(f"{name} {pair[0]:.6g}" for name, pair in found.items())
        told += f" Runtimes differ in the factor on cos and sin: {listed}."
    return told


def _is_latent(each: Rotating, subject: Subject) -> bool:
    return subject.facts.softmax_correction or (
        not subject.facts.known and subject.section.given("qk_nope_head_dim") is not None
    )
