"""Runtimes in which dynamic NTK does nothing, and what extends the rotation there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.rope_patches import with_yarn
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keys_given, listed, window_key
from posviz.configs.writers import TITLES
from posviz.encodings.extension import ntk_base, yarn_magnitude
from posviz.parameters import number_text

IGNORED_BY: Mapping[str, str] = {
    "vllm": "works the base out once, at the trained length, where it does nothing",
    "llama_cpp": "has no dynamic NTK at run time, and conversion does not write it",
    "ollama": "has no dynamic NTK at run time, as llama.cpp has none",
}


def does_nothing(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV211: for the runtime that was asked about; for all of them at a length that needs it."""
    window, target = each.spec.original_max_position_embeddings, subject.target_length
    runtimes = [name for name in IGNORED_BY if subject.concerns(name) and _ignores(name, each)]
    asked = subject.runtime is not None
    if not runtimes or (target is None and not asked) or (target is not None and target <= window):
        return
    factor = (target or each.spec.scaling_factor * window) / window
    base = ntk_base(each.spec.base, max(factor, 1.0), each.spec.rotary_dim)
    yield Diagnosis(
        code="PV211",
        severity="warn",
        message=f"{_fact(each, subject, runtimes)} {_ways(subject, factor, base)}",
        fields=(*keys_given(each, "rope_type", "type", "factor"), window_key(subject)),
        values={
            "base": each.spec.base,
            "static_base": base,
            "factor": each.spec.scaling_factor,
            "recommended_factor": factor,
            "ignored_by": list(runtimes),
        },
        layer_type=each.name,
        panel="turns",  # its line of unscaled RoPE is what such a runtime computes
        patch=with_yarn(subject, each, factor, window, target) if target and asked else (),
    )


def _ignores(runtime: str, each: Rotating) -> bool:
    """vLLM with max_trained_positions has a trained length to compare with."""
    return runtime != "vllm" or each.given("max_trained_positions") is None


def _fact(each: Rotating, subject: Subject, runtimes: list[str]) -> str:
    window, target = each.spec.original_max_position_embeddings, subject.target_length
    if subject.runtime is None:
        return (
            f"{target} tokens are wanted, but dynamic does nothing in "
            f"{listed(TITLES[name] for name in runtimes)}: there the model runs on unscaled "
            f"positions beyond {window} tokens. Runtimes that follow the length are not concerned."
        )
    (runtime,) = runtimes
    nominal = number_text(each.spec.scaling_factor * window)
    still = (
        f"It admits {nominal} tokens all the same, but beyond" if runtime == "vllm" else "Beyond"
    )
    return (
        f"In {TITLES[runtime]} nothing is scaled: it {IGNORED_BY[runtime]}. {still} {window} "
        "tokens the model runs on unscaled positions."
    )


def _ways(subject: Subject, factor: float, base: float) -> str:
    ways = (
        f"YaRN with factor {factor:.6g} (scores × {yarn_magnitude(max(factor, 1.0)) ** 2:.4g}) or "
        f"a static base of {base:.7g} (NTK-aware) extends it there, at every length."
    )
    if factor <= 1:  # with factor 1 and no wanted length there is nothing to work it out from
        return "Name the length that is wanted to be offered YaRN for it as a change."
    if subject.runtime is None:
        return f"{ways} Ask about that runtime to be offered YaRN as a change."
    if subject.target_length is None:
        return f"{ways} Name the length that is wanted to be offered YaRN for it as a change."
    return f"{ways} Neither is sure without a test."
