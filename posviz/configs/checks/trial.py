"""Tries a suggested change before it is suggested."""

from __future__ import annotations

from collections.abc import Mapping

from posviz.configs.checks.diagnosis import SEVERITIES, Operation, Severity
from posviz.configs.checks.patching import applied
from posviz.configs.checks.subject import Subject
from posviz.configs.errors import ConfigError
from posviz.configs.messages import Message
from posviz.configs.reader import read

_MOST_LAYER_TYPES, _MOST_KEYS = 64, 4000
"""A real model has two or three and some hundreds; with thousands, one more reading takes long."""


def holds(
    subject: Subject, patch: tuple[Operation, ...], severity: Severity, cured: Message | None = None
) -> bool:
    """Whether the changed configuration reads, without anything graver than what it cures.

    Parameters
    ----------
    severity : of the diagnosis that suggests the change.
    cured : the reader's message that must be gone afterwards.
    """
    if not patch or _is_huge(subject):
        return False
    try:
        after = read(applied(dict(subject.config), patch)).messages
    except ConfigError:
        return False
    before = {(message.code, message.layer_type) for message in subject.model.messages}
    graver = [
        message
        for message in after
        if SEVERITIES.index(message.severity) < SEVERITIES.index(severity)
        and (message.code, message.layer_type) not in before
    ]
    return not graver and (cured is None or all(message.text != cured.text for message in after))


def _is_huge(subject: Subject) -> bool:
    inner = (value for value in subject.section.data.values() if isinstance(value, Mapping))
    keys = len(subject.section.data) + sum(len(value) for value in inner)
    return len(subject.model.layers) > _MOST_LAYER_TYPES or keys > _MOST_KEYS
