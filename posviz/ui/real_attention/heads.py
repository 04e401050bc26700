"""All heads of the model at once: small multiples, sorted, each to be clicked."""

from __future__ import annotations

import numpy as np
import streamlit as st

from posviz.figures.lab.decay_grid import decay_grid
from posviz.figures.lab.head_grid import head_grid
from posviz.figures.lab.head_statistics import head_statistics
from posviz.figures.lab.tiles import Head, Tiles, in_model_order, sorted_tiles
from posviz.lab.language_model.records import STATISTICS, Observation
from posviz.ui.context_extension.tables import table
from posviz.ui.real_attention import address, code, csv_tables
from posviz.ui.real_attention.clicks import clicked
from posviz.ui.real_attention.drawn import Drawn, draw
from posviz.ui.real_attention.number import number
from posviz.ui.real_attention.wish import Wish

ORDERS = {"layer": "layer and head, as in the model", **STATISTICS}
TILES = {"maps": "Attention maps", "decay": "Measured and predicted decay"}
GRID, DOTS = "heads", "head-statistics"
NARROWEST = 1000
_LISTED = 10
_TILE = 38
"""Height of a row of tiles, pixels."""


def show(seen: Observation, wish: Wish) -> None:
    """Draw them."""
    _controls(seen)
    chosen = chosen_of(seen, wish)
    tiles = tiles_of(seen, wish)
    draw(_grid(seen, wish, tiles, chosen), on_select=clicked(f"plot-{GRID}"))
    statistic = wish.order if wish.order in STATISTICS else "prediction"
    draw(_dots(seen, wish, statistic, chosen), on_select=clicked(f"plot-{DOTS}"))
    _largest(seen, statistic)


def chosen_of(seen: Observation, wish: Wish) -> Head:
    """The head that is shown closely; of a model with fewer, its last one."""
    return min(wish.layer, seen.layers - 1), min(wish.head, seen.heads - 1)


def tiles_of(seen: Observation, wish: Wish) -> Tiles:
    if wish.order in STATISTICS:
        return sorted_tiles(seen.ranked(wish.order), columns=seen.layers)
    return in_model_order(seen.layers, seen.heads)


def _controls(seen: Observation) -> None:
    columns = st.columns([3, 3, 1, 1], vertical_alignment="bottom")
    columns[0].segmented_control(
        "Each tile shows",
        list(TILES),
        format_func=TILES.__getitem__,
        required=True,
        key=address.control("tiles"),
        on_change=address.changed,
        args=("tiles",),
    )
    columns[1].selectbox(
        "Heads sorted by",
        list(ORDERS),
        format_func=ORDERS.__getitem__,
        key=address.control("order"),
        on_change=address.changed,
        args=("order",),
        help="The largest first. In the model's own order a column is a layer, from the left, and "
        "a row is a head.",
    )
    for column, name, count in zip(
        columns[2:], ("layer", "head"), (seen.layers, seen.heads), strict=True
    ):
        key = address.control(name)
        st.session_state[key] = min(st.session_state[key], count - 1)
        column.number_input(
            name.capitalize(),
            0,
            count - 1,
            key=key,
            on_change=address.changed,
            args=(name,),
            help="The head that is shown closely below; a click on a tile chooses it, too.",
        )


def _notes(seen: Observation, tiles: Tiles) -> list[str]:
    return [
        "<br>".join(
            f"{words}: {number(seen.statistics[name][head], '.3g')}"
            for name, words in STATISTICS.items()
        )
        for head in tiles.heads
    ]


def _grid(seen: Observation, wish: Wish, tiles: Tiles, chosen: Head) -> Drawn:
    notes = _notes(seen, tiles)
    count = seen.layers * seen.heads
    sorted_by = f", sorted by {ORDERS[wish.order]}" if wish.order in STATISTICS else ""
    if wish.tiles == "maps":
        figure = head_grid.build(seen.maps, tiles, notes=notes, chosen=chosen)
        return Drawn(
            GRID,
            head_grid,
            figure,
            code.observation(seen, "print(seen.maps.shape, seen.map_places)"),
            title=f"Attention map of all {count} heads{sorted_by}",
            csv=lambda: csv_tables.maps(seen, tiles.heads),
            height=_height(tiles),
            legend=False,
            narrowest=NARROWEST,
        )
    figure = decay_grid.build(
        seen.without_first,
        seen.predicted_mean,
        seen.predicted_none,
        tiles,
        notes=notes,
        chosen=chosen,
    )
    return Drawn(
        GRID,
        decay_grid,
        figure,
        code.observation(
            seen, "print(seen.without_first, seen.predicted_mean, seen.predicted_none)"
        ),
        title=f"Measured and predicted decay of all {count} heads{sorted_by}",
        csv=lambda: csv_tables.decays(seen, tiles.heads),
        height=_height(tiles),
        narrowest=NARROWEST,
    )


def _dots(seen: Observation, wish: Wish, statistic: str, chosen: Head) -> Drawn:
    words = STATISTICS[statistic]
    figure = head_statistics.build(
        seen.statistics[statistic],
        words=words,
        chosen=chosen,
        across="rank" if wish.order in STATISTICS else "layer",
    )
    return Drawn(
        DOTS,
        head_statistics,
        figure,
        code.observation(seen, f'print(seen.statistics["{statistic}"])'),
        title=f"Every head: {words}",
        height=360,
        legend=False,
        notes=(_spread(seen, statistic),),
        csv=lambda: csv_tables.statistics(seen),
    )


def _spread(seen: Observation, statistic: str) -> str:
    low, middle, high = (
        number(one, ".3g") for one in np.percentile(seen.statistics[statistic], (5, 50, 95))
    )
    return (
        f"Half of the heads lie below {middle}, a twentieth below {low} and a twentieth "
        f"above {high}."
    )


def _largest(seen: Observation, statistic: str) -> None:
    """The heads that have most of it, to be read off."""
    values = seen.statistics[statistic]
    rows = [
        [str(head[0]), str(head[1]), number(values[head], ".3g")]
        for head in seen.ranked(statistic)[:_LISTED]
    ]
    with st.expander(f"The {len(rows)} heads with the largest value"):
        st.html(table(["layer", "head", STATISTICS[statistic]], rows, name="posviz-largest"))


def _height(tiles: Tiles) -> int:
    return 90 + _TILE * max(tiles.rows, 3)
