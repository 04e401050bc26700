"""What was measured of several methods, drawn: curves, grids, numbers, and the settings applied."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from posviz.figures import Series
from posviz.figures.lab.loss_by_position import loss_by_position
from posviz.figures.lab.loss_gap import loss_gap
from posviz.figures.lab.passkey_grid import narrowest, passkey_grid
from posviz.lab.extension.records import Gap, LossCurve, Numbers, PasskeyGrid
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal
from posviz.ui.real_attention import csv_tables
from posviz.ui.real_attention.drawn import Drawn, draw
from posviz.ui.real_attention.extension_words import labels, of_keys, of_losses, plain_of
from posviz.ui.real_attention.number import number

MOST = 6
"""Methods in one figure: as many as there are inks and dashes."""


def curves(found: Sequence[LossCurve], gaps: Sequence[Gap], code: str, *, name: str) -> None:
    """The loss of each against position, and its means before and beyond the window."""
    if not found:
        return
    draw(loss(found, code, gaps=gaps, name=name))
    if gaps:
        draw(difference(found, gaps, code, name=name))
    against, names = {one.link: one for one in gaps}, labels(found)
    st.html(
        '<div style="overflow-x:auto">'
        + table(
            [
                "method",
                "within L",
                "beyond L",
                "last quarter",
                "less plain: within L",
                "beyond L",
                "last quarter",
                "tokens read",
                "seconds",
            ],
            [
                [
                    names[one.link],
                    *(_mean(span) for span in (one.within, one.beyond, one.last)),
                    *_differences(against.get(one.link)),
                    f"{one.read:,}" if one.is_done else f"{one.read:,} of {one.total:,}",
                    f"{one.seconds:,.0f}",
                ]
                for one in found
            ],
            name=f"posviz-loss-{name}",
        )
        + "</div>"
    )
    st.caption(
        "Mean loss in nats per token ± one standard error, of the tokens within the window "
        f"L = {found[0].trained_window:,} and of those from token L on; then the mean difference "
        "to the plain model, taken token by token, which is surer than the difference of two "
        "means. A text of another kind has another loss: compare methods on one text, not numbers "
        "between texts."
    )


def _mean(span: Numbers | None) -> str:
    return "—" if span is None else f"{span[0]:.3f} ± {span[1]:.3f}"


def _differences(gap: Gap | None) -> list[str]:
    spans = (None, None, None) if gap is None else (gap.within, gap.beyond, gap.last)
    return ["—" if span is None else f"{number(span[0], '+.3f')} ± {span[1]:.3f}" for span in spans]


def loss(found: Sequence[LossCurve], code: str, *, name: str, gaps: Sequence[Gap] = ()) -> Drawn:
    plain = plain_of(found)
    return Drawn(
        f"loss-{name}",
        loss_by_position,
        loss_by_position.build(
            _series(found),
            window=found[0].trained_window,
            length=max(one.total for one in found),
            plain_within=plain.within[0] if plain and plain.within else None,
        ),
        code,
        slots=_last_point(found[-1]),
        notes=(
            *of_losses(found, gaps),
            f"w = {found[-1].mean_window:,} tokens; in the formula: {found[-1].title} at the end.",
        ),
        height=420,
        csv=lambda: csv_tables.losses(found),
    )


def difference(found: Sequence[LossCurve], gaps: Sequence[Gap], code: str, *, name: str) -> Drawn:
    """Each less the plain model, in the ink that it has among the losses."""
    names = labels(found)
    places = {one.link: place for place, one in enumerate(found[:MOST])}
    shown = [gap for gap in gaps if gap.link in places]
    slots = {}
    if shown and shown[-1].positions:
        slots = {
            # Typeset by KaTeX, whose text knows the hyphen and not the minus sign.
            "gap": f"{shown[-1].mean[-1]:+.3f}",
            "position": f"{shown[-1].positions[-1]:,.0f}",
        }
    return Drawn(
        f"gap-{name}",
        loss_gap,
        loss_gap.build(
            [Series(names[gap.link], places[gap.link], gap) for gap in shown],
            window=found[0].trained_window,
            length=max(one.total for one in found),
        ),
        code,
        slots=slots,
        notes=(f"In the formula: {names[shown[-1].link]} at the end.",) if shown else (),
        csv=lambda: csv_tables.gaps(shown),
    )


def grids(found: Sequence[PasskeyGrid], code: str, *, name: str) -> None:
    """How well each finds pass keys."""
    if not found:
        return
    draw(keys(found, code, name=name))
    example = next((one.example for one in found if one.example), "")
    if example:
        st.caption(
            "A question, which follows the text (…) with its line breaks; what the model writes "
            "next is its answer:"
        )
        st.code(f"…{example}", None)


def keys(found: Sequence[PasskeyGrid], code: str, *, name: str) -> Drawn:
    figure = passkey_grid.build(_series(found))
    return Drawn(
        f"passkey-{name}",
        passkey_grid,
        figure,
        code,
        slots=_longest_haystack(found[-1]),
        notes=(
            *of_keys(found),
            f"In the formula: {found[-1].title} at its longest text, the key in the middle.",
        ),
        height=figure.layout["height"],
        legend=False,
        narrowest=narrowest(found[:MOST]),
        csv=lambda: csv_tables.passkeys(found),
    )


def _last_point(one: LossCurve) -> dict[str, str]:
    if not one.positions:
        return {}
    return {"loss": f"{one.mean[-1]:.3f}", "position": f"{one.positions[-1]:,.0f}"}


def _longest_haystack(one: PasskeyGrid) -> dict[str, str]:
    middle = len(one.depths) // 2
    exact = one.exact[-1][middle]
    if math.isnan(exact):
        return {}
    return {
        "found": f"{exact:.2g}",
        "length": f"{one.lengths[-1]:,}",
        "depth": f"{one.depths[middle]:g}",
    }


def _series(found: Sequence[Any]) -> list[Series[Any]]:
    names = labels(found)
    return [Series(names[one.link], place, one) for place, one in enumerate(found[:MOST])]


def settings(found: Sequence[LossCurve | PasskeyGrid]) -> None:
    """The very settings that were put into the model, with what the check says of them."""
    seen = {f"{one.link} {json.dumps(_put_in(one), sort_keys=True)}": one for one in found}
    with st.expander("The settings that were applied, and what the check says of them"):
        st.caption(
            "These are the keys that the export of the context-extension page writes for "
            "transformers, put into the model's own configuration as they stand."
        )
        if any(_is_artificial(one) for one in seen.values()):
            st.caption(
                "**Not to be pasted anywhere**: the window is artificial, so the base is not the "
                "model's own."
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


def _is_artificial(one: LossCurve | PasskeyGrid) -> bool:
    return one.facts.get("plan", {}).get("artificial_window") is not None


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


def resumed(found: Sequence[LossCurve | PasskeyGrid]) -> None:
    """What of these numbers an earlier run had measured."""
    lines = []
    for one in found:
        before = int(one.facts.get("resumed_at", 0))
        if one.facts.get("from_cache"):
            lines.append(f"{literal(one.link)}: measured before, and taken from the cache.")
        elif before:
            lines.append(
                f"{literal(one.link)}: its first {before:,} tokens were read by a run that was "
                "stopped; the next one went on from there."
            )
    if lines:
        st.caption("\n\n".join(dict.fromkeys(lines)))


def facts(found: Sequence[LossCurve | PasskeyGrid]) -> None:
    """Seed, versions, hashes and machine, as far as all of them agree on them."""
    shared = _seed(found)
    for name in dict.fromkeys(key for one in found for key in one.facts):
        values = {json.dumps(one.facts.get(name), sort_keys=True) for one in found}
        if len(values) == 1 and name not in ("settings", "check", "plan", "seed"):
            shared[name] = values.pop().strip('"')
    with st.expander("Where these numbers come from"):
        rows = [[name, value] for name, value in shared.items()]
        st.html(table(["what", "value"], rows, name="posviz-extension-facts"))


def _seed(found: Sequence[LossCurve | PasskeyGrid]) -> dict[str, str]:
    """The seed of what is drawn at random, which is the pass keys alone."""
    drawn = {
        str(one.facts["seed"])
        for one in found
        if isinstance(one, PasskeyGrid) and "seed" in one.facts
    }
    if drawn:
        return {"seed of the pass keys": ", ".join(sorted(drawn))}
    return {"seed": "none: nothing here is drawn at random"} if found else {}
