"""Which optional packages are here, without importing them."""

from __future__ import annotations

from importlib.util import find_spec

_WITH_MODELS = "`make models` installs it, with the models that it reads"
WAYS = {
    "torch": "`make run` without LITE=1 installs it (with pip: posviz[torch])",
    "transformers": _WITH_MODELS,
    "accelerate": _WITH_MODELS,
}


def is_installed(package: str) -> bool:
    """Whether a package can be imported; it is not imported."""
    return find_spec(package) is not None


def missing(*packages: str) -> str:
    """One sentence on what is not installed here and how to get it; empty where all is there."""
    absent = [name for name in packages if not is_installed(name)]
    if not absent:
        return ""
    verb = "is" if len(absent) == 1 else "are"
    ways = "; ".join(dict.fromkeys(WAYS[name] for name in absent))
    return f"This needs {' and '.join(absent)}, which {verb} not installed here: {ways}."
