"""The ``posviz`` command."""

from __future__ import annotations

from posviz.cli.main import main

__all__ = ["main"]
