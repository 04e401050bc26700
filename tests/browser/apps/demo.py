"""A page for the live board's own tests: eight panels of plain waves and a map of a plain slope."""

import gc
import json

import numpy as np
import streamlit as st

from posviz.ui.live import board, last_request, pack

KEY = "demo"
NAMES = ["First", "Second", "Third", "Fourth", "Ghost"]
COLORS = [
    {"light": "#0072b2", "dark": "#56b4e9"},
    {"light": "#b04a00", "dark": "#ff9f57"},
    {"light": "#00745a", "dark": "#4fd6ae"},
    {"light": "#a13d7c", "dark": "#f09bd0"},
    {"light": "#6b6b6b", "dark": "#b5b5b5"},
]
DASHES = ["solid", "dash", "dot", "dashdot", "longdash"]
START = {
    "base": 10000.0,
    "factor": 4.0,
    "shift": None,
    "wide": True,
    "kind": "sine",
    "list": None,
    "pair": 12,
    "distance": 100,
}
PAIRS = np.arange(64)
DISTANCES = np.unique(np.round(np.geomspace(1, 2.0**17, 800)))
CELLS = 512
TOKENS = 128  # in each cell of the map
SCALE = [
    [0.0, "#A50026"],
    [0.5, {"light": "#FFFFFF", "dark": "#1A1E26"}],
    [1.0, "#08519C"],
]
BLANK = "A page may explain at length what is to be seen here, so that nobody has to guess. " * 3


def curve(panel: int, trace: int, values: dict) -> np.ndarray:
    """Exact and easy to check: what the tests compare with."""
    factor = 4.0 if trace == 4 else values["factor"]
    if panel % 2 == 0:
        return values["base"] ** (PAIRS / 64) * (1 + trace * factor / 10)
    decay = np.cos(np.log(DISTANCES) * (1 + panel / 4) + trace * factor / 8)
    curve = decay / (1 + np.log10(DISTANCES) / 2)
    if (panel, trace) == (1, 2):
        curve[300:310] = np.nan  # a gap, as between two parts of one method
    return curve


def figure(panel: int, values: dict) -> dict:
    x = PAIRS if panel % 2 == 0 else DISTANCES
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": NAMES[trace],
            "x": x,
            "y": curve(panel, trace, values),
            "line": {"color": COLORS[trace], "dash": DASHES[trace], "width": 1.8},
        }
        for trace in range(5)
    ]
    pairs = panel % 2 == 0
    layout = {
        "xaxis": {"title": "pair" if pairs else "distance (tokens)"},
        "yaxis": {"title": "wavelength (tokens)" if pairs else "score"},
    }
    (layout["yaxis"] if pairs else layout["xaxis"])["type"] = "log"
    if panel == 0:
        layout["shapes"] = [
            {
                "type": "line",
                "x0": 0,
                "x1": 1,
                "xref": "paper",
                "y0": 4096,
                "y1": 4096,
                "line": {"color": COLORS[1], "dash": "dot"},
            }
        ]
    return {"data": traces, "layout": layout}


def panel(number: int, values: dict, have: dict) -> dict:
    key = f"{values['base']}-{values['factor']}"
    name = f"p{number}"
    if have.get(name) == key:
        return {"id": name, "key": key}
    return {
        "id": name,
        "key": key,
        "title": f"Panel {number}",
        "subtitle": "over pairs" if number % 2 == 0 else "over distance",
        "notes": ["12 kept", "20 blended", "32 divided"] if number == 0 else [],
        "span": 1,
        "figure": figure(number, values),
        "cursor": "pair" if number % 2 == 0 else "distance",
        "formula": {
            "mathml": "<math><mi>y</mi><mo>=</mo><msup><mi>b</mi><mfrac><mn>@{pair}</mn><mn>64</mn>"
            "</mfrac></msup><mo>=</mo><mn>@{value}</mn></math>",
            "slots": {
                "pair": {"index": "pair"},
                "value": {"index": "pair", "values": values["base"] ** (PAIRS / 64)},
            },
        },
        "help": BLANK,
        "limits": BLANK,
    }


