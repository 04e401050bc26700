"""Which optional packages are here, without importing them."""

from __future__ import annotations

from importlib.util import find_spec

_WITH_MODELS = "`make models` installs these packages and the models"
WAYS = {
    "torch": "`make run` without LITE=1 installs it (with pip: posviz[torch])",
    "transformers": _WITH_MODELS,
    "accelerate": _WITH_MODELS,
}


def is_installed(package: str) -> bool:
    """Whether a package can be imported; it is not imported."""
    return find_spec(package) is not None


def missing(*packages: str, what: str = "This") -> str:
    """One sentence on what is not installed here and how to get it; empty where all is there.

    ``what`` is the subject of the sentence: what needs them.
    """
    absent = [name for name in packages if not is_installed(name)]
    if not absent:
        return ""
    verb = "is" if len(absent) == 1 else "are"
    ways = [WAYS[name] for name in absent]
    # `make models` also brings torch, so one instruction is enough.
    way = _WITH_MODELS if _WITH_MODELS in ways else ways[0]
    return f"{what} needs {_listed(absent)}, which {verb} not installed here: {way}."


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
