"""Makes the stored observations again: ``python -m posviz.lab.language_model``.

The default passage through SmolLM2 (all heads, and one of them closely), and through
all-MiniLM-L6-v2 with true and shuffled position ids.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from posviz.lab.errors import LabError
from posviz.lab.language_model import stored
from posviz.lab.language_model.sources import MINILM, SMOLLM2
from posviz.lab.workers import Progress

PASSAGE = Path(__file__).parent.parent / "passages" / "passage.txt"
LAYER, HEAD = 16, 0
"""The head that the page opens with."""


def main() -> int:
    """Measure and write; the exit code is 1 where a model is missing."""
    parser = argparse.ArgumentParser(prog=stored.COMMAND, description=__doc__)
    parser.add_argument("--out", type=Path, default=stored.FOLDER, help="the folder to write to")
    out = parser.parse_args().out
    from posviz.lab.language_model.bert import permuted  # torch and transformers
    from posviz.lab.language_model.heads import closely
    from posviz.lab.language_model.observe import observe

    text = PASSAGE.read_text(encoding="utf-8").strip()
    try:
        seen = observe(_line, model=SMOLLM2.name, text=text)
        head = closely(_line, model=SMOLLM2.name, text=text, layer=LAYER, head=HEAD)
        others = permuted(_line, model=MINILM.name, text=text, order="shuffled")
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    found = {
        "observation": seen,
        "head_map": head.map,
        "queries_keys": head.pair,
        "permuted": others,
    }
    for name, record in found.items():
        stored.write(out / f"{name}.json", record)
        print(f"written: {out / name}.json")
    return 0


def _line(progress: Progress) -> None:
    print(progress.note, flush=True)


if __name__ == "__main__":
    sys.exit(main())
