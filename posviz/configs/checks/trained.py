"""Whether a model was trained with the extension that its configuration names.

Weights that were trained with a method need it at every length; one that was added afterwards
costs something at short inputs and is worth its factor only where the length is needed.
"""

from __future__ import annotations

from posviz.configs.checks.subject import Rotating, Subject

_TRAINED_TYPES = ("llama3", "longrope", "telechat3-yarn", "deepseek_yarn")
"""Rope types that exist only because a model was trained with them."""
_TRAINED_CLASSES: tuple[tuple[str, str, float | None, int | None], ...] = (
    # prefix of the model type, encoding, factor and original window where they are always the same
    ("deepseek", "yarn", None, None),
    ("kimi", "yarn", None, None),
    ("gpt_oss", "yarn", 32, 4096),
    ("olmo3", "yarn", 8, 8192),
    ("gemma3", "linear", 8, None),
    ("ministral3", "yarn", None, None),
    ("mistral4", "yarn", None, None),
)
"""Models that were released with their extension: that one, and not any that a file may name."""
_ADDED_CLASSES = ("qwen2", "qwen3", "smollm3", "glm4")
"""Prefixes of model types whose authors describe YaRN as an addition for long inputs."""


def trained_with(subject: Subject, each: Rotating) -> bool | None:
    """True where it was trained with its extension, False where it was added, None if unknown."""
    if _says_so(subject, each) or _released_so(subject, each):
        return True
    if subject.model.model_type.startswith(_ADDED_CLASSES):
        return False
    return True if _is_named_after_it(subject, each) else None


def _says_so(subject: Subject, each: Rotating) -> bool:
    written = each.given("rope_type") or each.given("type")
    if isinstance(written, str) and written in _TRAINED_TYPES:
        return True
    if each.given("finetuned") is True or each.given("mscale_all_dim"):
        return True
    default = subject.facts.rope_parameters  # the class itself may have an extension
    return bool(default.get("factor") == each.spec.scaling_factor)


def _released_so(subject: Subject, each: Rotating) -> bool:
    spec = each.spec
    original = getattr(spec, "original_max_position_embeddings", None)
    return any(
        subject.model.model_type.startswith(prefix)
        and spec.id == encoding
        and factor in (None, spec.scaling_factor)
        and window in (None, original)
        for prefix, encoding, factor, window in _TRAINED_CLASSES
    )


def _is_named_after_it(subject: Subject, each: Rotating) -> bool:
    """Yarn-Llama-2-7b-128k and its kin; a name that ends so may be any copy with YaRN put in."""
    path = subject.config.get("_name_or_path")
    if not isinstance(path, str) or each.spec.id != "yarn":
        return False
    return path.rstrip("/").rpartition("/")[2].casefold().startswith("yarn-")


def reason(subject: Subject, trained: bool | None) -> str:
    """The sentence about it, with what follows."""
    name = f" ({subject.model.model_type})" if subject.model.model_type else ""
    if trained:
        return f"The model{name} was trained with this extension, so keep it at every length."
    if trained is False:
        return f"The model{name} was trained without it, so it may be changed freely."
    return (
        "Whether the model was trained with it is not known from the file: if it was, keep it as "
        "it is; if it was added afterwards, change it."
    )
