"""What was measured of several methods, drawn: curves, grids, numbers, and the settings applied."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from posviz.figures import Series
from posviz.figures.lab.loss_by_position import loss_by_position
from posviz.figures.lab.passkey_grid import passkey_grid
from posviz.lab.extension.records import LossCurve, Numbers, PasskeyGrid
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal
from posviz.ui.real_attention import csv_tables
from posviz.ui.real_attention.drawn import Drawn, draw

MOST = 6
"""Methods in one figure: as many as there are inks and dashes."""


def curves(found: Sequence[LossCurve], code: str, *, name: str) -> None:
    """The loss of each against position, and its means before and beyond the window."""
    if not found:
        return
    draw(loss(found, code, name=name))
    st.html(
        table(
            ["method", "link", "within the window", "beyond it", "tokens read", "seconds"],
            [
                [
                    one.title,
                    one.link,
                    _mean(one.within),
                    _mean(one.beyond),
                    f"{one.read:,}" if one.is_done else f"{one.read:,} of {one.total:,}",
                    f"{one.seconds:,.0f}",
                ]
                for one in found
            ],
            name=f"posviz-loss-{name}",
        )
    )
    st.caption(
        "Mean loss in nats per token ± one standard error. A text of another kind has another "
        "loss: compare methods on one text, not numbers between texts."
    )


def _mean(span: Numbers | None) -> str:
    return "—" if span is None else f"{span[0]:.3f} ± {span[1]:.3f}"


def loss(found: Sequence[LossCurve], code: str, *, name: str) -> Drawn:
    return Drawn(
        f"loss-{name}",
        loss_by_position,
        loss_by_position.build(
            _series(found),
            trained=found[0].trained_window,
            length=max(one.total for one in found),
        ),
        code,
        slots=_last_point(found[-1]),
        notes=(f"In the formula: {found[-1].link} at its last position.",),
        height=420,
        csv=lambda: csv_tables.losses(found),
    )


def grids(found: Sequence[PasskeyGrid], code: str, *, name: str) -> None:
    """How well each finds pass keys."""
    if not found:
        return
    draw(keys(found, code, name=name))
    example = next((one.example for one in found if one.example), "")
    if example:
        st.caption(f"The question that ends every haystack: {literal(example)}")


def keys(found: Sequence[PasskeyGrid], code: str, *, name: str) -> Drawn:
    figure = passkey_grid.build(_series(found))
    return Drawn(
        f"passkey-{name}",
        passkey_grid,
        figure,
        code,
        slots=_longest_haystack(found[-1]),
        notes=(f"In the formula: {found[-1].link} at its longest text, the key in the middle.",),
        height=figure.layout["height"],
        legend=False,
        csv=lambda: csv_tables.passkeys(found),
    )


def _last_point(one: LossCurve) -> dict[str, str]:
    if not one.positions:
        return {}
    return {"loss": f"{one.mean[-1]:.3f}", "position": f"{one.positions[-1]:,.0f}"}


def _longest_haystack(one: PasskeyGrid) -> dict[str, str]:
    middle = len(one.depths) // 2
    right = one.right[-1][middle]
    if math.isnan(right):
        return {}
    return {
        "right": f"{right:.2g}",
        "length": f"{one.lengths[-1]:,}",
        "depth": f"{one.depths[middle]:g}",
    }


def _series(found: Sequence[Any]) -> list[Series[Any]]:
    return [Series(one.link, place, one) for place, one in enumerate(found[:MOST])]


def settings(found: Sequence[LossCurve | PasskeyGrid]) -> None:
    """The very settings that were put into the model, with what the check says of them."""
    seen = {f"{one.link} {json.dumps(_put_in(one), sort_keys=True)}": one for one in found}
    with st.expander("The settings that were applied, and what the check says of them"):
        st.caption(
            "These are the keys that the export of the context-extension page writes for "
            "transformers, put into the model's own configuration as they stand."
        )
        for one in seen.values():
            checked: Mapping[str, Any] = one.facts.get("check", {})
            applied(
                one.link,
                _put_in(one),
                str(checked.get("severity", "")),
                checked.get("diagnoses", ()),
                one.notes,
            )


def _put_in(one: LossCurve | PasskeyGrid) -> Mapping[str, Any]:
    """What was put into the model's configuration."""
    found: Mapping[str, Any] = one.facts.get("settings", {})
    return found or {"rope_parameters": dict(one.rope_parameters)}


def applied(
    link: str,
    changed: Mapping[str, Any],
    severity: str,
    diagnoses: Sequence[str],
    notes: Sequence[str],
) -> None:
    """The settings of one method."""
    st.markdown(f"**{literal(link)}**" + (f": check {literal(severity)}" if severity else ""))
    st.code(json.dumps(dict(changed), indent=2), "json")
    if lines := [f"- {literal(one)}" for one in (*diagnoses, *notes)]:
        st.markdown("\n".join(lines))


def facts(found: Sequence[LossCurve | PasskeyGrid]) -> None:
    """Seed, versions, hashes and machine, as far as all of them agree on them."""
    shared: dict[str, str] = {}
    for name in dict.fromkeys(key for one in found for key in one.facts):
        values = {json.dumps(one.facts.get(name), sort_keys=True) for one in found}
        if len(values) == 1 and name not in ("settings", "check", "plan"):
            shared[name] = values.pop().strip('"')
    with st.expander("Where these numbers come from"):
        rows = [[name, value] for name, value in shared.items()]
        st.html(table(["what", "value"], rows, name="posviz-extension-facts"))
