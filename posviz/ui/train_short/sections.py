"""What stands below the board: results as a table, extension without fine-tuning, words."""

from __future__ import annotations

import streamlit as st

from posviz.catalog import catalog
from posviz.lab.training.stored import COMMAND
from posviz.ui.context_extension.tables import table
from posviz.ui.literal import literal
from posviz.ui.train_short import extension, results, runs, words
from posviz.ui.train_short.curves import curves_of, everything_stored, extension_of
from posviz.ui.train_short.view import SLOTS, View


def follow(view: View) -> None:
    """What follows the values of the board."""
    _results(view)
    _extension(view)
    _take_away(view)


def explain() -> None:
    """What stays the same whatever is chosen."""
    with st.expander("What to see"):
        st.markdown(words.SEE)
    with st.expander("What this does not show"):
        st.markdown(words.LIMITS)
        st.caption(f"Encodings that are not here, and why: {_left_out()}")
    with st.expander("What you may have read"):
        st.markdown(words.READ)
        st.caption(words.SOURCES)


def _left_out() -> str:
    reasons = [SLOTS.misfit(encoding) for encoding in catalog()]
    return literal(" ".join(reason for reason in reasons if reason))


def _results(view: View) -> None:
    curves = curves_of(view)
    st.subheader("Results")
    rows = [results.row(curve, view.plan) for curve in curves]
    st.html(_scrolled(table(results.titles(view.plan), rows, name="posviz-trained"), "Results"))
    known = [(curve.item, curve.trained or curve.ghost) for curve in curves]
    notes = [f"{item.label}: {note}" for item, one in known if one for note in one.notes]
    lines = [literal(note) for note in notes]
    if stored := _stored_facts(view):
        lines.append(stored)
    st.caption("\n\n".join(lines))


def _scrolled(text: str, label: str) -> str:
    """A table that is moved sideways where the page is narrower."""
    style = (
        "<style>.posviz-wide { overflow-x: auto; } .posviz-wide table { min-width: 46rem; }</style>"
    )
    opening = f"<div class='posviz-wide' role='region' aria-label='{label}' tabindex='0'>"
    return f"{style}{opening}{text}</div>"


def _stored_facts(view: View) -> str:
    """Seed, versions and the command that makes the stored curves again."""
    kept = everything_stored(view.plan.task)
    if not kept:
        return f"No curves of this task are stored; `{COMMAND}` makes them."
    versions = ", ".join(f"{name} {value}" for name, value in kept[0].facts.items())
    return (
        f"Stored curves of this task: {len(kept)} encodings, seed {kept[0].plan['seed']}; "
        f"{literal(versions)}. `{COMMAND}` makes them again."
    )


def _extension(view: View) -> None:
    st.subheader("Extension without fine-tuning")
    found, is_own = extension_of(view)
    why, task = runs.absent(), view.plan.task
    if not extension.suits(task):
        why = "For the order-2 source and retrieval: their test is a loss."
    with st.container(horizontal=True, vertical_alignment="center", key="posviz-extend"):
        if st.button(
            "Train RoPE and swap its frequencies",
            disabled=runs.is_active() or bool(why),
            key="train_short_extend",
        ):
            runs.start_extension(view)
            st.rerun()
        st.caption(literal(why) if why else _extension_in_words(view))
    if found is None or not found.loss:
        return
    ranked = table(extension.titles(found), extension.rows(found), name="posviz-extended")
    st.html(_scrolled(ranked, "Ranking of the methods"))
    origin = f"trained here in {found.seconds:.0f} s" if is_own else "stored"
    st.caption(
        literal(
            f"{origin}, seed {found.plan['seed']}. {extension.sentence(found)} "
            f"{extension.WHY.get(found.plan['task'], '')} {' '.join(found.notes)}"
        )
    )


def _extension_in_words(view: View) -> str:
    plan = extension.plan_of(view.plan)
    return literal(
        f"{plan.about.title}: one RoPE model with {plan.heads} heads of {plan.head_dim} "
        f"dimensions, {plan.steps:,} steps at L = {plan.length}, at most "
        f"{plan.most_seconds:.0f} s; then PI, NTK-aware, by parts, YaRN and the temperature alone "
        f"at 2, 4 and 8 L. The ramp keeps pairs of more than L/8 turns."
    )


def _take_away(view: View) -> None:
    found, _ = extension_of(view)

    def everything() -> str:
        curves = [one for c in curves_of(view) for one in (c.trained, c.ghost) if one is not None]
        return results.as_csv(curves, [found] if found else [])

    st.download_button(
        "Every curve as CSV",
        everything,
        "posviz-train-short.csv",
        "text/csv",
        on_click="ignore",
        key="train_short_csv",
    )