def heat(values: dict, have: dict) -> dict:
    """A map that falls from 1 on the diagonal; what lies right of the diagonal is blank."""
    key = str(values["shift"])
    if have.get("heat") == key:
        return {"id": "heat", "key": key}
    row, column = np.mgrid[:CELLS, :CELLS]
    z = 1 - (2 - (values["shift"] or 0) / 10) * (row - column) / (CELLS - 1)
    middles = (np.arange(CELLS) + 0.5) * TOKENS
    trace = {
        "type": "heatmap", "name": "Slope", "x": middles, "y": middles,
        "z": np.where(column > row, np.nan, z), "zmin": -1.0, "zmax": 1.0, "colorscale": SCALE,
        "colorbar": {"title": {"text": "score"}},
    }  # fmt: skip
    end = CELLS * TOKENS
    layout = {
        "xaxis": {"title": {"text": "key position (tokens)"}, "range": [0, end]},
        "yaxis": {"title": {"text": "query position (tokens)"}, "range": [end, 0]},
    }
    return {
        "id": "heat", "key": key, "title": "A map", "subtitle": "", "notes": [], "span": 1,
        "figure": {"data": [trace], "layout": layout}, "cursor": None, "formula": None,
        "help": BLANK, "limits": BLANK,
    }  # fmt: skip


def number(name: str, label: str, lower, upper, slider, step, scale="linear", **more) -> dict:
    return {
        "name": name, "label": label, "kind": "number", "lower": lower, "upper": upper,
        "lower_included": False, "upper_included": True, "slider": slider, "step": step,
        "scale": scale, "unit": "", "help": f"What {label} means, in a sentence.",
        "integer": False, "optional": False, "default": START[name], **more,
    }  # fmt: skip


CONTROLS = [
    {
        "title": "Model",
        "note": "",
        "items": [
            number("base", "base", 1, None, [100, 1000000], None, "log"),
            number("pair", "pair", 0, 63, [0, 63], 1, integer=True, play=True, lower_included=True),
            number("distance", "distance", 0, 131072, [1, 131072], 1, "log", integer=True),
        ],
    },
    {
        "title": "Method",
        "note": "What the method may change.",
        "items": [
            number("factor", "factor", 0, None, [1, 16], 0.05, unit="×"),
            number("shift", "shift", 0, 10, [0, 10], 0.1, optional=True, auto="1.277 from s"),
            {"name": "wide", "label": "wide", "kind": "switch", "default": True, "help": ""},
            {"name": "kind", "label": "kind", "kind": "choice", "default": "sine",
             "choices": [{"value": "sine", "label": "Sine"}, {"value": "none", "label": "None"}]},
            {"name": "list", "label": "list", "kind": "text", "optional": True, "default": None},
            {"name": "odd", "label": "odd", "kind": "dial"},
        ],
    },
]  # fmt: skip


@st.fragment
def live() -> None:
    request = last_request(KEY) or {}
    seq = request.get("seq", 0)
    values = request.get("values") or START
    action = request.get("action")
    if action and st.session_state.get("done") == seq:
        action = None
    if action:
        st.session_state["done"] = seq
    if action == "reset":
        values = START
        st.session_state["epoch"] = seq
    header = {
        "stamp": seq,
        "epoch": str(st.session_state.get("epoch", 0)),
        "values": values,
        "controls_key": "demo",
        "problems": [{"control": None, "severity": "info", "text": "A demonstration."}]
        if values["factor"] > 15
        else [],
        "panels": [
            *(panel(n, values, request.get("have", {})) for n in range(8)),
            heat(values, request.get("have", {})),
        ],
        "texts": [
            {"id": "vllm", "group": "Settings out", "title": "vLLM", "language": "json",
             "text": json.dumps(values, indent=1), "notes": ["What it cannot express."]},
            {"id": "hf", "group": "Settings out", "title": "transformers", "language": "json",
             "text": json.dumps(values), "notes": []},
            {"id": "code", "group": "Code", "title": "Python", "language": "python",
             "text": f"factor = {values['factor']}", "notes": []},
        ],
        "legend": [
            {"name": name, "color": color, "dash": dash}
            for name, color, dash in zip(NAMES, COLORS, DASHES, strict=True)
        ],
        "address": f"base={values['base']}&factor={values['factor']}",
    }  # fmt: skip
    if request.get("controls_key") != "demo":
        header["controls"] = CONTROLS
    if isinstance(action, dict) and "csv" in action:
        y = curve(int(action["csv"][1:]), 0, values)
        header["download"] = {
            "name": f"{action['csv']}.csv",
            "mime": "text/csv",
            "text": "y\n" + "\n".join(map(str, y)),
        }
    board(pack(header, known=request.get("known", ())), key=KEY)


st.set_page_config(page_title="Live board", layout="wide")
if "frozen" not in st.session_state:
    gc.collect()
    gc.freeze()
    st.session_state["frozen"] = True
live()
