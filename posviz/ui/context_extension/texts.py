"""Settings out and the call that reproduces the picture, as texts of the board."""

from __future__ import annotations

import functools
from typing import Any

from posviz import configs
from posviz.catalog import link as link_of
from posviz.catalog import parse
from posviz.configs.writers import TITLES
from posviz.ui.context_extension.address import model_of
from posviz.ui.context_extension.view import View


def texts(view: View) -> list[dict[str, Any]]:
    """Settings for every runtime for every method, then the Python call."""
    blocks = []
    for slot, spec in view.specs().items():
        for runtime in TITLES:
            blocks.append(
                {
                    "id": f"{slot}.{runtime}",
                    "group": f"Settings out: {slot.upper()} · {spec.title}",
                    **_settings(view, slot, runtime),
                }
            )
    blocks.append(
        {
            "id": "code",
            "group": "Code",
            "title": "Python",
            "text": python_code(view),
            "notes": [],
            "language": "python",
        }
    )
    return blocks


def _settings(view: View, slot: str, runtime: str) -> dict[str, Any]:
    return _exported(
        view.source, view.layer_type, link_of(view.spec(slot)), runtime, view.target_length
    )


@functools.lru_cache(maxsize=512)
def _exported(
    source: str, layer_type: str, link: str, runtime: str, target_length: int
) -> dict[str, Any]:
    tuned = model_of(source).with_spec(parse(link), layer_type)
    try:
        settings = configs.export(tuned, runtime, target_length=target_length)
    except (configs.ExportError, configs.ConfigError) as refusal:
        return {"title": TITLES[runtime], "text": "", "notes": [str(refusal)], "language": "text"}
    return {
        "title": TITLES[runtime],
        "text": settings.text,
        "notes": list(settings.notes),
        "language": "json",
    }


def python_code(view: View) -> str:
    """The call that gives the numbers of the picture."""
    length = view.target_length
    lines = ["import posviz", ""]
    for slot, spec in view.specs().items():
        lines.append(f'{slot} = posviz.parse("{link_of(spec)}")')
    first = next(iter(view.methods), None)
    if first is not None:
        lines += [
            f"rotation = {first}.encode([0, 1, 2], length={length})",
            "print(rotation.inv_freq, rotation.attention_factor, rotation.wavelengths)",
            f"print(posviz.measures.score_decay({first}, length={length}).scores)",
        ]
    return "\n".join(lines)
