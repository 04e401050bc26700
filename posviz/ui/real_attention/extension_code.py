"""Python that measures the methods again, to take away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.ui.real_attention import extension_plan, extension_text
from posviz.ui.real_attention.wish import Wish

_PASSAGE = f'files("posviz.lab") / "passages" / "{extension_text.PASSAGE}"'


def losses(wish: Wish) -> str:
    """The run of the loss curves."""
    given = extension_plan.loss_arguments(wish)
    return _call("measure_all", given, "print(one.title, one.within, one.beyond, one.mean)")


def passkeys(wish: Wish) -> str:
    """The run of the pass keys."""
    given = extension_plan.passkey_arguments(wish)
    return _call("grid_all", given, "print(one.title, one.lengths, one.depths, one.exact)")


def _call(function: str, given: Mapping[str, Any], line: str) -> str:
    values = "".join(f"    {name}={value!r},\n" for name, value in given.items() if name != "text")
    held = extension_text.own()
    if held is None:
        read, path = "from importlib.resources import files", _PASSAGE
    else:
        read, path = "from pathlib import Path", f"Path({held.name!r})"
    return (
        f"{read}\n\n"
        f"from posviz.lab.extension.several import {function}\n\n"
        f"path = {path}\n"
        f"found, problems = {function}(\n"
        "    lambda progress: None,\n"
        f'{values}    text=path.read_text(encoding="utf-8"),\n'
        ")\n"
        "for one in found:\n"
        f"    {line}\n"
    )
