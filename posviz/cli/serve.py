"""``posviz serve``: the app, from the repository or from where it was installed."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

import typer

from posviz.cli.exits import ERRORS, stop

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port.")] = 8501,
    host: Annotated[
        str, typer.Option("--host", help="0.0.0.0 lets other machines connect.")
    ] = "127.0.0.1",
) -> None:
    """Start the app and print its address."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += [f"--server.port={port}", f"--server.address={host}"]
    if host in LOOPBACK:
        # Who reaches this server may read this machine's files anyway.
        os.environ.setdefault("POSVIZ_LOCAL_MODELS", "1")
    # Streamlit reads its settings from the folder that it is started in. It takes the place of this
    # process, so that a signal meant for the server reaches it.
    os.chdir(home())
    os.execv(sys.executable, command)


def home() -> Path:
    """The folder with app.py: of a checkout, or the one that an installation made."""
    places = [
        Path(__file__).resolve().parents[2],
        Path(sysconfig.get_path("data")) / "share" / "posviz",
    ]
    found = [each for each in places if (each / "app.py").exists() and (each / "pages").is_dir()]
    if not found:
        stop(f"app.py was found neither in {places[0]} nor in {places[1]}.", ERRORS)
    return found[0]
