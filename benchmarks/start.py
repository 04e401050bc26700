"""From the command to the first plot, everything installed: `make run` against a plain page.

The runs alternate; each starts a server and a new browser. Writes start.json and start.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import FOLDER, NAIVE_OPTIONS, ROOT, browser_page, free_port, is_healthy, ratio

from posviz.docs import table

DRAWN = """() => [...document.querySelectorAll('.js-plotly-plot')]
    .some(chart => chart.querySelector('.scatterlayer path.js-line'))"""


def seconds_to_first_plot(command: Sequence[str], folder: Path, address: str) -> float:
    """Start a server, open the page as soon as it is healthy, wait for a drawn line."""
    with browser_page() as page:
        started = time.monotonic()
        # A group of its own, because `make` does not pass every signal on.
        server = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            origin = "/".join(address.split("/")[:3])
            while not is_healthy(origin):
                if server.poll() is not None or time.monotonic() - started > 60:
                    raise RuntimeError(f"{command} did not start")
                time.sleep(0.02)
            page.goto(address, wait_until="commit")
            page.wait_for_function(DRAWN, timeout=60_000)
            return time.monotonic() - started
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(15)


def naive() -> float:
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "naive_app.py", *NAIVE_OPTIONS]
    command += [f"--server.port={port}", "--server.headless=true"]
    return seconds_to_first_plot(command, FOLDER, f"http://127.0.0.1:{port}/")


def ours(page: str) -> float:
    port = free_port()
    command = ["make", "--silent", "run", f"PORT={port}"]
    return seconds_to_first_plot(command, ROOT, f"http://127.0.0.1:{port}/{page}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", default="context_extension")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    # The first start of each reads its files from the disk; later ones find them in memory.
    naive(), ours(options.page)
    pairs = [(naive(), ours(options.page)) for _ in range(options.runs)]
    medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
    what = "start with everything installed: command → first plot"
    ratios = [ratio(what, medians[1], medians[0], "at most 1.2")]
    result = {"ratios": ratios, "cpus": os.cpu_count(), "seconds": pairs}
    (FOLDER / "start.json").write_text(json.dumps(result, indent=1) + "\n")
    row = ["command → first plot, median of " + str(options.runs)]
    row += [f"{median:.1f} s" for median in medians]
    text = table(["", "plain Streamlit page", "PosViz (`make run`)"], [row])
    (FOLDER / "start.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
