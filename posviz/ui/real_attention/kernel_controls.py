"""The controls of the section on kernels; every value stands in the address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import posviz
from posviz.lab.kernels.shape import KERNELS, LONGEST, PLAN, KernelPlan
from posviz.parameters import ParameterError
from posviz.ui.literal import literal

STATE = "kernels-plan"
"""The values of this tab that differ from the page's own start, as link text."""
START: Mapping[str, Any] = {
    "link": "rope?head_dim=64",
    "kernels": "naive,naive_blocks,sdpa,sdpa_matrix",
    "longest": 2048,
}
"""Where the controls start: what two busy cores do in seconds."""
_SUGGESTED = (
    "rope?head_dim=64",
    "alibi",
    "t5",
    "sliding_window?window=512",
    "yarn?head_dim=64&scaling_factor=4",
    "xpos?head_dim=64",
    "vo_rope?head_dim=64",
    "rerope?head_dim=64",
    "shaw",
    "cope",
    "sinusoidal",
    "nope",
)


def controls() -> KernelPlan | None:
    """Draw them; the plan that they say, or None where that is none, with the reason shown."""
    known = _known()
    values = {**known}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values["link"] = _link(known["link"])
        for name in ("device", "dtype"):
            values[name] = _choice(name, known[name])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in ("batch", "heads", "head_dim", "shortest", "longest"):
            values[name] = _number(name, known[name])
        values["is_causal"] = st.toggle(
            "causal", key=_state("is_causal", known["is_causal"]), help=_help("is_causal")
        )
    values["kernels"] = ",".join(_kernels(known["kernels"]))
    with st.expander("Budget, seed, lengths of your own"):
        for name in ("most_seconds", "most_memory", "seed"):
            values[name] = _number(name, known[name])
        typed = PLAN["lengths"].format(known["lengths"])
        values["lengths"] = st.text_input(
            "lengths (tokens)", key=_state("lengths", typed), help=_help("lengths")
        )
    return _plan(values)


def summary(plan: KernelPlan) -> str:
    """What will be run, in a line."""
    lengths = ", ".join(f"{length:,}" for length in plan.all_lengths)
    compiled = (
        " FlexAttention is compiled for each length, which takes some seconds each on a CPU."
        if "flex" in plan.kernel_names
        else ""
    )
    return literal(
        f"{len(plan.kernel_names)} kernels at {lengths} tokens, at most {plan.most_seconds:g} s "
        f"and {plan.most_memory:g} GiB.{compiled}"
    )


def _known() -> dict[str, Any]:
    """What the address says, else the start; read again when another address was opened."""
    address = {name: text for name, text in st.query_params.items() if name in PLAN}
    state = st.session_state.get(STATE)
    if state is not None and (address == state["address"] or not address):
        return dict(state["values"])
    values: dict[str, Any] = {**KernelPlan().model_dump(), **START}
    for name, text in address.items():
        try:
            values[name] = _checked(name, PLAN[name].parse(text, KernelPlan.title))
        except ParameterError as error:
            st.warning(literal(f"From the address: {error} It was not used."))
    for name in PLAN:
        st.session_state.pop(_key(name), None)
    st.session_state.pop(_key("typed"), None)
    st.session_state[STATE] = {"address": address, "values": values}
    return dict(values)


def _checked(name: str, value: Any) -> Any:
    """The value, if a plan can have it; a rule between two lengths is the whole plan's.

    Raises
    ------
    ParameterError : of another kind, outside of its range, or no choice.
    """
    room = {"shortest": {"longest": LONGEST}, "longest": {"shortest": 2}}.get(name, {})
    return getattr(KernelPlan(**{**room, name: value}), name)


def _plan(values: dict[str, Any]) -> KernelPlan | None:
    try:
        values["lengths"] = PLAN["lengths"].parse(values["lengths"], KernelPlan.title)
        plan = KernelPlan(**values)
        posviz.parse(plan.link)
    except ParameterError as error:
        st.error(literal(str(error)))
        return None
    _write(plan)
    return plan


def _write(plan: KernelPlan) -> None:
    """Bring the address up to date with the controls."""
    start = {**KernelPlan().model_dump(), **START}
    values = plan.model_dump()
    now = {name: PLAN[name].format(value) for name, value in values.items() if value != start[name]}
    st.session_state[STATE] = {"address": now, "values": values}
    for name in PLAN:
        shown = st.query_params.get(name)
        if name in now and shown != now[name]:
            st.query_params[name] = now[name]
        elif name not in now and shown is not None:
            del st.query_params[name]


def _state(name: str, value: Any) -> str:
    """The key of a control, with its value in the session where it was not on the page before.

    A control that is given its value here can be emptied; one with a default would return to it.
    """
    key = _key(name)
    st.session_state.setdefault(key, value)
    return key


def _link(link: str) -> str:
    options = list(dict.fromkeys((*_SUGGESTED, link)))
    chosen = st.selectbox(
        "encoding",
        options,
        key=_state("link", link),
        help="An encoding as a link, as the other pages show it: choose one or type your own.",
        accept_new_options=True,
    )
    return chosen or link


def _choice(name: str, value: str) -> str:
    chosen = st.selectbox(
        name, PLAN[name].choices, key=_state(name, value), help=_help(name), width=130
    )
    return chosen or value


def _number(name: str, value: Any) -> Any:
    declared = PLAN[name]
    kind: Any = int if declared.kind == "integer" else float
    return st.number_input(
        _label(name),
        kind(declared.lower or 0),
        kind(declared.upper or 1 << 30),
        None if declared.optional else "min",
        key=_state(name, None if value is None else kind(value)),
        help=_help(name),
        placeholder="encoding's" if declared.optional else None,
        width=150,
    )


def _kernels(text: str) -> list[str]:
    known = [name for name in text.split(",") if name in KERNELS]
    chosen = st.pills(
        "kernels",
        list(KERNELS),
        selection_mode="multi",
        format_func=lambda name: KERNELS[name],
        key=_state("kernels", known),
        help="FlexAttention is compiled for each length: seconds on a CPU.",
    )
    return [name for name in KERNELS if name in chosen]


def _label(name: str) -> str:
    """The name, with its unit where the name does not say it."""
    unit = PLAN[name].parameter.unit
    words = name.replace("_", " ")
    return f"{words} ({unit})" if unit in ("tokens", "GiB") else words


def _help(name: str) -> str:
    return literal(PLAN[name].parameter.help)


def _key(name: str) -> str:
    return f"kernels-{name}"
