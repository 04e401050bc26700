"""Which of LongRoPE's two lists applies: by length, by capacity, or always the long one."""

from __future__ import annotations

from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keys_given, of_runtime, window_key


def which_list(each: Rotating, subject: Subject) -> Diagnosis:
    """PV295: the switch, and who decides how."""
    spec, target = each.spec, subject.target_length
    original = spec.original_max_position_embeddings
    ratio = max(
        max(long / short, short / long)
        for short, long in zip(spec.short_factor, spec.long_factor, strict=True)
    )
    within = target is not None and target <= original
    told = f"The long list takes the place of the short one beyond {original} tokens"
    if target is not None:
        told = f"At {target} tokens the {'short' if within else 'long'} list is meant"
    return Diagnosis(
        code="PV295",
        severity=_severity(subject, within),
        message=(
            f"{told} (switch at original_max_position_embeddings = {original}); frequencies of one "
            f"pair differ by up to {ratio:.4g} times between them. Runtimes decide differently: "
            "transformers by the length of each call, SGLang by each forward pass, vLLM and "
            "llama.cpp once by capacity, MLX always takes the long one."
        ),
        fields=(*keys_given(each, "original_max_position_embeddings"), window_key(subject)),
        values={
            "original_max_position_embeddings": original,
            "largest_ratio": ratio,
            **_by_runtime(original, target),
        },
        runtimes=of_runtime(subject, _deciding(original)),
        layer_type=each.name,
        panel="divisors",
        pairs=(0, spec.pairs - 1),
    )


def _severity(subject: Subject, within: bool) -> Any:
    if subject.runtime == "mlx":
        return "info" if subject.target_length is not None and not within else "warn"
    if subject.runtime in ("vllm", "vllm_old", "llama_cpp"):
        return "info"
    return "info" if within and subject.runtime is None else "ok"


def _by_runtime(original: int, target: int | None) -> dict[str, str]:
    """The list of each runtime for this length, where its capacity is that length too."""
    if target is None:
        return {}
    own = "short" if target <= original else "long"
    return {f"list_in_{name}": own for name in ("transformers", "vllm", "sglang", "llama_cpp")} | {
        "list_in_mlx": "long"
    }


def _deciding(original: int) -> dict[str, str]:
    by_capacity = f"is above {original}, for short inputs too."
    return {
        "transformers": f"per call: the long list for every position once a position id reaches "
        f"{original}; keys cached before keep the short one.",
        "transformers_v4": "per call as in version 5 from 4.51 on, and in Phi-3's class before; "
        "other classes keep one list at every length before 4.51.",
        "vllm": f"once: the long list if --max-model-len (default {original}) {by_capacity}",
        "llama_cpp": f"once: the long list if the context size {by_capacity}",
        "vllm_old": f"once: the long list if --max-model-len {by_capacity}",
        "sglang": "per forward pass: the long list for every token of the batch once a position "
        f"is above {original}; keys cached before keep the short one.",
        "mlx": "always the long list.",
    }
