"""``posviz solve``: from lengths to settings and back, and between names for one number."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from posviz import solver
from posviz.cli.console import console
from posviz.cli.exits import sentences
from posviz.cli.sources import model_of
from posviz.configs import ConfigError
from posviz.parameters import ParameterError
from posviz.solver.given import written

app = typer.Typer(
    name="solve",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="From lengths to settings and back, and between the names that tools have for one number.",
    epilog="\b\nExamples:\n"
    "posviz solve lengths --original 32768 --target 131072 --base 1000000 --rotary-dim 128\n"
    "posviz solve lengths --config config.json --target 131072\n"
    "posviz solve convert alpha 4 --base 10000 --rotary-dim 128",
)

_NAMES = ", ".join(quantity.id for quantity in solver.names())

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Original = Annotated[
    int | None,
    typer.Option("--original", metavar="N", help="The trained window, in tokens."),
]
Base = Annotated[float | None, typer.Option("--base", help="The base (rope_theta) as trained.")]
RotaryDim = Annotated[
    int | None, typer.Option("--rotary-dim", metavar="D", help="Rotated dimensions of a head.")
]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Take window, base and rotated dimensions from this configuration (or preset:ID).",
    ),
]

Block = tuple[str, list[str]]
"""A line that stands out, and the lines under it."""


@dataclass(frozen=True)
class Trained:
    """The model as trained: what the options say, or else the configuration."""

    original: int | None
    base: float | None
    rotary_dim: int | None

    def needed(self, *names: str) -> dict[str, Any]:
        """These numbers; ParameterError names the options that are missing."""
        missing = [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) is None]
        if missing:
            raise ParameterError(f"This needs {' and '.join(missing)}, or --config FILE.")
        return {name: getattr(self, name) for name in names}


def _trained(
    original: int | None, base: float | None, rotary_dim: int | None, config: str | None
) -> Trained:
    if config is None:
        return Trained(original, base, rotary_dim)
    model = model_of(config)
    spec: Any = model.spec()
    window = model.trained_window or model.window
    if original is None and window is None:
        raise ConfigError("The configuration names no window; give --original.")
    return Trained(
        window if original is None else original,
        spec.base if base is None else base,
        spec.rotary_dim if rotary_dim is None else rotary_dim,
    )


def lengths(
    target: Annotated[int, typer.Option("--target", metavar="N", help="Wanted length, tokens.")],
    original: Original = None,
    base: Base = None,
    rotary_dim: RotaryDim = None,
    config: Config = None,
    typical: Annotated[
        int | None, typer.Option("--typical", metavar="N", help="The usual length, tokens.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What each rule sets so that a model reaches a length, side by side with its source."""
    with sentences():
        model = _trained(original, base, rotary_dim, config)
        advice = solver.advise(
            target=target, typical=typical, **model.needed("original", "base", "rotary_dim")
        )
    blocks = [
        (f"{rule.title}: {rule.settings}", [rule.formula, rule.source, rule.caveat])
        for rule in advice.rules
    ]
    _print(advice, as_json, blocks, advice.notes)


