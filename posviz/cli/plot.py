"""``posviz plot``: a figure as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from posviz.catalog import parse
from posviz.cli.exits import ERRORS, sentences, stop
from posviz.cli.pictures import names, picture
from posviz.parameters import ParameterError, closest

_STATIC = ("svg", "png", "pdf")
KINDS = (*_STATIC, "html")
_SMALLEST, _LARGEST = 100, 8000


def _size(value: tuple[int, int]) -> tuple[int, int]:
    if all(_SMALLEST <= side <= _LARGEST for side in value):
        return value
    raise typer.BadParameter(f"both must be {_SMALLEST} to {_LARGEST} pixels.")


def plot(
    links: Annotated[
        list[str],
        typer.Argument(
            metavar="LINK...",
            help="An encoding such as 'yarn?scaling_factor=8'; several rotary ones share the axes.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"The file to write; its name ends in {', '.join(KINDS)}.",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option("--figure", metavar="NAME", help="Which figure; see --list."),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            "--length",
            metavar="N",
            min=2,
            max=1 << 22,
            help="Context length in tokens; by default what the method covers.",
        ),
    ] = None,
    positions: Annotated[
        int,
        typer.Option(
            "--positions", metavar="N", min=2, max=8192, help="Positions in pictures of a result."
        ),
    ] = 128,
    size: Annotated[
        tuple[int, int],
        typer.Option("--size", metavar="W H", help="Width and height, pixels.", callback=_size),
    ] = (900, 500),
    list_figures: Annotated[
        bool, typer.Option("--list", help="Print the names of the figures and stop.")
    ] = False,
) -> None:
    """Write a figure as SVG, PNG, PDF or an HTML file that works offline."""
    with sentences():
        specs = [parse(link) for link in links]
        if list_figures:
            typer.echo("\n".join(names(specs, positions)))
            return
        kind = _kind(output)
        made = picture(specs, figure, length, positions)
    assert output is not None
    made.update_layout(width=size[0], height=size[1], showlegend=len(specs) > 1)
    _write(made, output, kind)


def _kind(output: str | None) -> str:
    if output is None:
        raise ParameterError(f"Name a file with -o; its name ends in {', '.join(KINDS)}.")
    kind = Path(output).suffix.removeprefix(".").lower()
    if kind not in KINDS:
        raise ParameterError(
            f"The name of the file must end in {', '.join(KINDS)}; got {output!r:.60}, "
            f"{closest(kind, KINDS)}."
        )
    return kind


def _write(figure: Any, output: str, kind: str) -> None:
    try:
        if kind == "html":
            figure.write_html(output, include_plotlyjs=True)
        else:
            figure.write_image(output, format=kind)
    except OSError as error:
        stop(f"{output} cannot be written: {error.strerror or type(error).__name__}.", ERRORS)
    except RuntimeError as error:
        if "chrome" not in str(error).lower():
            raise
        stop(
            f"{kind.upper()} files are drawn by Chrome or Chromium, and none works here; install "
            "one, or write an .html file, which needs none.",
            ERRORS,
        )
