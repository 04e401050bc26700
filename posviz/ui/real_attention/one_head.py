"""One head closely: shares, map, decay, entropy, and its queries and keys."""

from __future__ import annotations

import streamlit as st

from posviz.figures.lab.attention_map import attention_map
from posviz.figures.lab.distance_decay import distance_decay
from posviz.figures.lab.entropy_by_position import entropy_by_position
from posviz.figures.lab.tiles import Head
from posviz.lab.language_model.records import STATISTICS, HeadMap, Observation
from posviz.lab.workers import Job
from posviz.ui.context_extension.tables import table
from posviz.ui.real_attention import code, queries_keys
from posviz.ui.real_attention.drawn import Drawn, draw
from posviz.ui.real_attention.heads import chosen_of
from posviz.ui.real_attention.wish import Wish

RUN = "real_attention_head"
MODULE = "posviz.lab.language_model.observe"


def show(seen: Observation, wish: Wish) -> None:
    """Draw it."""
    head = chosen_of(seen, wish)
    st.markdown(f"#### Layer {head[0]}, head {head[1]}")
    _shares(seen, head)
    left, right = st.columns(2)
    with left:
        draw(_decay(seen, head))
    with right:
        draw(_entropy(seen, head))
    _whole_map(seen, head)
    queries_keys.show(seen, head, wish)


def _shares(seen: Observation, head: Head) -> None:
    rows = []
    for name, words in STATISTICS.items():
        values = seen.statistics[name]
        rank = int((values > values[head]).sum()) + 1
        rows.append([words, f"{float(values[head]):.3g}", f"{rank} of {values.size}"])
    st.html(table(["statistic", "this head", "rank, the largest first"], rows, name="posviz-head"))


def _decay(seen: Observation, head: Head) -> Drawn:
    layer, number = head
    figure = distance_decay.build(
        seen.without_first[head],
        seen.predicted_mean[head],
        seen.predicted_equal,
        seen.by_distance[head],
        label=f"layer {layer}, head {number}",
    )
    last = f"print(seen.without_first[{layer}, {number}], seen.predicted_mean[{layer}, {number}])"
    fit = float(seen.statistics["prediction"][head])
    return Drawn(
        "distance-decay",
        distance_decay,
        figure,
        code.observation(seen, last),
        notes=(
            f"Logarithms of measured and predicted attention correlate by {fit:.2f} over the "
            "nearer half of the distances.",
            f"Equal content is taken with a logit of {seen.match:g}; a key equal to its query "
            f"would have {float(seen.sizes[head]):.3g} in this head.",
        ),
    )


def _entropy(seen: Observation, head: Head) -> Drawn:
    layer, number = head
    return Drawn(
        "entropy",
        entropy_by_position,
        entropy_by_position.build(seen.entropy, layer, number),
        code.observation(seen, f"print(seen.entropy[{layer}, {number}], seen.most_entropy)"),
        notes=(
            "On average the head's entropy is "
            f"{float(seen.statistics['entropy'][head]):.0%} of ln of the number of keys.",
        ),
    )


def _whole_map(seen: Observation, head: Head) -> None:
    from posviz.ui.lab import job_status, progress, result_of, run_job

    text = code.text_of(seen)
    found: HeadMap | None = result_of(RUN)
    if found is not None and not _is_of(found, seen, head):
        found = None
    status = job_status(RUN)
    if found is None:
        st.button(
            f"Map of layer {head[0]}, head {head[1]}, token by token",
            key="whole-map",
            on_click=run_job,
            args=(RUN, Job(f"{MODULE}:head_map", _arguments(seen, text, head))),
            disabled=status is not None and status.is_active,
            help="A pass through the model up to this layer: a second or two.",
        )
    progress(RUN)
    if found is not None:
        draw(_map(found, seen))


def _arguments(seen: Observation, text: str, head: Head) -> dict[str, object]:
    return {"model": seen.model, "text": text, "layer": head[0], "head": head[1]}


def _is_of(found: HeadMap, seen: Observation, head: Head) -> bool:
    return (found.model, found.layer, found.head, found.tokens) == (seen.model, *head, seen.tokens)


def _map(found: HeadMap, seen: Observation) -> Drawn:
    figure = attention_map.build(
        found.weights,
        found.received,
        found.entropy,
        tokens=found.tokens,
        label=f"layer {found.layer}, head {found.head}",
    )
    arguments = f", layer={found.layer}, head={found.head}"
    return Drawn(
        "attention-map",
        attention_map,
        figure,
        code.call(
            MODULE,
            "head_map",
            found.model,
            code.text_of(seen),
            "print(seen.weights)",
            arguments=arguments,
        ),
        title=f"Attention of layer {found.layer}, head {found.head}",
        height=560,
        legend=False,
    )
