"""What stands below the board: results as a table, extension without fine-tuning, words."""

from __future__ import annotations

import streamlit as st

from posviz.catalog import catalog
from posviz.lab.training.plan import EXTENDED_BY
from posviz.lab.training.stored import COMMAND
from posviz.lab.training.tasks import TASKS
from posviz.ui.context_extension.tables import table
from posviz.ui.lab import job_status
from posviz.ui.literal import literal, with_code
from posviz.ui.train_short import extension, results, runs, words
from posviz.ui.train_short.curves import Swapped, curves_of, everything_stored, extension_of
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
    """Every reason once, behind all whom it keeps away."""
    groups: dict[str, list[str]] = {}
    for encoding in catalog():
        if reason := SLOTS.misfit(encoding):
            groups.setdefault(reason.removeprefix(encoding.title).strip(), []).append(
                encoding.title
            )
    return literal(" ".join(f"{', '.join(names)}: {reason}" for reason, names in groups.items()))


def _results(view: View) -> None:
    curves = curves_of(view)
    st.subheader("Results")
    rows = [row for curve in curves for row in results.rows(curve, view.plan)]
    st.html(_scrolled(table(results.titles(view.plan), rows, name="posviz-trained"), "Results"))
    lines = [literal(note) for curve in curves for note in results.notes(curve)]
    st.caption("\n\n".join([*lines, _stored_facts(view)]))


def _scrolled(text: str, label: str) -> str:
    """A table that is moved sideways where the page is narrower."""
    style = (
        "<style>.posviz-wide { overflow-x: auto; } .posviz-wide table { min-width: 46rem; }"
        # Where a table can be moved sideways, no name need be broken.
        ".posviz-wide th, .posviz-wide td { overflow-wrap: normal !important; }</style>"
    )
    opening = f"<div class='posviz-wide' role='region' aria-label='{label}' tabindex='0'>"
    return f"{style}{opening}{text}</div>"


def _stored_facts(view: View) -> str:
    """Seeds, versions and the command that makes the stored curves again."""
    by_seed = {seed: everything_stored(view.plan.task, seed) for seed in words.SEEDS}
    kept = [one for found in by_seed.values() for one in found]
    if not kept:
        return f"No curves of this task are stored; `{COMMAND}` makes them."
    counts = ", ".join(f"{len(found)} of seed {seed}" for seed, found in by_seed.items() if found)
    versions = ", ".join(f"{name} {value}" for name, value in kept[0].facts.items())
    return (
        f"Stored curves of this task: {counts}; {literal(versions)}. `{COMMAND}` makes them again."
    )


def _extension(view: View) -> None:
    st.subheader("Extension without fine-tuning")
    swapped, why = extension_of(view), runs.absent()
    if not view.plan.can_be_extended:
        known = " and ".join(task.title for task in TASKS.values() if task.metric == "loss")
        why = f"For tasks whose test is a loss: {known}."
    with st.container(horizontal=True, vertical_alignment="center", key="posviz-extend"):
        if st.button(
            "Train RoPE and swap its frequencies",
            disabled=runs.is_active() or bool(why),
            key="train_short_extend",
        ):
            runs.start_extension(view)
            st.rerun()
        st.caption(with_code(why) if why else _extension_in_words(view))
    status = job_status(runs.EXTEND)
    if status is not None and status.is_active:
        # The button may stand far below the bar with its Cancel.
        part = status.progress.part if status.progress else 0.0
        st.progress(part, text="In training; time and Cancel stand at the top of the page.")
    _ranking(swapped)


def _ranking(swapped: Swapped) -> None:
    found = swapped.found
    if found is None or not found.loss:
        if swapped.remark:
            st.caption(literal(swapped.remark))
        return
    ranked = table(extension.titles(found), extension.rows(found), name="posviz-extended")
    st.html(_scrolled(ranked, "Ranking of the methods"))
    told = [f"{swapped.origin}.", swapped.remark, extension.sentences(found), extension.why(found)]
    lines = [" ".join(filter(None, [*told, *found.notes])), extension.against_results(found)]
    st.caption("\n\n".join(literal(line) for line in lines))


def _extension_in_words(view: View) -> str:
    plan = extension.plan_of(view.plan)
    lengths = ", ".join(f"{factor:g}" for factor in EXTENDED_BY)
    return literal(
        f"{plan.about.title}: one RoPE model with {plan.heads} heads of {plan.head_dim} "
        f"dimensions, {plan.steps:,} steps at L = {plan.length}, at most "
        f"{plan.training_seconds:.0f} s of one core, since one model serves all methods; then PI, "
        "NTK-aware, by parts, YaRN and the temperature alone "
        f"at {lengths} L. The ramp keeps pairs of more than {plan.beta_fast:g} turns."
    )


def _take_away(view: View) -> None:
    found = extension_of(view).found

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
