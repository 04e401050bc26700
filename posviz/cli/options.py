"""Arguments and options that several commands share, declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from posviz.configs import RUNTIMES
from posviz.configs.writers import LONGEST_LENGTH
from posviz.parameters import closest

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A config.json or .gguf file; - for standard input, preset:ID for a known model.",
    ),
]
Link = Annotated[
    str,
    typer.Argument(
        metavar="LINK", help="An encoding with its parameters, such as 'yarn?scaling_factor=8'."
    ),
]


def runtime_id(name: str | None) -> str | None:
    """A runtime's id from how people write it: vLLM, llama.cpp."""
    if name is None or (found := name.lower().replace(".", "_").replace("-", "_")) in RUNTIMES:
        return None if name is None else found
    raise typer.BadParameter(f"there is no runtime {name!r:.40}; {closest(found, RUNTIMES)}.")


Runtime = Annotated[
    str | None,
    typer.Option(
        "--runtime",
        metavar="NAME",
        callback=runtime_id,
        help=f"What this one does with it: {', '.join(RUNTIMES)}.",
        show_default=False,
    ),
]
TargetLength = Annotated[
    int | None,
    typer.Option(
        "--target-length",
        metavar="N",
        min=1,
        max=LONGEST_LENGTH,
        help="The context length that is wanted, in tokens.",
        show_default=False,
    ),
]
LayerType = Annotated[
    str | None,
    typer.Option(
        "--layer-type",
        metavar="NAME",
        help="The layer type, for a model that has several; full attention by default.",
        show_default=False,
    ),
]
Length = Annotated[
    int,
    typer.Option(
        "--length", metavar="N", min=1, max=1 << 20, help="How many positions, in tokens."
    ),
]
