"""Make .venv and install what is pinned; do nothing when that is there already.

usage: install.py lite|full|models|dev [--check]
    lite    run time without torch
    full    run time
    models  run time and what reads released models
    dev     all of that and the tools of `make check` and `make test`
    --check  install nothing; fail when something is to be installed

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "posviz-installed.json"

# A larger set contains the smaller ones, so `make run` after `make test` installs nothing.
SETS = {
    "lite": ["requirements-lite.txt"],
    "full": ["requirements-lite.txt", "requirements.txt"],
    "models": ["requirements-lite.txt", "requirements.txt", "requirements-models.txt"],
    "dev": [
        "requirements-lite.txt",
        "requirements.txt",
        "requirements-models.txt",
        "requirements-dev.txt",
    ],
}


def wanted(name: str) -> str:
    """One digest of everything that decides what the set installs."""
    digest = hashlib.sha256(str(ROOT).encode())
    for file in [*SETS[name], "pyproject.toml"]:
        digest.update((ROOT / file).read_bytes())
    return digest.hexdigest()


def installed() -> dict[str, str]:
    """Digest of each set that .venv holds, as the last finished installation wrote it."""
    return json.loads(STAMP.read_text()) if STAMP.exists() else {}


def works() -> bool:
    """True when .venv has a Python that runs, is new enough, and has pip."""
    # A .venv whose Python was removed or upgraded away still has all its other files.
    code = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        result = subprocess.run([PYTHON, "-c", code], check=False, capture_output=True)
    except OSError:
        return False
    return result.returncode == 0


def pip(*arguments: str) -> None:
    # Two -q hide the progress and the warnings of pip, not its errors.
    command = [PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *arguments]
    if url := os.environ.get("TORCH_INDEX_URL"):
        command += ["--extra-index-url", url]
    if subprocess.run(command, check=False, cwd=ROOT).returncode:
        sys.exit("The installation failed; pip's reason stands above.")


def install(name: str) -> None:
    before = installed() if works() else {}
    if before.get(name) == wanted(name):
        return
    # What is there stays there: an upgrade of the lite set must not leave old tools behind it.
    largest = max([name, *before], key=list(SETS).index)
    started = time.monotonic()
    sizes = {"lite": "0.7 GB", "full": "1.6 GB or more", "models": "1.7 GB or more"}
    size = sizes.get(largest, "2 GB or more")
    print(f"Installing into .venv ({largest}: {size} on disk; minutes, once) ...", flush=True)
    if not works():
        make_venv()
    STAMP.unlink(missing_ok=True)
    pip("-r", SETS[largest][-1])
    # Installed, not only on the path: Streamlit finds a component through its distribution.
    pip("--no-deps", "--no-build-isolation", "-e", ".")
    contained = list(SETS)[: list(SETS).index(largest) + 1]
    STAMP.write_text(json.dumps({each: wanted(each) for each in contained}))
    print(f"Installed in {time.monotonic() - started:.0f} s.", flush=True)


def make_venv() -> None:
    if subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=False).returncode:
        sys.exit("Making .venv failed; Python's reason stands above.")


def main() -> None:
    name, *rest = sys.argv[1:] or [""]
    if name not in SETS or rest not in ([], ["--check"]):
        sys.exit(f"usage: install.py {'|'.join(SETS)} [--check]")
    if rest:
        # Run by the Python of .venv itself, so that it works needs no further proof.
        sys.exit(installed().get(name) != wanted(name))
    install(name)


if __name__ == "__main__":
    main()
