"""Whether a model was trained with the extension that its configuration names.

Weights that were trained with a method need it at every length; one that was added afterwards
costs something at short inputs and is worth its factor only where the length is needed.
"""

from __future__ import annotations

from posviz.configs.checks.subject import Rotating, Subject

_TRAINED_TYPES = ("llama3", "longrope", "telechat3-yarn", "deepseek_yarn")
"""Rope types that exist only because a model was trained with them."""
_TRAINED_CLASSES = ("deepseek", "kimi", "gpt_oss", "olmo3", "gemma3", "hunyuan", "hy_")
"""Prefixes of model types that were released with their extension."""
_ADDED_CLASSES = ("qwen2", "qwen3", "smollm3", "glm4")
"""Prefixes of model types whose authors describe YaRN as an addition for long inputs."""


def trained_with(subject: Subject, each: Rotating) -> bool | None:
    """True where it was trained with its extension, False where it was added, None if unknown."""
    if _says_so(subject, each):
        return True
    if subject.model.model_type.startswith(_ADDED_CLASSES):
        return False
    return None


def _says_so(subject: Subject, each: Rotating) -> bool:
    written = each.given("rope_type") or each.given("type")
    if isinstance(written, str) and written in _TRAINED_TYPES:
        return True
    if each.given("finetuned") is True or each.given("mscale_all_dim"):
        return True
    if "factor" in subject.facts.rope_parameters:
        return True  # the class itself has an extension for its default
    path = subject.config.get("_name_or_path")
    if isinstance(path, str) and "yarn" in path.lower():
        return True
    return subject.model.model_type.startswith(_TRAINED_CLASSES)


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
