"""A page for the lab's own tests: jobs that count, and a figure that grows while they do."""

import numpy as np
import streamlit as st

from posviz.figures.spec import FigureSpec, axis, curve, figure, layout
from posviz.lab.workers import Job
from posviz.ui.lab import figures_in_place, progress, result_of, run_job
from posviz.ui.panel import Panel


@figure(title="A wave", formula="y = \\sin(t / 20)", help="It grows.", limits="Nothing else.")
def wave(y: np.ndarray) -> FigureSpec:
    data = [curve("wave", 0, np.arange(y.size), y, hover="%{y}")]
    return FigureSpec(data, layout(axis("time"), axis("height")))


def show(y) -> None:
    panels = [
        Panel(name, wave, "time", wave.build(y / part), {}, [f"{y.size} points"])
        for part, name in enumerate(["whole", "half"], start=1)
    ]
    figures_in_place("waves", panels)


def draw(status) -> None:
    if status.progress is not None:
        show(status.progress.partial)


st.set_page_config(layout="wide")
st.title("Jobs")
st.session_state["page runs"] = st.session_state.get("page runs", 0) + 1
st.write(f"page run {st.session_state['page runs']}")
if st.button("Count"):
    run_job("count", Job("slow_tasks:count", {"steps": 25, "pause": 0.2}))
if st.button("Count long"):
    run_job("count", Job("slow_tasks:count", {"steps": 600, "pause": 0.1}))
if st.button("Count fast"):
    run_job("count", Job("slow_tasks:count", {"steps": 3, "pause": 0.01}))
if st.button("Refuse"):
    run_job("other", Job("slow_tasks:refuse"))
progress("count", draw, show)
progress("other")
st.write(f"result: {None if result_of('count') is None else result_of('count').size}")
