"""``posviz export``: settings for a runtime."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from posviz import configs
from posviz.catalog import parse
from posviz.cli.exits import ERRORS, OF_SEVERITY, sentences
from posviz.cli.options import File, LayerType, TargetLength, runtime_id
from posviz.cli.sources import model_of
from posviz.configs import RUNTIMES


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
            spec = parse(_completed(link, model, layer_type, target_length))
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


_FROM_THE_MODEL = (
    "base",
    "head_dim",
    "partial_rotary_factor",
    "layout",
    "original_max_position_embeddings",
)


def _completed(
    link: str, model: configs.Model, layer_type: str | None, target_length: int | None
) -> str:
    """The link with the numbers of the model that it does not give itself.

    With a target and no factor, the factor is the smallest one that covers the target.
    """
    own = model.spec(layer_type)
    encoding_id, _, query = link.strip().partition("?")
    asked = parse(encoding_id)
    given = {part.partition("=")[0] for part in query.split("&") if part}
    known = {declaration.name: declaration for declaration in asked.declarations()}
    values: dict[str, Any] = {name: getattr(own, name, None) for name in _FROM_THE_MODEL}
    if values["original_max_position_embeddings"] is None:
        values["original_max_position_embeddings"] = model.trained_window
    original = values["original_max_position_embeddings"]
    if target_length is not None and original is not None:
        values["scaling_factor"] = max(1.0, target_length / original)
    more = [
        f"{name}={known[name].format(value)}"
        for name, value in values.items()
        if name in known and name not in given and value is not None
    ]
    return f"{encoding_id}?{'&'.join([*filter(None, [query]), *more])}"
