"""Small parts of what a diagnosis says that several groups of checks share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.windows import read_window


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
    found = read_window(subject.section, ModelClass(), Findings())
    return subject.section.key("max_position_embeddings") if found is None else found.key


def limits(subject: Subject, target: int, vllm: int | None = None) -> dict[str, str]:
    """What runtimes do with a length beyond the window; ``vllm`` is its limit if it multiplies."""
    window = subject.model.window
    multiplied = "" if vllm is None else " (it multiplies the window by the factor)"
    told = {
        "transformers": f"runs {target} tokens without a word.",
        "vllm": f"refuses a --max-model-len above {vllm or window}{multiplied} unless "
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN is set.",
        "sglang": f"refuses a --context-length above {window} unless "
        "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN is set.",
        "llama_cpp": f"warns of an overflow; its server caps each slot at {window} tokens, the "
        "context length in the GGUF file.",
    }
    if vllm is not None:
        del told["sglang"]  # whether it multiplies was not looked at
        told["llama_cpp"] = "its server caps each slot at the context length in the GGUF file."
    return of_runtime(subject, told)


def whole(value: float) -> float | int:
    """A whole number as an int, so that texts and JSON show 131072 and not 131072.0."""
    return int(value) if float(value).is_integer() else value


def listed(items: Iterable[object]) -> str:
    """``a, b and c``."""
    texts = [str(item) for item in items]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)
