"""One head closely: shares, map, decay, entropy, and its queries and keys."""

from __future__ import annotations

import streamlit as st

from posviz.figures.lab.attention_map import attention_map
from posviz.figures.lab.distance_decay import distance_decay
from posviz.figures.lab.entropy_by_position import entropy_by_position
from posviz.figures.lab.tiles import Head
from posviz.lab.language_model import stored
from posviz.lab.language_model.records import (
    STATISTICS,
    Closely,
    HeadMap,
    Observation,
    QueriesKeys,
)
from posviz.lab.workers import Job
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal
from posviz.ui.real_attention import code, model_choice, queries_keys
from posviz.ui.real_attention.drawn import Drawn, draw
from posviz.ui.real_attention.heads import chosen_of
from posviz.ui.real_attention.number import number
from posviz.ui.real_attention.wish import Wish

RUN = "real_attention_closely"
TASK = "posviz.lab.language_model.heads:closely"
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
    _closely(seen, head, wish)


def _shares(seen: Observation, head: Head) -> None:
    rows = []
    for name, words in STATISTICS.items():
        values = seen.statistics[name]
        rank = int((values > values[head]).sum()) + 1
        rows.append([words, number(values[head], ".3g"), f"{rank} of {values.size}"])
    st.html(table(["statistic", "this head", "rank, the largest first"], rows, name="posviz-head"))


def _decay(seen: Observation, head: Head) -> Drawn:
    layer, place = head
    figure = distance_decay.build(
        seen.without_first[head],
        seen.predicted_mean[head],
        seen.predicted_equal[layer],
        seen.predicted_none,
        seen.by_distance[head],
        label=f"layer {layer}, head {place}",
    )
    last = f"print(seen.without_first[{layer}, {place}], seen.predicted_mean[{layer}, {place}])"
    fit = float(seen.statistics["prediction"][head])
    return Drawn(
        "distance-decay",
        distance_decay,
        figure,
        code.observation(seen, last),
        notes=(
            f"Over the nearer half of the distances, and with the grey curve of no positions taken "
            "out of both, the logarithms of measured and predicted correlate by "
            f"{number(fit, '.3g')}.",
            f"Equal content is drawn for a logit of {seen.match:g} in every head, so as to show "
            "the shape; a query and a key of this head's mean sizes that point the same way would "
            f"have {float(seen.sizes[head]):.3g}.",
        ),
    )


def _entropy(seen: Observation, head: Head) -> Drawn:
    layer, place = head
    return Drawn(
        "entropy",
        entropy_by_position,
        entropy_by_position.build(seen.entropy, layer, place),
        code.observation(seen, f"print(seen.entropy[{layer}, {place}], seen.most_entropy)"),
        notes=(
            "On average the head's entropy is "
            f"{float(seen.statistics['entropy'][head]):.0%} of ln of the number of keys.",
        ),
    )


def _closely(seen: Observation, head: Head, wish: Wish) -> None:
    """The whole map, and queries and keys: what is stored, or what one job gives."""
    from posviz.ui.lab import job_status, progress, result_of, run_job

    found = next((one for one in _known(result_of(RUN)) if _is_of(one, seen, head)), None)
    if found is None:
        problem = model_choice.problem(seen.model) or literal(_without_text(seen))
        status = job_status(RUN)
        st.button(
            f"Look closely at layer {head[0]}, head {head[1]}",
            key="closely",
            on_click=run_job,
            args=(RUN, Job(TASK, _arguments(seen, head))),
            disabled=bool(problem) or (status is not None and status.is_active),
            help="The whole map, and queries and keys: a pass through the model up to this layer, "
            "a second or two once the model is loaded.",
        )
        if problem:
            st.markdown(f":small[Another head needs the model. {problem}]")
    progress(RUN)
    if found is not None:
        draw(_map(found.map, seen))
        queries_keys.show(found.pair, seen, wish)


def _known(own: Closely | None) -> list[Closely]:
    """What can be shown of single heads: what this session has run, and what is stored."""
    head_map, pair = stored.stored(HeadMap), stored.stored(QueriesKeys)
    found = [] if own is None else [own]
    if head_map is not None and pair is not None:
        found.append(Closely(map=head_map, pair=pair))
    return found


def _without_text(seen: Observation) -> str:
    return "" if code.text_of(seen) else "Its text is no longer kept in this session: press Run."


def _arguments(seen: Observation, head: Head) -> dict[str, object]:
    text = code.text_of(seen)
    return {"model": seen.model, "text": text, "layer": head[0], "head": head[1]}


def _is_of(found: Closely, seen: Observation, head: Head) -> bool:
    one = found.map
    return (one.model, one.layer, one.head, one.tokens) == (seen.model, *head, seen.tokens)


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
        height=640,
        legend=False,
    )
