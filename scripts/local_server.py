"""Runs a Streamlit script on a free port of this machine for as long as a block lasts."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_healthy(address: str) -> bool:
    """True when the server says so itself: any other page answers 200 too."""
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
            return bool(answer.read().strip() == b"ok")
    except OSError:
        return False


@contextlib.contextmanager
def running(
    script: str, *, options: Sequence[str] = (), folder: Path = ROOT, timeout: float = 60
) -> Iterator[str]:
    """Address of ``streamlit run script``, started in ``folder``; stopped when the block ends."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", script, *options]
    command += [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=os.environ.copy()
        )
        try:
            end = time.monotonic() + timeout
            while not is_healthy(address):
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    raise RuntimeError(f"{script} did not start: {log.read().decode()[-2000:]}")
                time.sleep(0.05)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
