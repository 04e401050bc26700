"""mscale and mscale_all_dim under the rule of each runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis, Operation
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import keys_given, of_runtime
from posviz.configs.writers.llama_cpp_yarn import ARCHITECTURES, multiplier_in_file

_RULES: Mapping[str, str] = {
    "transformers": "transformers",
    "vllm": "transformers",
    "mlx": "deepseek_yarn",
}
"""Rule by runtime; vLLM's DeepSeek classes take deepseek_yarn."""
_HEEDS_NONE = "vllm_old"
"""The runtime whose yarn reads mscale in the DeepSeek classes only."""
_WANTS_BOTH = "sglang"
"""The runtime whose yarn takes the ratio where both stand, 0 included, and no lone one."""
_ALIKE = {"transformers_v4": "transformers", "ollama": "llama_cpp"}
_OF_THE_FILE = (
    "takes mscale_all_dim from yarn_log_multiplier in the GGUF file, which conversion writes for "
    "some architectures only."
)
_SAME = 1e-6
_REVERSED = ("mscale_all_dim", "mscale")


def gains_by_runtime(each: Rotating, subject: Subject) -> dict[str, tuple[float, float]]:
    """Factor on cos and sin, and what logits of rotated dimensions change by, in each runtime.

    llama.cpp is left out where it is not known whether a converted file holds mscale_all_dim.
    """
    rules = dict(_RULES)
    latent = _is_latent(each, subject)
    if latent:
        rules["vllm"] = "deepseek_yarn"
    found = {name: _numbers(each.spec, rule) for name, rule in rules.items()}
    plain = _numbers(
        each.spec.model_copy(update={"mscale": None, "mscale_all_dim": None}), "transformers"
    )
    if not latent:
        found[_HEEDS_NONE] = plain
        both = None not in (each.spec.mscale, each.spec.mscale_all_dim)
        if not both:
            found[_WANTS_BOTH] = plain
        elif each.given("mrope_section") is None:  # with the sections it stops at mscale
            found[_WANTS_BOTH] = _numbers(each.spec, "deepseek_yarn")
    model_type = subject.model.model_type
    if subject.gguf is not None:
        found["llama_cpp"] = found["transformers"]  # read off the file as llama.cpp reads it
    elif latent:
        found["llama_cpp"] = _numbers(each.spec, "llama.cpp")
    elif multiplier_in_file(subject.section.data, model_type):
        # mscale is not read; only the code of DeepSeek's architecture makes up for that.
        unread = each.spec.model_copy(update={"mscale": 1.0})
        found["llama_cpp"] = _numbers(unread, "deepseek_yarn")
    elif model_type in ARCHITECTURES:
        found["llama_cpp"] = plain
    return found


def _numbers(spec: Any, rule: str) -> tuple[float, float]:
    changed = spec.model_copy(update={"mscale_rule": rule})
    magnitude = float(changed.magnitude(1))
    return magnitude, magnitude**2 * float(changed.softmax_magnitude(1))


def tells_of_mscale(each: Rotating) -> bool:
    """Whether PV233 has something to say of this layer type."""
    spec = each.spec
    given = spec.id == "yarn" and spec.scaling_factor != 1 and (spec.mscale or spec.mscale_all_dim)
    own_factor = spec.id == "yarn" and spec.attention_factor is not None
    return bool(given) and not (own_factor and each.given("attention_factor") is not None)


def mscale_numbers(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV233: the numbers, where mscale or mscale_all_dim is given."""
    if not tells_of_mscale(each):
        return
    found = gains_by_runtime(each, subject)
    own = _ALIKE.get(subject.runtime or "", subject.runtime) or "transformers"
    asked = own if own in found else "transformers"
    differ = tuple(_others(found, None if subject.runtime is None else own))
    told = {name: f"cos and sin × {pair[0]:.6g}." for name, pair in found.items() if differ}
    if "llama_cpp" not in found and each.spec.mscale_all_dim:
        told["llama_cpp"] = _OF_THE_FILE
    magnitude, gain = found[asked]
    yield Diagnosis(
        code="PV233",
        severity=_severity(each, subject, differ),
        message=_text(each, subject, (magnitude, gain), asked, found, differ),
        fields=keys_given(each, "mscale", "mscale_all_dim", "factor"),
        values={
            "attention_factor": magnitude,
            "logit_gain": gain,
            **{f"attention_factor_{name}": pair[0] for name, pair in found.items()},
        },
        runtimes=of_runtime(subject, told),
        layer_type=each.name,
        panel="" if differ else "score_decay",  # the plots have the numbers of one runtime only
        patch=_without_lone(each, subject) if differ else (),
    )


def _is_lone(each: Rotating) -> bool:
    return not (each.spec.mscale and each.spec.mscale_all_dim)


def _without_lone(each: Rotating, subject: Subject) -> tuple[Operation, ...]:
    """Without it every runtime does what transformers does with it."""
    if not _is_lone(each) or _is_latent(each, subject):
        return ()
    drop = subject.drop(each.key("mscale" if each.spec.mscale else "mscale_all_dim"))
    return drop if holds(subject, drop, "warn") else ()


def _others(found: Mapping[str, tuple[float, float]], asked: str | None) -> Iterator[str]:
    """Who has another number than transformers: of all, or of the one that was asked about."""
    reference = found["transformers"][0]
    for name, (magnitude, _) in found.items():
        if asked in (None, name) and abs(magnitude / reference - 1) > _SAME:
            yield name


def _severity(each: Rotating, subject: Subject, differ: tuple[str, ...]) -> Any:
    if not differ:
        return "ok"
    # One of the two alone is not the recipe of any model that was released with them.
    return "warn" if _is_lone(each) or subject.runtime is not None else "info"


def _text(
    each: Rotating,
    subject: Subject,
    numbers: tuple[float, float],
    asked: str,
    found: Mapping[str, tuple[float, float]],
    differ: tuple[str, ...],
) -> str:
    given = ", ".join(
        f"{key} {value:g}"
        for key in ("mscale", "mscale_all_dim")
        if (value := getattr(each.spec, key)) is not None
    )
    magnitude, gain = numbers
    told = f"{given}: cos and sin are multiplied by {magnitude:.6g}"
    if each.spec.softmax_correction:
        told += ", and the softmax scale carries the rest"
    told += f"; logits of rotated dimensions change by {gain:.6g} in all."
    if asked in differ:
        told += f" That is {asked}; transformers multiplies them by {found['transformers'][0]:.6g}."
    elif differ:
        factors = [pair[0] for pair in found.values()]
        told += (
            f" Runtimes differ in the factor on cos and sin, from {min(factors):.6g} to "
            f"{max(factors):.6g}."
        )
    return told if not differ or _is_latent(each, subject) else told + _who_reads(each)


def _who_reads(each: Rotating) -> str:
    """Outside latent attention, where runtimes go different ways."""
    if _is_lone(each):
        lone, other = ("mscale", "mscale_all_dim") if each.spec.mscale else _REVERSED
        return (
            f" {lone} without {other} is ignored by transformers and by vLLM's yarn; vLLM's "
            "deepseek_yarn and MLX count it."
        )
    return (
        " These keys are made for latent attention: outside latent attention transformers and vLLM "
        "take the ratio of the two magnitudes, older vLLM reads neither and llama.cpp no mscale."
    )


def _is_latent(each: Rotating, subject: Subject) -> bool:
    return subject.facts.softmax_correction or (
        not subject.facts.known and subject.section.given("qk_nope_head_dim") is not None
    )
