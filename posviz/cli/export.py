"""``posviz export``: settings for a runtime."""

from __future__ import annotations

from typing import Annotated

import typer

from posviz import configs
from posviz.catalog import parse
from posviz.cli.exits import ERRORS, OF_SEVERITY, sentences
from posviz.cli.options import File, LayerType, TargetLength, runtime_id
from posviz.cli.sources import model_of
from posviz.configs import RUNTIMES
from posviz.configs.completed import completed_link


def export(
    file: File,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="NAME",
            callback=runtime_id,
            help=f"The runtime: {', '.join(RUNTIMES)}.",
        ),
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
    """Print settings that can be pasted; what must be known beside them goes to standard error.

    The exit code is that of the settings: 0 fine, 1 warnings (as `posviz check` finds them for
    this runtime and length), 2 when the runtime has no such setting.
    """
    if layer_type is not None and link is None:
        raise typer.BadParameter("--layer-type says which layers --link is for; give both.")
    with sentences():
        model = model_of(file)
    with sentences(unreadable=ERRORS):
        if link is not None:
            spec = parse(
                completed_link(link, model, layer_type=layer_type, target_length=target_length)
            )
            model = model.with_spec(spec, layer_type)
        settings = configs.export(model, to, target_length=target_length)
        # The settings raise the window, so what the model itself reaches is seen before that.
        examined = model if link is None else configs.read_export(settings)
        report = configs.check(examined, runtime=to, target_length=target_length)
    typer.echo(settings.text)
    for note in settings.notes:
        typer.echo(f"posviz: {note}", err=True)
    for each in report.diagnoses:
        if each.severity in ("warn", "error"):
            typer.echo(f"posviz: {each.severity} {each.code}: {each.message}", err=True)
    raise typer.Exit(OF_SEVERITY[report.severity])
