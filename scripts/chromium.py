"""Finds a Chromium for the browser tests, the benchmarks and the README's picture."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# Root in a container has no sandbox; the rest keeps the browser from calling out.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def find() -> str | None:
    """Path of the browser that CHROMIUM names, or of the first one found; None without any."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    installed = filter(None, map(shutil.which, NAMES))
    apps = (path for path in MAC_APPS if Path(path).exists())
    return next(installed, None) or next(apps, None)
