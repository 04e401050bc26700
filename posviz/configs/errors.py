"""The two ways in which a configuration cannot be used."""

from __future__ import annotations

from typing import Literal

RefusalKind = Literal["different", "in the file", "unknown", "length", "request"]


class ConfigError(ValueError):
    """A configuration that cannot be read, or whose numbers cannot be used: one clear sentence."""


class ExportError(ValueError):
    """What a runtime has no setting for: the reason, and what can be done instead.

    Attributes
    ----------
    kind : what the refusal says about the runtime, beyond that no settings can be written.
        ``different``: it rotates otherwise, whatever is set. ``in the file``: no flag sets it, but
        the file that the runtime loads carries it where conversion wrote it. ``unknown``: whether
        the runtime rotates so is not known here. ``length``: it rotates so, but does not run at
        the wanted length. ``request``: nothing is said about the runtime, the question was wrong.
    """

    def __init__(self, message: str, *, kind: RefusalKind = "different") -> None:
        super().__init__(message)
        self.kind: RefusalKind = kind
