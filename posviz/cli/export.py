"""``posviz export``: settings for a runtime."""

from __future__ import annotations

from typing import Annotated

import typer

from posviz import configs
from posviz.catalog import parse
from posviz.cli.exits import sentences
from posviz.cli.options import File, LayerType, TargetLength
from posviz.cli.sources import model_of
from posviz.configs import RUNTIMES


def export(
    file: File,
    to: Annotated[
        str, typer.Option("--to", metavar="NAME", help=f"The runtime: {', '.join(RUNTIMES)}.")
    ],
    target_length: TargetLength = None,
    link: Annotated[
        str | None,
        typer.Option(
            "--link",
            metavar="LINK",
            help="Write this encoding in the place of the model's own, for example "
            "'yarn?scaling_factor=4&original_max_position_embeddings=32768'. What it leaves out "
            "of base, head size, layout and window is the model's own.",
            show_default=False,
        ),
    ] = None,
    layer_type: LayerType = None,
) -> None:
    """Print settings that can be pasted; what must be known beside them goes to standard error."""
    with sentences():
        model = model_of(file)
        if link is not None:
            model = model.with_spec(parse(_completed(link, model, layer_type)), layer_type)
        settings = configs.export(model, to, target_length=target_length)
    typer.echo(settings.text)
    for note in settings.notes:
        typer.echo(f"posviz: {note}", err=True)


_FROM_THE_MODEL = (
    "base",
    "head_dim",
    "partial_rotary_factor",
    "layout",
    "original_max_position_embeddings",
)


def _completed(link: str, model: configs.Model, layer_type: str | None) -> str:
    """The link with the numbers of the model that it does not give itself."""
    own = model.spec(layer_type)
    encoding_id, _, query = link.strip().partition("?")
    asked = parse(encoding_id)
    given = {part.partition("=")[0] for part in query.split("&") if part}
    known = {declaration.name: declaration for declaration in asked.declarations()}
    values = {name: getattr(own, name, None) for name in _FROM_THE_MODEL}
    if values["original_max_position_embeddings"] is None:
        values["original_max_position_embeddings"] = model.trained_window
    more = [
        f"{name}={known[name].format(value)}"
        for name, value in values.items()
        if name in known and name not in given and value is not None
    ]
    return f"{encoding_id}?{'&'.join([*filter(None, [query]), *more])}"
