"""The section on a language model: what every one of its heads does with a text."""

from __future__ import annotations

from typing import Any

import streamlit as st

from posviz.lab.language_model import stored
from posviz.lab.language_model.records import Observation
from posviz.lab.language_model.sources import SMOLLM2
from posviz.lab.workers import Job, Status
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal
from posviz.ui.real_attention import code, heads, model_choice, one_head
from posviz.ui.real_attention.number import number
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
        "how far, how spread out, and how much of its fall with distance comes from positions: "
        "beside what was measured stand the fall that any causal attention has, and the one that "
        "the rotation makes of this head's mean query and key."
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
    own: Observation | None = result_of(RUN)
    seen = stored.stored(Observation) if own is None else own
    if seen is None:
        st.caption(f"Not run yet, and nothing is stored: `{stored.COMMAND}` stores it.")
        return
    _facts(seen, wish, is_stored=own is None, can_run=source is not None)
    _words()
    heads.show(seen, wish)
    one_head.show(seen, wish)


def _nothing(status: Status) -> None:
    """An observation is one forward pass: there is nothing to draw of a part of it."""


def _facts(seen: Observation, wish: Wish, *, is_stored: bool, can_run: bool) -> None:
    count = len(seen.tokens)
    if is_stored:
        model_choice.label_stored()
    cut = "" if seen.cut_from <= count else f", cut from {seen.cut_from:,}"
    took = "" if is_stored else f" in {seen.seconds:.1f} s"
    links = ", ".join(f"`{link}`" for link in seen.links)
    st.markdown(
        f"**{literal(seen.title)}** read **{count:,} tokens**{cut}{took}: "
        f"{seen.layers} layers × {seen.heads} heads = {seen.layers * seen.heads} heads over "
        f"{seen.key_heads} key heads a layer, with the encoding {links}. "
        + (
            ""
            if seen.odd_layers
            else "The core of PosViz, given the same q and k, makes the same weights to "
            f"{number(seen.largest_gap, '.1e')}."
        )
    )
    if seen.odd_layers:
        st.warning(_odd(seen))
    if not _is_of(seen, wish):
        st.info(
            "What stands below is "
            + ("stored, of the passage that comes with PosViz" if is_stored else "of another run")
            + ", and not of the text and model above"
            + ("; press Run." if can_run else ".")
        )
    with st.expander("Where these numbers come from"):
        if is_stored:
            st.markdown(f"Stored with PosViz. To make them again: `{stored.COMMAND}`")
        rows = [["seed", "none: nothing here is drawn at random"]]
        rows += [[name, str(value)] for name, value in seen.facts.items()]
        st.html(table(["what", "value"], rows, name="posviz-facts"))


def _odd(seen: Observation) -> str:
    layers = seen.odd_layers
    which = "all layers" if len(layers) == seen.layers else f"layer {', '.join(map(str, layers))}"
    return (
        f"The core does not make this model's weights from its q and k: in {which} they differ by "
        f"up to {number(seen.largest_gap, '.2g')}. Attention there has something more than the "
        "rotation, such as a sliding window, sinks or a cap on the logits: what is measured holds, "
        "what is predicted for these layers does not."
    )


def _words() -> None:
    with st.expander("Words used here"):
        st.markdown(
            "- **Core**: PosViz' own code for the encoding, the one behind all its pages.\n"
            "- **Predicted from mean q and k**: the attention where every query is the mean of "
            "this head's queries on this text and every key the mean of its keys, so that only "
            "the rotation tells keys apart.\n"
            "- **No positions**: the attention of equal logits. It falls with distance too, since "
            "far keys are seen only by queries that see many keys.\n"
            "- **Correlation with the prediction**: of the logarithms of the two, each divided by "
            "the curve without positions: 1 where the prediction tells all of what is left.\n"
            "- **Share**: mean weight on the first token (a *sink* where it is large), on the "
            "token itself, or on the token before.\n"
            "- **Entropy over ln(n)**: 1 where a query spreads its attention evenly over its n "
            "keys, 0 where it rests on one.\n"
            "- **Equal content**: every key equal to its query, an illustration of the frequencies."
        )


def _is_of(seen: Observation, wish: Wish) -> bool:
    return seen.model == (wish.model or SMOLLM2.name) and code.text_of(
        seen
    ) == model_choice.text_of(wish)
