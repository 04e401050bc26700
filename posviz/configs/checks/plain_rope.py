"""A length beyond the window of a model that has no extension: what there is, and at what price."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.rope_patches import with_yarn
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import limits, window_key
from posviz.encodings.extension import ntk_base, yarn_magnitude

_WITH_ROOM_FOR_PROMPTS = {"qwen3": (40960, 32768), "qwen3_moe": (40960, 32768)}
"""max_position_embeddings and trained window; Qwen3's documentation: 32768 tokens for the output
and 8192 for the prompt, and YaRN with factor 2 for 65536 tokens."""


def beyond_window(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV204, for the rope types that extend nothing."""
    target, window = subject.target_length, subject.model.window
    plain = each.spec.id in ("rope", "p_rope")
    if subject.section.data.get("use_dynamic_ntk") is True:
        return  # the model's own code raises the base beyond its window
    if each.spec.id == "p_rope" and window is not None:
        window = int(window * each.spec.scaling_factor)  # its factor divides every frequency
    if plain and target is not None and window is not None and target > window:
        yield _diagnosis(each, subject, target, window)


def trained_window(subject: Subject, window: int) -> int:
    """What the model was trained at, where its authors say that the window is more than that."""
    served = _WITH_ROOM_FOR_PROMPTS.get(subject.facts.name)
    return served[1] if served is not None and served[0] == window else window


def _about(subject: Subject, window: int, trained: int) -> str:
    if trained != window:
        return (
            f" Of the {window}, {window - trained} are room for the prompt; {subject.facts.name}'s "
            f"own YaRN settings take {trained} as the original window."
        )
    return f" The ways take {window} as the trained window."


def _diagnosis(each: Rotating, subject: Subject, target: int, window: int) -> Diagnosis:
    trained, named = trained_window(subject, window), window_key(subject).rpartition(".")[2]
    values = _values(each.spec, target, trained) | {"max_position_embeddings": window}
    factor = f"{values['recommended_factor']:.6g}"
    local = not subject.facts.full_layers_rotate
    ways = (
        f"Ways to go on: YaRN with factor {factor} (scores × {values['score_gain']:.4g} at every "
        f"length), NTK-aware base {values['ntk_base']:.6g}, linear with factor {factor} and "
        "fine-tuning; dynamic NTK where the runtime has it. None is sure without a test."
    )
    if local:
        ways = (
            "Only its sliding layers rotate, and they never see a distance beyond their window: "
            "what happens at that length is a matter of the layers without rotation."
        )
    return Diagnosis(
        code="PV204",
        severity="warn",
        message=(
            f"{target} tokens are wanted, but {named} is {window} and no extension "
            f"is configured: {values['unfinished_pairs']} of {each.spec.pairs} pairs do not "
            f"complete a turn within {trained} tokens and would reach angles that training never "
            f"showed.{'' if local else _about(subject, window, trained)} {ways}"
        ),
        fields=(window_key(subject),),
        values=values,
        runtimes=limits(subject, target),
        layer_type=each.name,
        panel="turns",
        pairs=_unfinished(each.spec, values["unfinished_pairs"]),
        patch=() if local else _patch(each, subject, target, trained),
    )


def _patch(each: Rotating, subject: Subject, target: int, trained: int) -> Any:
    proportional = each.spec.id == "p_rope" or getattr(each.spec, "is_proportional", False)
    one_dict_for_both = subject.facts.name.startswith("modernbert")
    if proportional or one_dict_for_both or each.layer.name.startswith("sliding"):
        return ()
    return with_yarn(subject, each, target / trained, trained, target)


def _values(spec: Any, target: int, trained: int) -> dict[str, Any]:
    factor = target / trained
    frequencies = spec.trained_frequencies()
    unfinished = int(np.count_nonzero(trained * frequencies < math.tau))
    return {
        "target_length": target,
        "trained_window": trained,
        "recommended_factor": factor,
        "ntk_base": ntk_base(spec.base, factor, spec.rotary_dim),
        "attention_factor": yarn_magnitude(factor),
        "score_gain": yarn_magnitude(factor) ** 2,
        "unfinished_pairs": unfinished,
    }


def _unfinished(spec: Any, count: int) -> tuple[int, int] | None:
    return (spec.pairs - count, spec.pairs - 1) if count else None
