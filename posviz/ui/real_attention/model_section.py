"""The section on a language model: what every one of its heads does with a text."""

from __future__ import annotations

from typing import Any

import streamlit as st

from posviz.lab.language_model.records import Observation
from posviz.lab.language_model.sources import SMOLLM2
from posviz.lab.workers import Job, Status
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal
from posviz.ui.real_attention import code, heads, model_choice, one_head
from posviz.ui.real_attention.wish import Wish

RUN = "real_attention_observation"
OBSERVE = "posviz.lab.language_model.observe:observe"


def arguments(wish: Wish) -> dict[str, Any]:
    """What is observed."""
    return {"model": wish.model or SMOLLM2.name, "text": model_choice.text_of(wish)}


def show(wish: Wish) -> None:
    """Draw the section."""
    from posviz.ui.lab import job_status, progress, result_of, run_job

    st.markdown(
        "A language model reads a text once, and every head's attention is kept: where it looks, "
        "how far, how spread out, and whether its distance profile is the one that the model's "
        "rotary frequencies predict."
    )
    left, right = st.columns([2, 3])
    with right:
        model_choice.choose_text(wish)
    with left:
        source = model_choice.choose_model(wish)
        status = job_status(RUN)
        is_busy = status is not None and status.is_active
        if st.button(
            "Run",
            type="primary",
            key="observe",
            disabled=source is None or is_busy,
            help="Loading takes some 20 seconds the first time; then a short text takes seconds.",
        ):
            code.remember(model_choice.text_of(wish))
            run_job(RUN, Job(OBSERVE, arguments(wish)))
    progress(RUN, _nothing)
    seen: Observation | None = result_of(RUN)
    if seen is None:
        _before()
        return
    _facts(seen, wish)
    heads.show(seen, wish)
    one_head.show(seen, wish)


def _nothing(status: Status) -> None:
    """An observation is one forward pass: there is nothing to draw of a part of it."""


def _before() -> None:
    st.caption(
        "Not run yet. After a run stand here: all heads as small maps, sorted by what you choose; "
        "the map of one head with its margins; mean attention against distance beside what the "
        "frequencies predict; entropy against position beside ln(n); and the shares on the first "
        "token and on the diagonal."
    )


def _facts(seen: Observation, wish: Wish) -> None:
    count = len(seen.tokens)
    cut = "" if seen.cut_from <= count else f", cut from {seen.cut_from:,}"
    st.markdown(
        f"**{literal(seen.title)}** read **{count:,} tokens**{cut} in {seen.seconds:.1f} s: "
        f"{seen.layers} layers × {seen.heads} heads = {seen.layers * seen.heads} heads over "
        f"{seen.key_heads} key heads a layer. The core, given the same q and k and the encoding "
        f"`{seen.link}`, makes the same weights to {seen.largest_gap:.1e}."
    )
    if not _is_of(seen, wish):
        st.info("What stands below is of another text or model than the one above; press Run.")
    with st.expander("Where these numbers come from"):
        rows = [[name, str(value)] for name, value in seen.facts.items()]
        st.html(table(["what", "value"], rows, name="posviz-facts"))


def _is_of(seen: Observation, wish: Wish) -> bool:
    return seen.model == (wish.model or SMOLLM2.name) and code.text_of(
        seen
    ) == model_choice.text_of(wish)
