"""Run every measurement, one after the other, and put the tables into the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NOT_MEASUREMENTS = {"all.py", "measuring.py"}


def measurements() -> list[Path]:
    """Every script of this folder that measures something."""
    scripts = sorted(FOLDER.glob("*.py"))
    return [
        path
        for path in scripts
        if path.name not in NOT_MEASUREMENTS and not path.name.startswith("naive_")
    ]


def main() -> int:
    failed = []
    for script in measurements():
        print(f"== {script.stem}", flush=True)
        if subprocess.run([sys.executable, script], check=False).returncode:
            failed.append(script.stem)
    subprocess.run([sys.executable, "-m", "posviz.docs"], cwd=FOLDER.parent, check=True)
    print(f"failed: {', '.join(failed)}" if failed else "every measurement ran")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
