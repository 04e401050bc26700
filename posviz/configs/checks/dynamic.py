"""Bases that follow the length: what each runtime makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.dynamic_ignored import IGNORED_BY, does_nothing
from posviz.configs.checks.stepwise_ntk import stepwise
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keys_given, of_runtime, window_key
from posviz.configs.numbers import whole
from posviz.encodings.extension import ntk_base
from posviz.parameters import number_text

CODES: Mapping[str, str] = {
    "PV210": "Dynamic NTK: the base at the trained length, at twice it and at the wanted one.",
    "PV211": "Dynamic NTK does nothing in some runtimes, where the wanted length needs it.",
    "PV212": "dynamic with factor 1 still follows the length.",
    "PV213": "A fixed alpha: one larger base at every length.",
    "PV214": "use_dynamic_ntk: the base in steps, as alpha = 3, 7, 15, ….",
}
_FOLLOW = {
    "transformers": "per call, but the base that a long call raised stays until a call shorter "
    "than the trained length.",
    "mlx": "per call, and without memory.",
    "vllm_old": "once, not per call.",
    "sglang": "once, not per call.",
}


def find(subject: Subject) -> Iterator[Diagnosis]:
    """Every layer type whose base follows the length or a fixed alpha."""
    for each in subject.rotating:
        if each.spec.id == "dynamic_ntk":
            yield _bases(each, subject)
            yield from does_nothing(each, subject)
            if each.spec.scaling_factor == 1:
                yield _factor_one(each, subject)
        elif each.spec.id == "ntk_aware" and each.given("alpha") is not None:
            yield _fixed(each, subject)
    if subject.main is not None:
        yield from stepwise(subject.main, subject)


def base_at(spec: Any, length: int) -> float:
    """The base that holds for a call of this length."""
    return ntk_base(spec.base, spec.factor_at(length), spec.rotary_dim)


def _bases(each: Rotating, subject: Subject) -> Diagnosis:
    spec = each.spec
    window, target = spec.original_max_position_embeddings, subject.target_length
    lengths = sorted({window, 2 * window, *([] if target is None else [target])})
    bases = {length: base_at(spec, length) for length in lengths}
    ratio = ntk_base(spec.base, 2.0, spec.rotary_dim)
    listed = ", ".join(f"{base:.7g} at {length}" for length, base in bases.items())
    within = target is not None and target <= window
    return Diagnosis(
        code="PV210",
        severity="info",
        message=(
            f"dynamic raises the base with the length ℓ by α = s·ℓ/L - (s - 1), s = "
            f"{number_text(spec.scaling_factor)}, L = {window}: {listed}. The published rule, "
            f"α = ℓ/L, gives {ratio:.7g} at {2 * window}."
            + (f" At {target} tokens nothing changes." if within else "")
            + " Keys that were cached before the base rose keep the old one. "
            + _limits(each, subject)
        ),
        fields=(*keys_given(each, "factor"), window_key(subject)),
        values={
            "nominal_extended_context": whole(spec.scaling_factor * window),
            **{f"base_at_{length}": base for length, base in bases.items()},
            "base_at_twice_published": ratio,
        },
        runtimes=of_runtime(
            subject, {**_FOLLOW, **{name: f"{text}." for name, text in IGNORED_BY.items()}}
        ),
        layer_type=each.name,
        panel="wavelengths",
    )


def _limits(each: Rotating, subject: Subject) -> str:
    """How far it goes, which the file leaves to the engine."""
    window = each.spec.original_max_position_embeddings
    nominal = number_text(each.spec.scaling_factor * window)
    known = {
        "transformers": "transformers has none",
        "vllm": f"vLLM admits {nominal} tokens (max_position_embeddings × factor)",
    }
    told = ", ".join(of_runtime(subject, known).values())
    return (
        f"The nominal extended context is {nominal} tokens, and which limit holds depends on the "
        f"engine{': ' + told if told else ''}."
    )


def _factor_one(each: Rotating, subject: Subject) -> Diagnosis:
    window = each.spec.original_max_position_embeddings
    return Diagnosis(
        code="PV212",
        severity="ok",
        message=(
            f"factor 1 does not switch dynamic off: α = ℓ/L beyond {window} tokens, which is the "
            "published rule. Within them nothing changes."
        ),
        fields=keys_given(each, "factor"),
        values={f"base_at_{2 * window}": base_at(each.spec, 2 * window)},
        runtimes=of_runtime(
            subject, {"vllm": f"allows {window} tokens, since the window is multiplied by 1."}
        ),
        layer_type=each.name,
    )


def _fixed(each: Rotating, subject: Subject) -> Diagnosis:
    spec = each.spec
    base = ntk_base(spec.base, spec.scaling_factor, spec.rotary_dim)
    exponent = f"{spec.rotary_dim}/{spec.rotary_dim - 2}" if spec.rotary_dim > 2 else "0"
    target, window = subject.target_length, subject.model.window
    beyond = target is not None and window is not None and target > window
    return Diagnosis(
        code="PV213",
        severity="warn" if beyond else "ok",
        message=(
            f"alpha {number_text(spec.scaling_factor)} is a fixed larger base: {spec.base:.7g} × "
            f"{number_text(spec.scaling_factor)}^({exponent}) = {base:.7g}, at every length. It is "
            "no ratio of lengths, and factor is not read beside it."
            + (
                f" {target} tokens lie beyond max_position_embeddings = {window}; how far this "
                "base carries is not in the file."
                if beyond
                else ""
            )
        ),
        fields=keys_given(each, "alpha", "factor"),
        values={"alpha": spec.scaling_factor, "effective_base": base},
        layer_type=each.name,
        panel="wavelengths",
    )
