"""The page: which model, what was read from it, and the live board."""

from __future__ import annotations

import streamlit as st

from posviz import configs
from posviz.configs import ConfigError, Model
from posviz.configs.numbers import value_text
from posviz.ui import live
from posviz.ui.attention import carried
from posviz.ui.context_extension import ab, report, solver_section
from posviz.ui.context_extension.address import read_address, source_of_preset
from posviz.ui.context_extension.board import Session, answer
from posviz.ui.context_extension.opening import model_shown, take, take_config
from posviz.ui.context_extension.panels import needle_margin
from posviz.ui.context_extension.tables import table
from posviz.ui.context_extension.view import rotating_layers
from posviz.ui.literal import literal

BOARD = "context_extension_board"
STATE = "context_extension"
OWN_OPEN, PASTED, UPLOADED = "own_open", "pasted", "uploaded"


def show() -> None:
    """Draw the page."""
    session = _session()
    st.title("Context extension")
    st.caption(
        "What a model's configuration really does to its rotary positions, what each extension "
        "method would do on the same axes, and the settings to take away."
    )
    _choose_model(session)
    _what_was_read(session)
    solver_section.show(session)
    ab.show(session)
    _board()


def _session() -> Session:
    """This tab's session; an address that was opened or edited starts a new one."""
    address = dict(st.query_params)
    known: Session | None = st.session_state.get(STATE)
    if known is not None and address in known.addresses:
        return known
    view, problems = read_address(address)
    session = Session(view, problems)
    session.addresses.append(address)
    if known is not None:
        session.answered, session.epoch = known.answered, known.epoch + 1
    st.session_state[STATE] = session
    return session


@st.fragment
def _board() -> None:
    session: Session = st.session_state[STATE]
    request = live.last_request(BOARD) or {}
    reply = answer(session, request)
    live.board(live.pack(reply, known=request.get("known", ())), key=BOARD)
    view = session.view
    st.page_link(
        "pages/attention.py",
        label="What these methods do to attention weights, entropy and reach",
        query_params=carried.parameters(
            [view.unscaled, *view.specs().values()],
            length=view.target_length,
            trained=view.trained_length,
            match=needle_margin(view),
        ),
        icon="➡️",
    )


def _choose_model(session: Session) -> None:
    presets = {preset.id: preset for preset in configs.presets()}
    kind, _, name = session.view.source.partition("=")
    options = list(presets) + ([] if kind == "model" else [session.view.source])
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    chosen = left.selectbox(
        "Model",
        options,
        index=options.index(name if kind == "model" else session.view.source),
        format_func=lambda one: _preset_label(presets, one),
        help="Released models with the configuration that their authors published. Type to search.",
    )
    if chosen in presets and source_of_preset(chosen) != session.view.source:
        _open(session, source_of_preset(chosen))
    with right.popover(
        "Use your own config.json", width="stretch", key=OWN_OPEN, on_change="rerun"
    ):
        _own_configuration(session)
    layers = sorted(rotating_layers(session.view.model))
    if len(layers) > 1:
        layer = st.segmented_control(
            "Layer type",
            layers,
            default=session.view.layer_type,
            required=True,
            help="Each has its own frequencies.",
        )
        if layer and layer != session.view.layer_type:
            _open(session, session.view.source, layer)


def _preset_label(presets: dict[str, configs.Preset], one: str) -> str:
    if one not in presets:
        return "your own configuration"
    preset = presets[one]
    return f"{preset.name} · {preset.family} · window {preset.window:,}"


def _own_configuration(session: Session) -> None:
    # A form, so that Ctrl+Enter in the text reads it too.
    with st.form("own", border=False):
        st.text_area(
            "Paste a config.json", height=220, placeholder='{"hidden_size": 4096, …}', key=PASTED
        )
        st.file_uploader("or choose the file", type=["json"], key=_uploader(session))
        st.form_submit_button("Read it", type="primary", on_click=_read_own, args=(session,))
    st.caption("For a .gguf file: `posviz check model.gguf` at the command line.")
    if session.unread:
        st.error(literal(session.unread))


def _uploader(session: Session) -> str:
    """The key of the place for a file; a new one is empty."""
    return f"{UPLOADED} {session.uploads}"


def _read_own(session: Session) -> None:
    """Read what was pasted or chosen, before the page is drawn with it."""
    upload, text = st.session_state[_uploader(session)], st.session_state[PASTED]
    session.unread = ""
    if upload is not None and text.strip() and text != session.read_text:
        session.unread = "There are a text and a file: empty the one that is not meant."
        return
    raw = text if upload is None else upload.getvalue()
    if not raw.strip():
        session.unread = "There is nothing to read: the text is empty. Paste or choose a file."
        return
    try:
        take_config(session, raw)
    except ConfigError as error:
        session.unread = str(error)
        return
    session.changes.clear()
    session.read_text = text
    session.uploads += upload is not None
    st.session_state[OWN_OPEN] = False


def _open(session: Session, source: str, layer_type: str | None = None) -> None:
    """Show another model, and run the page again so that everything on it speaks of that one."""
    if source != session.view.source:
        session.changes.clear()
    take(session, source, layer_type)
    st.rerun()


def _what_was_read(session: Session) -> None:
    if session.rejected is not None:
        st.error(
            "Your configuration cannot be drawn, for the reasons below. "
            "The plots still show the model that was open before."
        )
        if model_shown(session).severity != "error":
            st.error(literal(session.rejected[1]))
    report.show(session)
    model = model_shown(session)
    with st.expander(
        f"What the configuration says: {len(model.resolved)} numbers and their origin"
    ):
        st.html(_table(model))


def _table(model: Model) -> str:
    """Name, value and origin of every number."""
    several = len(model.layer_types) > 1
    titles = [*(["layer type"] if several else []), "name", "value", "origin"]
    rows = [
        [
            *([row.layer_type or "all"] if several else []),
            row.name,
            value_text(row.value),
            row.origin,
        ]
        for row in model.resolved
    ]
    return table(titles, rows, name="posviz-resolved")