def convert(
    quantity: Annotated[
        str, typer.Argument(help=f"Its name, such as alpha: {_NAMES}, or what a tool calls it.")
    ],
    value: Annotated[float, typer.Argument(help="The number.")],
    original: Original = None,
    base: Base = None,
    rotary_dim: Annotated[
        list[int] | None,
        typer.Option("--rotary-dim", metavar="D", help="Rotated dimensions; several are compared."),
    ] = None,
    config: Config = None,
    length: Annotated[
        int | None, typer.Option("--length", metavar="N", help="The present length, tokens.")
    ] = None,
    to: Annotated[
        list[str] | None, typer.Option("--to", metavar="NAME", help="Only to these names.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a number is under the other names; an ambiguous name is read under each meaning."""
    with sentences():
        model = _trained(original, base, None, config)
        dims = rotary_dim or ([model.rotary_dim] if model.rotary_dim else None)
        found = solver.convert(
            quantity,
            value,
            base=model.base,
            rotary_dim=dims,
            original=model.original,
            length=length,
            to=to,
        )
    several = len({row.read_as for row in found.rows}) > 1
    blocks = [
        (
            f"{row.title}: {row.shown}" + (f" (read as {row.read_as})" if several else ""),
            [row.rule, row.source],
        )
        for row in found.rows
    ]
    _print(found, as_json, blocks, found.notes)


def reach(
    quantity: Annotated[str, typer.Argument(help="factor, base, alpha, rope_freq_scale …")],
    value: Annotated[float, typer.Argument(help="The number.")],
    original: Original = None,
    base: Base = None,
    rotary_dim: RotaryDim = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """The length that each rule says a factor, a base or an alpha covers."""
    with sentences():
        model = _trained(original, base, rotary_dim, config)
        found = solver.reach(quantity, value, **model.needed("original", "base", "rotary_dim"))
    blocks = [
        (f"{rule.title}: {_length(rule)} (read as {reached.quantity})", [rule.formula, rule.source])
        for reached in found
        for rule in reached.rules
    ]
    _print(found, as_json, blocks, ())


def attention_factor(
    factor: Annotated[float, typer.Argument(help="The scaling factor s.")],
    mscale: Annotated[float, typer.Option("--mscale", help="DeepSeek's weight.")] = 1.0,
    mscale_all_dim: Annotated[
        float, typer.Option("--mscale-all-dim", help="DeepSeek's second weight.")
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """YaRN's factor on cos and sin, and what it does to the logits."""
    with sentences():
        found = solver.attention_factor(factor, mscale, mscale_all_dim)
    blocks: list[Block] = [
        (f"m, on cos and sin: {written(found.m)}", []),
        (f"m², gain of the logits: {written(found.logit_gain)}", []),
        (f"1/m², temperature: {written(found.temperature)}", []),
        (f"m⁴, if it is applied twice: {written(found.double_application_gain)}", []),
    ]
    _print(found, as_json, blocks, found.notes)


def betas(
    original: Original = None,
    base: Base = None,
    rotary_dim: RotaryDim = None,
    config: Config = None,
    beta_fast: Annotated[float, typer.Option("--beta-fast", help="Turns.")] = 32.0,
    beta_slow: Annotated[float, typer.Option("--beta-slow", help="Turns.")] = 1.0,
    pairs: Annotated[
        tuple[float, float] | None,
        typer.Option("--pairs", metavar="LOW HIGH", help="The other way: betas of these pairs."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The pairs between which YaRN's ramp runs; with --pairs, the betas that put it there."""
    with sentences():
        known = _trained(original, base, rotary_dim, config).needed(
            "original", "base", "rotary_dim"
        )
        if pairs is not None:
            beta_fast, beta_slow = solver.betas_at(low=pairs[0], high=pairs[1], **known)
        found = solver.beta_range(beta_fast=beta_fast, beta_slow=beta_slow, **known)
    blocks: list[Block] = [
        (f"{field.name}: {written(getattr(found, field.name))}", [])
        for field in dataclasses.fields(found)
        if field.name != "notes"
    ]
    _print(found, as_json, blocks, found.notes)


def _length(rule: Any) -> str:
    if rule.length is None:
        return "—"
    return f"{'at least ' if rule.at_least else ''}{rule.length} tokens"


def _print(found: Any, as_json: bool, blocks: Sequence[Block], notes: Sequence[str]) -> None:
    if as_json:
        typer.echo(json.dumps(_plain(found), indent=2, ensure_ascii=False))
        return
    out = console()
    for head, lines in blocks:
        out.print(Text(head, style="bold" if lines else ""))
        for line in filter(None, lines):
            out.print(Padding(Text(line, style="dim"), (0, 0, 0, 4)))
    for note in notes:
        out.print(Text(note))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it
    return value


_EXAMPLES: dict[Callable[..., Any], str] = {
    lengths: "posviz solve lengths --config config.json --target 131072 --typical 4000",
    convert: "posviz solve convert alpha 20 --base 10000 --rotary-dim 128 --rotary-dim 44\n"
    "posviz solve convert rope_freq_scale 0.25",
    reach: "posviz solve reach base 500000 --original 4096 --base 10000 --rotary-dim 128",
    attention_factor: "posviz solve attention-factor 4",
    betas: "posviz solve betas --config preset:qwen2.5-7b-yarn\n"
    "posviz solve betas --original 32768 --base 1e6 --rotary-dim 128 --pairs 23 40",
}
for _command, _lines in _EXAMPLES.items():
    app.command(_command.__name__.replace("_", "-"), epilog=f"\b\nExamples:\n{_lines}")(_command)
