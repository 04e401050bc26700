"""A Streamlit server per script and a Chromium per session, for what only a browser does."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[2]
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
START_SECONDS = 60


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """Start a script once per session, with the repository's own settings; gives its address."""
    running: dict[Path, tuple[subprocess.Popen[bytes], str]] = {}
    log = tmp_path_factory.mktemp("servers") / "log"

    def start(script: Path) -> str:
        if script not in running:
            port = _free_port()
            options = [
                "--server.port", str(port),
                "--server.address", "127.0.0.1",
                "--server.headless", "true",
                "--server.fileWatcherType", "none",
                "--runner.postScriptGC", "false",
                "--browser.gatherUsageStats", "false",
            ]  # fmt: skip
            with log.open("ab") as output:
                process = subprocess.Popen(
                    [sys.executable, "-m", "streamlit", "run", str(script), *options],
                    cwd=ROOT, stdout=output, stderr=output,
                )  # fmt: skip
            url = f"http://127.0.0.1:{port}"
            running[script] = process, url
            end = time.monotonic() + START_SECONDS
            while not _is_healthy(url):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, f"no answer from {script}:\n{log.read_text()}"
                time.sleep(0.1)
        return running[script][1]

    yield start
    for process, _ in running.values():
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if not found:
        message = "no Chromium was found; Debian's package is named chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, headless=True, args=FLAGS)
        yield chromium
        chromium.close()


def _context(browser: Browser, **options: Any) -> BrowserContext:
    return browser.new_context(
        **{"viewport": {"width": 1400, "height": 1000}, "accept_downloads": True, **options}
    )


@pytest.fixture(scope="session")
def _light(browser: Browser) -> Iterator[BrowserContext]:
    context = _context(browser, color_scheme="light")
    yield context
    context.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a window with a profile of its own; options as of Playwright's ``new_context``.

    A script error in any of the windows fails the test.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_page(**options: Any) -> Page:
        contexts.append(_context(browser, **options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def page(_light: BrowserContext) -> Iterator[Page]:
    """A window of 1400 × 1000 in the light theme; a script error fails the test.

    All such windows share one profile, so that the page's scripts are fetched once.
    """
    errors: list[str] = []
    page = _light.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []
