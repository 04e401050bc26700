"""The report on the configuration that the page shows: what is right, odd or wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from posviz import configs
from posviz.configs import ConfigError, Diagnosis, Report
from posviz.configs.writers import LONGEST_LENGTH, TITLES
from posviz.parameters import ParameterError
from posviz.ui.context_extension.board import Session
from posviz.ui.context_extension.opening import apply_change, model_shown, undo_change
from posviz.ui.context_extension.view import changed, checked, cursor_kept
from posviz.ui.literal import literal

RUNTIME, TARGET = "report_runtime", "report_target"
_ICONS = {
    "error": ":material/error:",
    "warn": ":material/warning:",
    "info": ":material/info:",
    "ok": ":material/check_circle:",
}
_WORDS = {
    "error": ("error", "errors"),
    "warn": ("warning", "warnings"),
    "info": ("note", "notes"),
    "ok": ("checked and right", "checked and right"),
}
_BOXES = {"error": st.error, "warn": st.warning}


def show(session: Session) -> None:
    """Draw the report; what must be seen stands open, notes and what is right in one expander."""
    _question(session)
    view = session.view
    try:
        report = configs.check(
            model_shown(session), runtime=view.runtime or None, target_length=view.wanted
        )
    except (ConfigError, ParameterError) as error:
        st.error(literal(str(error)))
        return
    _headline(session, report)
    for at, diagnosis in enumerate(report.diagnoses):
        if diagnosis.severity in _BOXES:
            _open_diagnosis(session, diagnosis, at)
    rest = [each for each in report.diagnoses if each.severity not in _BOXES]
    if rest:
        with st.expander(f"Also looked at: {_counted(rest)}"):
            for at, diagnosis in enumerate(rest):
                st.markdown(f"{_ICONS[diagnosis.severity]} {_sentence(diagnosis)}")
                _details(session, diagnosis, f"rest{at}")


def _question(session: Session) -> None:
    """Which runtime and which length the report is about; both stand in the address."""
    st.session_state[RUNTIME] = session.view.runtime
    st.session_state[TARGET] = session.view.wanted
    left, right = st.columns(2)
    left.selectbox(
        "Report for",
        ["", *configs.RUNTIMES],
        key=RUNTIME,
        format_func=lambda name: TITLES.get(name, "every runtime"),
        on_change=_asked,
        args=(session,),
        help="One runtime: what that one does with this configuration.",
    )
    right.number_input(
        "Context length wanted (tokens)",
        min_value=1,
        max_value=LONGEST_LENGTH,
        step=1,
        key=TARGET,
        placeholder="none",
        on_change=_asked,
        args=(session,),
        help="The report then says whether the settings reach it and which would. The plots "
        "follow: L′ becomes this length and, where the model has no extension of its own, the "
        "factor what it takes.",
    )


def _asked(session: Session) -> None:
    wanted = st.session_state[TARGET]
    moved = wanted is not None and wanted != session.view.wanted
    session.view = replace(session.view, runtime=st.session_state[RUNTIME], wanted=wanted)
    session.epoch += 1
    if moved and session.rejected is None:
        _aim(session, int(wanted))


def _aim(session: Session, wanted: int) -> None:
    """Let the plots look at the length that is wanted, as far as they can."""
    view = session.view
    sent: dict[str, Any] = {"target": wanted}
    if view.model.spec(view.layer_type).family != "extension" and wanted > view.trained_length:
        sent["scaling_factor"] = wanted / view.trained_length
    aimed, errors = changed(view, sent)
    try:
        if errors:
            raise errors[0]
        session.view = checked(cursor_kept(aimed))
    except ParameterError as error:
        session.problems = [f"The plots stay as they were. {error}"]


def _headline(session: Session, report: Report) -> None:
    words = _counted(report.diagnoses) or "nothing to say"
    text, undo = st.columns([4, 1], vertical_alignment="center")
    text.markdown(f"**{_ICONS[report.severity]} Report:** {words}.")
    if session.changes:
        code = session.changes[-1][0]
        undo.button(
            f"Undo {code}",
            on_click=_undo,
            args=(session,),
            help="Go back to the configuration before the last change.",
            width="stretch",
        )


def _counted(diagnoses: Sequence[Diagnosis]) -> str:
    parts = []
    for severity, (one, many) in _WORDS.items():
        count = sum(each.severity == severity for each in diagnoses)
        if count:
            parts.append(f"{count} {one if count == 1 else many}")
    return " · ".join(parts)


def _open_diagnosis(session: Session, diagnosis: Diagnosis, at: int) -> None:
    _BOXES[diagnosis.severity](_sentence(diagnosis), icon=_ICONS[diagnosis.severity])
    _details(session, diagnosis, str(at))


def _sentence(diagnosis: Diagnosis) -> str:
    where = f" ({literal(diagnosis.layer_type)})" if diagnosis.layer_type else ""
    return f"**{diagnosis.code}**{where} {literal(diagnosis.message)}"


def _details(session: Session, diagnosis: Diagnosis, key: str) -> None:
    """What each runtime does, the way to the plot, and the change to make."""
    if diagnosis.unsaid:
        lines = [
            f"- {TITLES.get(name, name)}: {literal(text)}"
            for name, text in diagnosis.unsaid.items()
        ]
        st.markdown("\n".join(lines))
    if diagnosis.patch:
        st.markdown(f"Suggested change: {literal(diagnosis.change())}.")
    buttons: list[tuple[str, Callable[..., None], str]] = []
    if diagnosis.panel and session.rejected is None:
        buttons.append((_where(diagnosis), _point, "Scroll to the plot that shows it."))
    if diagnosis.patch:
        told = "Change the configuration on this page; one click undoes it."
        buttons.append((f"Apply {diagnosis.code}", _apply, told))
    if not buttons:
        return
    with st.container(horizontal=True):
        for label, action, told in buttons:
            st.button(
                label,
                key=f"report {key} {label}",
                on_click=action,
                args=(session, diagnosis),
                help=told,
            )


def _where(diagnosis: Diagnosis) -> str:
    if diagnosis.pairs is None:
        return "Show in the plot"
    first, last = diagnosis.pairs
    return f"Show pair {first}" if first == last else f"Show pairs {first} to {last}"


def _point(session: Session, diagnosis: Diagnosis) -> None:
    """Put the cursor on the first pair that a diagnosis is about, and bring its plot into sight."""
    if diagnosis.pairs is not None:
        session.view = session.view.with_value("pair", diagnosis.pairs[0])
        session.epoch += 1
    session.point(diagnosis.panel)


def _apply(session: Session, diagnosis: Diagnosis) -> None:
    session.unread = ""
    try:
        apply_change(session, diagnosis)
    except (ConfigError, ParameterError) as error:
        session.unread = str(error)


def _undo(session: Session) -> None:
    undo_change(session)
