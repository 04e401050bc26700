"""Which configuration is the second one: a released model, or a config.json of one's own."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from posviz import configs
from posviz.configs import ConfigError
from posviz.ui.context_extension.address import source_of_config, source_of_preset
from posviz.ui.context_extension.board import Session
from posviz.ui.literal import literal

OWN_OPEN, PASTED, UPLOADED, READ = "b_own_open", "b_pasted", "b_uploaded", "b_read"
_NONE = ""
_OWN = "your own configuration"


def choose(session: Session) -> None:
    """Draw the choice; a new one runs the page again with it."""
    presets = {preset.id: preset for preset in configs.presets()}
    chosen = session.view.compared
    kind, _, name = chosen.partition("=")
    own = [chosen] if kind == "config" else []
    options = [_NONE, *presets, *own]
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    picked = left.selectbox(
        "Second configuration (B)",
        options,
        index=options.index(name if kind == "model" else chosen),
        format_func=lambda one: "— none —" if one == _NONE else _label(presets, one),
        help="A is the configuration above. Type to search.",
    )
    source = source_of_preset(picked) if picked in presets else picked
    if source != chosen:
        _take(session, source)
        st.rerun()
    with right.popover(
        "Use your own config.json as B", width="stretch", key=OWN_OPEN, on_change="rerun"
    ):
        with st.form("own_second", border=False):
            st.text_area(
                "Paste the second config.json",
                height=220,
                placeholder='{"hidden_size": 4096, …}',
                key=PASTED,
            )
            st.file_uploader("or choose its file", type=["json"], key=UPLOADED)
            st.form_submit_button(
                "Read it as B", type="primary", key=READ, on_click=_read_own, args=(session,)
            )
        if session.unread_second:
            st.error(literal(session.unread_second))


def _label(presets: dict[str, configs.Preset], one: str) -> str:
    if one not in presets:
        return _OWN
    preset = presets[one]
    return f"{preset.name} · {preset.family} · window {preset.window:,}"


def _take(session: Session, source: str) -> None:
    session.view = replace(session.view, compared=source)
    session.unread_second = ""


def _read_own(session: Session) -> None:
    """Read what was pasted or chosen, before the page is drawn with it."""
    upload = st.session_state[UPLOADED]
    raw = upload.getvalue() if upload is not None else st.session_state[PASTED]
    if not raw.strip():
        session.unread_second = (
            "There is nothing to read: the text is empty. Paste or choose a file."
        )
        return
    try:
        source = source_of_config(configs.read(raw))
    except ConfigError as error:
        session.unread_second = str(error)
        return
    _take(session, source)
    st.session_state[OWN_OPEN] = False
