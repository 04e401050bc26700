"""Start the app on port 8501, or on the next free one, and say so.

PORT=... asks for another first port, HOST=0.0.0.0 lets other machines connect.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PORTS_TO_TRY = 100
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def answers(port: int) -> bool:
    """True when something listens on the port of this machine."""
    # A server on another loopback address would still be what a browser reaches at localhost.
    for loopback in ("127.0.0.1", "::1"):
        try:
            socket.create_connection((loopback, port), timeout=0.5).close()
        except OSError:
            continue
        return True
    return False


def is_free(port: int, host: str) -> bool:
    """True when nothing listens on the port and it can be bound."""
    if answers(port):
        return False
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(first: int, host: str) -> int:
    """The first free port from ``first`` on."""
    for port in range(first, min(first + PORTS_TO_TRY, 65536)):
        if is_free(port, host):
            return port
    sys.exit(f"No free port from {first} to {min(first + PORTS_TO_TRY, 65536) - 1}: set PORT=...")


def first_port() -> int:
    text = os.environ.get("PORT", "8501")
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        sys.exit(f"PORT must be a whole number from 1 to 65535; got {text!r}.")
    return int(text)


def can_open_browser() -> bool:
    if not sys.stdout.isatty() or os.environ.get("NO_BROWSER"):
        return False
    return sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def warm_up(port: int) -> None:
    """Import and read what the first visit needs, while the browser still loads its own part.

    Before the server listens it would only delay that.
    """
    while not answers(port):
        time.sleep(0.05)
    import pandas  # noqa: F401
    import plotly.graph_objects  # noqa: F401

    import posviz.ui.context_extension.board  # noqa: F401
    from posviz import catalog, configs

    catalog()
    configs.presets()


def main() -> None:
    host = os.environ.get("HOST", "127.0.0.1")
    first = first_port()
    port = free_port(first, host)
    if port != first:
        print(f"Port {first} is taken; using {port}.", flush=True)
    if host in LOOPBACK:
        # Who reaches this server may read this machine's files anyway.
        os.environ.setdefault("POSVIZ_LOCAL_MODELS", "1")
    os.chdir(ROOT)
    threading.Thread(target=warm_up, args=(port,), daemon=True).start()
    # Streamlit prints the address when it is ready, and opens a browser unless it is headless.
    options = [f"--server.port={port}", f"--server.address={host}"]
    options += [f"--server.headless={not can_open_browser()}".lower()]
    sys.argv = ["streamlit", "run", "app.py", *options]
    from streamlit.web.cli import main as streamlit

    streamlit()


if __name__ == "__main__":
    main()
