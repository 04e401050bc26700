"""A Streamlit server per script and a Chromium per session, for what only a browser does."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from local_server import running
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Start a script once per session, with the repository's own settings; gives its address."""
    addresses: dict[Path, str] = {}
    with contextlib.ExitStack() as servers:

        def start(script: Path) -> str:
            if script not in addresses:
                addresses[script] = servers.enter_context(running(str(script)))
            return addresses[script]

        yield start


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = chromium.find()
    if not found:
        message = "no Chromium was found; Debian's package is named chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, headless=True, args=chromium.FLAGS
        )
        yield started
        started.close()


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
