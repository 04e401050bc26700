"""The app starts as `make run` starts it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from local_server import is_healthy

ROOT = Path(__file__).resolve().parent.parent


def test_the_app_starts_on_the_next_free_port_says_so_and_stops_on_a_signal() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "scripts/serve.py"],
            cwd=ROOT,
            env={**os.environ, "PORT": str(port)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert server.stdout is not None
        said = server.stdout.readline()
        used = re.fullmatch(rf"Port {port} is taken; using (\d+)\.\n", said)
        assert used is not None, said
        address = f"http://127.0.0.1:{used[1]}"
        try:
            end = time.monotonic() + 60
            while not is_healthy(address) and time.monotonic() < end:
                assert server.poll() is None
                time.sleep(0.1)
            assert is_healthy(address)
            with urllib.request.urlopen(f"{address}/context_extension", timeout=5) as page:
                assert b"<html" in page.read()
        finally:
            server.send_signal(signal.SIGINT)
            rest, _ = server.communicate(timeout=20)
    assert f"http://localhost:{used[1]}" in rest
    assert "Traceback" not in rest
