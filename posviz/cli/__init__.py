"""The ``posviz`` command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name; Ctrl-C ends it quietly, also while it loads."""
    try:
        from posviz.cli.commands import run

        run()
    except KeyboardInterrupt:
        # 130 is what a shell says of a command that Ctrl-C ended.
        sys.exit(130)
