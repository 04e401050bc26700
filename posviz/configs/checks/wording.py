"""Small parts of what a diagnosis says that several groups of checks share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.windows import read_window
from posviz.configs.writers.llama_cpp_slots import WHERE, slot_cap
from posviz.parameters import is_finite_number


def of_runtime(subject: Subject, told: Mapping[str, str]) -> dict[str, str]:
    """What the runtime that was asked about does; what all do where none was."""
    if subject.runtime is None:
        return dict(told)
    return {name: text for name, text in told.items() if name == subject.runtime}


def keys_given(each: Rotating, *names: str) -> tuple[str, ...]:
    """The dotted keys of those entries of the dict that the file has and that are not null."""
    if each.rope.section is None or each.rope.section.path.startswith("default of the model class"):
        return ()
    return tuple(each.key(name) for name in names if each.given(name) is not None)


def window_key(subject: Subject) -> str:
    """The dotted key of the window, under the name that the file has for it."""
    name = subject.facts.name  # of the class itself only the name counts, not its defaults
    found = read_window(subject.section, ModelClass(name=name), Findings())
    return subject.section.key("max_position_embeddings") if found is None else found.key


def limits(subject: Subject, target: int, vllm: int | None = None) -> dict[str, str]:
    """What runtimes do with a length beyond the window; ``vllm`` is its limit if it multiplies."""
    window = subject.model.window
    multiplied = "" if vllm is None else " (it multiplies the window by the factor)"
    told = {
        "transformers": f"runs {target} tokens: generate() logs one reminder, a plain call of "
        "the model nothing.",
        "vllm": f"refuses a --max-model-len above {vllm or window}{multiplied} unless "
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN is set.",
        "sglang": f"refuses a --context-length above {_sglang_limit(subject)} unless "
        "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN is set.",
        "llama_cpp": f"warns of an overflow; {slot_cap(window, 'its')}.",
        "ollama": f"cuts num_ctx to {window} tokens, {WHERE}.",
    }
    if vllm is not None:
        told["llama_cpp"] = f"{slot_cap(who='its')}."
        told["ollama"] = f"cuts num_ctx to {WHERE}."
    return of_runtime(subject, told)


def pairs(count: int) -> str:
    """``1 pair is``, ``2 pairs are``."""
    return "1 pair is" if count == 1 else f"{count} pairs are"


def keeps_few(kept: int, total: int) -> bool:
    """Whether the band of kept pairs is far smaller than in any released model.

    Published bounds keep a fifth of the pairs or more: 8 of 32 in gpt-oss, 29 of 64 in Llama 3.1.
    """
    return kept < total / 8


_LARGEST_FACTOR = 1e6
"""The largest factor that an encoding takes; a stray key may hold anything."""


def _sglang_limit(subject: Subject) -> int | None:
    """The window, times the factor of a dict without an original length that is not llama3.

    transformers, which loads the file for it, fills that length in for some types.
    """
    window, main = subject.model.window, subject.main
    if window is None or main is None or main.rope.section is None or main.rope.per_layer:
        return window
    data = main.rope.section.data
    factor = data.get("factor", 1)
    filled = main.spec.id in ("llama3", "ntk_by_parts", "yarn", "longrope")
    kept = filled or "original_max_position_embeddings" in data
    usable = is_finite_number(factor) and 1 <= factor <= _LARGEST_FACTOR
    return int(factor * window) if usable and not kept else window


def listed(items: Iterable[object]) -> str:
    """``a, b and c``."""
    texts = [str(item) for item in items]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)
