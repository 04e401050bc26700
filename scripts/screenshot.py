"""Take the README's picture, docs/context_extension.png, from the running app.

usage: screenshot.py [PAGE] [FILE] [--dark] [--width PIXELS] [--height PIXELS] [--full]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import chromium
import local_server
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"


def wait_until_drawn(page: Page) -> None:
    """Wait until the script is done and every chart on the page has its picture."""
    page.wait_for_selector(IDLE, timeout=60_000)
    page.wait_for_function(
        """() => {
          const charts = [...document.querySelectorAll('.js-plotly-plot')];
          return charts.length > 0 && charts.every(chart => chart.querySelector('.main-svg'));
        }""",
        timeout=60_000,
    )
    # The charts settle (fonts, margins) within a few frames of the last packet.
    page.wait_for_timeout(1500)


def take(address: str, file: Path, *, dark: bool, width: int, height: int, full: bool) -> None:
    browser_path = chromium.find()
    if browser_path is None:
        sys.exit("No Chromium was found: install one, or name it with CHROMIUM=...")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=chromium.FLAGS)
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            device_scale_factor=1,
        )
        page.goto(address)
        wait_until_drawn(page)
        page.screenshot(path=file, full_page=full)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", default="context_extension")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--full", action="store_true", help="the whole page, not the first view")
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--height", type=int, default=1000)
    options = parser.parse_args()
    file = options.file or ROOT / "docs" / f"{options.page.partition('?')[0]}.png"
    with local_server.running("app.py") as address:
        take(
            f"{address}/{options.page}",
            file,
            dark=options.dark,
            width=options.width,
            height=options.height,
            full=options.full,
        )
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
