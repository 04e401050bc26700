"""The section on an encoder with learned positions: what breaks when its position ids change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import streamlit as st

from posviz.figures.lab.position_breaks import neighbour_shares, permuted_maps
from posviz.lab.hashes import text_hash
from posviz.lab.language_model import stored
from posviz.lab.language_model.orders import ORDERS, WORD_ORDER
from posviz.lab.language_model.records import Permuted
from posviz.lab.language_model.sources import MINILM
from posviz.lab.workers import Job
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal
from posviz.ui.real_attention import address, code, csv_tables, model_choice
from posviz.ui.real_attention.clicks import clicked
from posviz.ui.real_attention.drawn import Drawn, draw
from posviz.ui.real_attention.wish import LONGEST_IN_ADDRESS, Wish

RUN = "real_attention_bert"
TASK = "posviz.lab.language_model.bert:permuted"
DOTS = "neighbours"
LESSONS = {
    "a head that looks at the words beside, ids shuffled": {"section": "bert"},
    "the same words in another order, all ids equal": {
        "section": "bert",
        "bert_text": WORD_ORDER[0],
        "bert_other": WORD_ORDER[1],
        "bert_order": "equal",
    },
    "all ids raised: learned rows are no distances": {"section": "bert", "bert_order": "shifted"},
}


def show(wish: Wish) -> None:
    """Draw the section."""
    from posviz.ui.lab import job_status, progress, result_of, run_job

    st.markdown(
        f"{MINILM.title} is an encoder of the BERT family: a learned vector per position id is "
        "added to each token's vector, and nothing else in it knows about places. Here the tokens "
        "stay where they are and only the ids change: what follows the ids is what the model knows "
        "of positions."
    )
    model_choice.start_from(LESSONS)
    _controls(wish)
    problem = model_choice.problem(MINILM.name)
    if problem:
        model_choice.tell_of_missing(problem)
    status = job_status(RUN)
    if st.button(
        "Run",
        type="primary",
        key="permute",
        disabled=bool(problem) or (status is not None and status.is_active),
        help="Two passes through a small model: a few seconds, the first time some more.",
    ):
        code.remember(arguments(wish)["text"])
        run_job(RUN, Job(TASK, arguments(wish)))
    progress(RUN)
    own: Permuted | None = result_of(RUN)
    found = stored.stored(Permuted) if own is None else own
    if found is None:
        st.caption(f"Not run yet, and nothing is stored: `{stored.COMMAND}` stores it.")
        return
    if own is None:
        model_choice.label_stored()
    if not _is_of(found, wish):
        st.info(
            "What stands below is of other texts or position ids than those above"
            + ("." if problem else "; press Run.")
        )
    _results(found, wish)
    _facts(found, is_stored=own is None)


def _is_of(found: Permuted, wish: Wish) -> bool:
    wanted = arguments(wish)
    return (found.facts["text_sha256"], found.order, found.other) == (
        text_hash(wanted["text"]),
        wanted["order"],
        wanted["other"],
    ) and (found.order != "shuffled" or found.seed == wanted["seed"])


def _facts(found: Permuted, *, is_stored: bool) -> None:
    with st.expander("Where these numbers come from"):
        if is_stored:
            st.markdown(f"Stored with PosViz. To make them again: `{stored.COMMAND}`")
        rows = [["seed of shuffled ids", str(found.seed)]]
        rows += [[name, str(value)] for name, value in found.facts.items()]
        st.html(table(["what", "value"], rows, name="posviz-facts"))


def arguments(wish: Wish) -> dict[str, Any]:
    """What is run."""
    return {
        "model": MINILM.name,
        "text": wish.bert_text or model_choice.passage(),
        "order": wish.bert_order,
        "seed": wish.bert_seed,
        "other": wish.bert_other,
    }


def _controls(wish: Wish) -> None:
    left, right = st.columns([3, 2])
    st.session_state.setdefault(address.key("bert_text"), wish.bert_text or model_choice.passage())
    left.text_area(
        "Text",
        key=address.key("bert_text"),
        height=110,
        max_chars=LONGEST_IN_ADDRESS,
        on_change=_text_changed,
        help="What the encoder reads, at most 512 tokens of it.",
    )
    right.text_area(
        "Second text, for likeness",
        key=address.control("bert_other"),
        height=110,
        max_chars=LONGEST_IN_ADDRESS,
        on_change=address.changed,
        args=("bert_other",),
        help="The cosine of the two embeddings is measured with true ids and with the other ones. "
        "It may be empty.",
    )
    columns = st.columns([3, 1, 1, 1], vertical_alignment="bottom")
    columns[0].selectbox(
        "Other position ids",
        list(ORDERS),
        format_func=lambda order: f"{order}: {ORDERS[order]}",
        key=address.control("bert_order"),
        on_change=address.changed,
        args=("bert_order",),
    )
    for column, name, label, most in zip(
        columns[1:],
        ("bert_seed", "bert_layer", "bert_head"),
        ("Seed of shuffled", "Layer", "Head"),
        (1_000_000, 127, 127),
        strict=True,
    ):
        column.number_input(
            label,
            0,
            most,
            key=address.control(name),
            on_change=address.changed,
            args=(name,),
            disabled=name == "bert_seed" and wish.bert_order != "shuffled",
        )


def _text_changed() -> None:
    typed = st.session_state[address.key("bert_text")]
    is_own = bool(typed.strip()) and typed != model_choice.passage()
    address.choose(bert_text=typed if is_own else "")
    st.session_state[address.key("bert_text")] = typed if is_own else model_choice.passage()


def _results(found: Permuted, wish: Wish) -> None:
    head = min(wish.bert_layer, found.layers - 1), min(wish.bert_head, found.heads - 1)
    count = len(found.tokens)
    cut = "" if found.cut_from <= count else f", cut from {found.cut_from:,}"
    st.markdown(
        f"**{literal(found.title)}** read **{count:,} tokens**{cut} with true ids and with "
        f"**{found.order}** ids ({ORDERS[found.order]}): {found.layers} layers × {found.heads} "
        "heads."
    )
    columns = st.columns(4)
    columns[0].metric(
        "cosine of the text's two embeddings",
        f"{found.cosine:.4f}",
        help="Between what the model makes of the text with true ids and with the other ones: 1 "
        "where the ids do not matter to it.",
    )
    columns[1].metric(
        f"weight moved in layer {head[0]}, head {head[1]}",
        f"{float(found.change[head]):.0%}",
        help="The share of a query's attention that went to other tokens, mean of all queries: 0% "
        "for the same map, 100% where no weight stayed.",
    )
    if not math.isnan(found.similarity):
        columns[2].metric("likeness of the two texts, true ids", f"{found.similarity:.4f}")
        columns[3].metric(f"the same, {found.order} ids", f"{found.permuted_similarity:.4f}")
    st.markdown(_broken(found))
    draw(_maps(found, head))
    draw(_neighbours(found, head), on_select=clicked(f"plot-{DOTS}", "bert_layer", "bert_head"))


def _broken(found: Permuted) -> str:
    """What breaks, and what follows the ids instead, in the head that looks beside it most."""
    place = np.unravel_index(int(np.argmax(found.neighbours)), found.neighbours.shape)
    true, text, ids = (
        float(one[place])
        for one in (found.neighbours, found.permuted_neighbours, found.id_neighbours)
    )
    return (
        f"The head that looks at its neighbours most, layer {place[0]}, head {place[1]}, gives "
        f"them {true:.0%} of its attention with true ids. With {found.order} ids {text:.0%} goes "
        f"to the neighbours in the text{_by_id(found.order, ids)}."
    )


def _by_id(order: str, share: float) -> str:
    """The same of tokens whose ids are neighbours, where those are other tokens."""
    if math.isnan(share):
        return "; no id has a neighbour"
    if order == "shifted":
        return ", whose ids are neighbours still"
    return f", and {share:.0%} to the tokens whose ids are neighbours"


def _maps(found: Permuted, head: tuple[int, int]) -> Drawn:
    figure = permuted_maps.build(
        found.maps, found.permuted_maps, found.map_places, head=head, order=found.order
    )
    return Drawn(
        "permuted-maps",
        permuted_maps,
        figure,
        _code(found, "print(seen.maps, seen.permuted_maps)"),
        title=f"Layer {head[0]}, head {head[1]}: true and {found.order} position ids",
        height=420,
        legend=False,
    )


def _neighbours(found: Permuted, head: tuple[int, int]) -> Drawn:
    figure = neighbour_shares.build(
        found.neighbours, found.permuted_neighbours, found.id_neighbours, chosen=head
    )
    return Drawn(
        DOTS,
        neighbour_shares,
        figure,
        _code(found, "print(seen.neighbours, seen.permuted_neighbours, seen.id_neighbours)"),
        csv=lambda: csv_tables.neighbours(found),
    )


def _code(found: Permuted, last: str) -> str:
    more = f", order={found.order!r}, seed={found.seed}"
    more += f", other={found.other!r}" if found.other else ""
    return code.call(
        "posviz.lab.language_model.bert",
        "permuted",
        found.model,
        code.text_of(found),
        last,
        arguments=more,
    )
