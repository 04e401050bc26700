"""The answer to a moving control: a pure function of the question, without a session."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from posviz.parameters import ParameterError
from posviz.ui.context_extension.address import model_of, write_address
from posviz.ui.context_extension.board import picture, refusal
from posviz.ui.context_extension.groups import autos
from posviz.ui.context_extension.panels import scene
from posviz.ui.context_extension.view import (
    PROFILE,
    View,
    changed,
    checked,
    cursor_kept,
    first_view,
)


def live_answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Panels for the values that a board holds now.

    Descriptions of controls and settings to take away are left to the page, which is asked at rest
    (``later``). Values that cannot be used are named, and the board keeps its pictures.

    Raises
    ------
    ConfigError : the source is no model that can be drawn.
    ParameterError : the source names no preset.
    """
    have = question.get("have") or {}
    reply = {
        "stamp": question.get("seq", 0),
        "epoch": question.get("epoch", ""),
        "controls_key": question.get("controls_key", ""),
        "texts_key": question.get("texts_key", ""),
        "later": True,
    }
    base = _opened(str(question.get("source")), str(question.get("layer")))
    try:
        view = _view(base, question.get("values") or {})
    except ParameterError as error:
        unchanged = [{"id": panel_id, "key": key} for panel_id, key in have.items()]
        values = question.get("values") or {}
        return reply | {"problems": [refusal(str(error))], "panels": unchanged, "values": values}
    return reply | {
        "problems": [],
        "address": urlencode(write_address(view)),
        "autos": autos(view),
        **picture(view, scene(view), have),
    }


@functools.lru_cache(maxsize=64)
def _opened(source: str, layer_type: str) -> View:
    return first_view(source, model_of(source), layer_type)


def _view(base: View, values: Mapping[str, Any]) -> View:
    # Names of implementations follow from the switches, which are all here themselves.
    sent = {name: value for name, value in values.items() if not name.endswith(f".{PROFILE}")}
    view, errors = changed(base, sent)
    if errors:
        raise errors[0]
    return checked(cursor_kept(view))
