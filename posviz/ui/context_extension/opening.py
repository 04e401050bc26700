"""What a session shows next: a released model, a configuration of one's own, a changed one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz import configs
from posviz.configs import ConfigError, Diagnosis, Model
from posviz.parameters import ParameterError
from posviz.ui.context_extension.address import model_of, source_of_config
from posviz.ui.context_extension.board import Session
from posviz.ui.context_extension.view import checked, first_view

MOST_CHANGES = 50
"""Steps that can be undone."""


def take(session: Session, source: str, layer_type: str | None = None) -> None:
    """Show the model behind a source."""
    session.open(checked(first_view(source, model_of(source), layer_type)))
    session.rejected = None


def take_config(session: Session, raw: Mapping[str, Any] | str | bytes) -> None:
    """Show a configuration; one that can be read but not drawn stands beside the view before.

    Raises
    ------
    ConfigError : nothing that could be a configuration.
    """
    model = configs.read(raw)
    try:
        model.spec()
        take(session, source_of_config(model))
    except (ConfigError, ParameterError) as error:
        session.rejected = (model, str(error))


def model_shown(session: Session) -> Model:
    """The configuration that the page speaks of: the one that was rejected, or the view's."""
    return session.view.model if session.rejected is None else session.rejected[0]


def apply_change(session: Session, diagnosis: Diagnosis) -> None:
    """Make the change that a diagnosis suggests, and remember what was there before."""
    before = (diagnosis.code, session.view, session.rejected)
    config = dict(model_shown(session).config)
    take_config(session, configs.applied(config, diagnosis.patch))
    session.changes.append(before)
    del session.changes[:-MOST_CHANGES]


def undo_change(session: Session) -> None:
    """Go back to what stood there before the last change, every tuned value included."""
    _, view, rejected = session.changes.pop()
    session.open(view)
    session.rejected = rejected
