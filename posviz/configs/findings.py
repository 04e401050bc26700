"""Collects the rows and messages while a configuration is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posviz.configs.messages import CODES, Message, Resolved, Severity


class Findings:
    """What has been found so far; ``layer_type`` names the layer type that is being read."""

    def __init__(self) -> None:
        self.rows: list[Resolved] = []
        self.messages: list[Message] = []
        self._said: set[tuple[str, ...]] = set()
        self.layer_type = ""

    def row(self, name: str, value: Any, origin: str) -> None:
        """A resolved number and its origin."""
        self.rows.append(Resolved(name, value, origin, self.layer_type))

    def info(self, code: str, text: str, *fields: str, **values: Any) -> None:
        self._say("info", code, text, fields, values)

    def warn(self, code: str, text: str, *fields: str, **values: Any) -> None:
        self._say("warn", code, text, fields, values)

    def error(self, code: str, text: str, *fields: str, **values: Any) -> None:
        self._say("error", code, text, fields, values)

    def _say(
        self,
        severity: Severity,
        code: str,
        text: str,
        fields: Sequence[str],
        values: dict[str, Any],
    ) -> None:
        if code not in CODES:
            raise KeyError(code)
        said = (severity, code, text, self.layer_type, *fields)
        if said not in self._said:  # a hostile list may have thousands of wrong entries
            self._said.add(said)
            message = Message(severity, code, text, tuple(fields), values, self.layer_type)
            self.messages.append(message)

    def blocking(self, layer_type: str) -> str:
        """The sentences of all errors that make this layer type unusable; empty when it is fine."""
        return " ".join(
            message.text
            for message in self.messages
            if message.severity == "error" and message.layer_type in ("", layer_type)
        )
