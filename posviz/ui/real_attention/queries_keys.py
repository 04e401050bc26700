"""Queries and keys of one head: real decay, and the way to the attention page."""

from __future__ import annotations

import numpy as np
import streamlit as st

from posviz.catalog import parse
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures.lab.distance_decay import logit_decay
from posviz.lab.language_model.records import Observation, QueriesKeys
from posviz.parameters import number_text
from posviz.ui.attention import carried
from posviz.ui.literal import literal
from posviz.ui.real_attention import address, code
from posviz.ui.real_attention.drawn import Drawn, draw
from posviz.ui.real_attention.wish import Wish

MODULE = "posviz.lab.language_model.heads"


def show(found: QueriesKeys, seen: Observation, wish: Wish) -> None:
    """Draw them."""
    draw(_drawn(found, seen))
    _carry(found, wish)


def _drawn(found: QueriesKeys, seen: Observation) -> Drawn:
    figure = logit_decay.build(
        found.distances,
        found.measured,
        found.spread,
        found.given,
        label=f"layer {found.layer}, head {found.head}",
    )
    return Drawn(
        "logit-decay",
        logit_decay,
        figure,
        code.call(
            MODULE,
            "queries_and_keys",
            found.model,
            code.text_of(seen),
            "print(seen.measured, seen.spread, seen.given)",
            arguments=f", layer={found.layer}, head={found.head}",
        ),
        title=f"Logit against distance, layer {found.layer}, head {found.head}",
        notes=(f"Its keys are those of key head {found.key_head}.",),
    )


def _carry(found: QueriesKeys, wish: Wish) -> None:
    """The chosen q and k as the attention page's question (c), and how they are chosen."""
    last = len(found.tokens) - 1
    columns = st.columns([1, 1, 3], vertical_alignment="bottom")
    for column, name in zip(columns, ("query", "key"), strict=False):
        key = address.control(name)
        held = st.session_state[key]
        st.session_state[key] = None if held is None else min(held, last)
        column.number_input(
            f"Token of the {name}",
            0,
            last,
            value=None,
            key=key,
            on_change=address.changed,
            args=(name,),
            placeholder="mean of all",
            help="Counted from 0; empty: the mean over the tokens after the first.",
        )
    q, said_q = _one(found, "query", wish.query)
    k, said_k = _one(found, "key", wish.key)
    columns[2].page_link(
        "pages/attention.py",
        label="Take q and k to the attention page",
        query_params=parameters(found, q, k),
        icon="➡️",
    )
    st.caption(
        f"The two: {literal(said_q)}, {literal(said_k)}. There they are the question “given” of "
        "the score's fall with distance: one query and one key, as measured before the rotation, "
        "under this and any other encoding."
    )


def _one(found: QueriesKeys, name: str, place: int | None) -> tuple[np.ndarray, str]:
    if place is None:
        mean = found.mean_query if name == "query" else found.mean_key
        return mean, f"mean {name}"
    place = min(place, len(found.tokens) - 1)
    vectors = found.queries if name == "query" else found.keys
    return vectors[place], f"{name} of token {place} ({found.tokens[place].strip()!r})"


def parameters(found: QueriesKeys, q: np.ndarray, k: np.ndarray) -> dict[str, str]:
    """The address of the attention page with this query and key, to five significant digits."""
    spec = parse(found.link)
    assert isinstance(spec, RotaryEncoding)
    return {
        **carried.parameters([spec], length=found.window, trained=found.window),
        "question": "given",
        "typed_query": _numbers(q),
        "typed_key": _numbers(k),
    }


def _numbers(vector: np.ndarray) -> str:
    return ",".join(number_text(float(f"{float(one):.5g}")) for one in vector)
