"""The section on extension measured: stored results, a run of your own, and what was applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from posviz.lab.extension.plan import LONGEST
from posviz.lab.extension.records import LossCurve, PasskeyGrid
from posviz.lab.language_model.sources import Source
from posviz.lab.workers import Job, Status
from posviz.ui.literal import literal
from posviz.ui.panel import Panel
from posviz.ui.real_attention import (
    address,
    extension_code,
    extension_drawn,
    extension_plan,
    extension_stored,
    extension_text,
    model_choice,
)
from posviz.ui.real_attention.drawn import picture
from posviz.ui.real_attention.wish import DECLARED, Wish

LOSS, KEYS = "real_attention_loss", "real_attention_passkey"
TASKS = {
    LOSS: "posviz.lab.extension.several:measure_all",
    KEYS: "posviz.lab.extension.several:grid_all",
}
OFFERED = (
    "rope",
    "linear?scaling_factor=2",
    "ntk_aware?scaling_factor=2",
    "yarn?scaling_factor=2",
    "linear",
    "ntk_aware",
    "yarn",
    "dynamic_ntk",
    "llama3?scaling_factor=2",
)
_NUMBERS = {
    "length": "Tokens to read",
    "artificial_window": "Artificial window",
    "mean_window": "Averaged over",
    "key_seed": "Seed of the pass keys",
}
LESSONS = {
    "a quick run: four times an artificial window": {"section": "extension"},
    "too far: ×2 methods read to four windows": {
        "section": "extension",
        "methods": "rope ntk_aware?scaling_factor=2 yarn?scaling_factor=2 yarn?scaling_factor=4",
    },
    "the model's own window, 12,288 tokens": {
        "section": "extension",
        "methods": "rope linear?scaling_factor=2 ntk_aware?scaling_factor=2 yarn?scaling_factor=2",
        "length": "12288",
        "artificial_window": "none",
        "mean_window": "512",
    },
}


def show(wish: Wish) -> None:
    """Draw the section."""
    st.markdown(
        "A language model reads one long text beyond the window of its training, once for each "
        "method, with the settings that the export writes. A method works as far as its loss "
        "beyond the window is not above the level that the plain model has within it, and as far "
        "as it still finds what stands far back: the pass keys ask that."
    )
    is_told = model_choice.say_what_is_missing(wish)
    st.markdown("[A run of your own](#a-run-of-your-own) stands below the stored results.")
    extension_stored.show()
    st.divider()
    st.markdown("#### A run of your own")
    model_choice.start_from(LESSONS)
    source = model_choice.choose_model(wish, is_told=is_told)
    extension_text.choose()
    _controls(wish)
    usable, problems = _usable(source, wish)
    for problem in problems:
        st.error(literal(problem))
    if source is not None and usable:
        _preview(source, wish, usable)
    _run_buttons(source, wish, usable)
    _results(source, wish, usable)


def _controls(wish: Wish) -> None:
    key = address.key("methods")
    st.session_state.setdefault(key, list(extension_plan.links(wish)))
    st.multiselect(
        "Methods",
        list(dict.fromkeys([*OFFERED, *extension_plan.links(wish)])),
        key=key,
        on_change=_methods_changed,
        accept_new_options=True,
        max_selections=extension_drawn.MOST,
        help="Links, as everywhere in PosViz; type any other, such as yarn?scaling_factor=4. "
        "Without a factor it is the smallest one that covers the length; rope is the model "
        "without any extension.",
    )
    for column, (name, label) in zip(st.columns(4), _NUMBERS.items(), strict=True):
        declared = DECLARED[name]
        column.number_input(
            label,
            int(declared.lower or 0),
            int(declared.upper or LONGEST),
            None if declared.optional else "min",
            key=address.control(name),
            on_change=address.changed,
            args=(name,),
            help=literal(declared.parameter.help),
            placeholder="the model's own" if declared.optional else None,
        )


def _methods_changed() -> None:
    chosen = st.session_state[address.key("methods")]
    # A link has no spaces; one typed with them stands for several.
    address.choose(methods=" ".join(chosen))
    wish: Wish = st.session_state[address.STATE].wish
    st.session_state[address.key("methods")] = list(extension_plan.links(wish))


def _usable(source: Source | None, wish: Wish) -> tuple[list[str], list[str]]:
    """The links that can be run, and why the others cannot."""
    usable, problems = [], []
    for link in extension_plan.links(wish):
        try:
            extension_plan.loss_plan(wish, link)
            extension_plan.passkey_plan(wish, link)
            if source is not None:
                extension_plan.settings(source, wish, link)
            usable.append(link)
        except extension_plan.REFUSALS as error:
            problems.append(str(error))
    if not extension_plan.links(wish):
        problems.append("Choose at least one method.")
    return usable, list(dict.fromkeys(problems))


def _preview(source: Source, wish: Wish, usable: Sequence[str]) -> None:
    with st.expander("What will be put into the model, and what the check says of it"):
        for link in usable:
            found = extension_plan.settings(source, wish, link)
            extension_drawn.applied(
                link, found.changed, found.severity, found.diagnoses, found.notes
            )


def _run_buttons(source: Source | None, wish: Wish, usable: Sequence[str]) -> None:
    from posviz.ui.lab import job_status, run_job

    is_busy = any(status is not None and status.is_active for status in map(job_status, TASKS))
    arguments = {
        LOSS: extension_plan.loss_arguments,
        KEYS: extension_plan.passkey_arguments,
    }
    with st.container(horizontal=True):
        for key, label in ((LOSS, "Measure the loss"), (KEYS, "Hide and ask for pass keys")):
            if st.button(
                label,
                key=f"run-{key}",
                type="primary" if key == LOSS else "secondary",
                disabled=source is None or is_busy or not usable,
                help="What was measured before is taken from the cache, and a run that was "
                "stopped goes on where it was.",
            ):
                extension_plan.forget_misses()
                run_job(key, Job(TASKS[key], {**arguments[key](wish), "links": list(usable)}))


def _results(source: Source | None, wish: Wish, usable: Sequence[str]) -> None:
    from posviz.ui.lab import progress, result_of

    progress(LOSS, _losses_so_far)
    curves = _known(source, wish, usable, "loss", result_of(LOSS))
    if curves:
        gaps = extension_plan.known_gaps(source, wish, curves) if source else ()
        extension_drawn.curves(curves, gaps, extension_code.losses(wish), name="own")
    progress(KEYS, _keys_so_far)
    grids = _known(source, wish, usable, "passkey", result_of(KEYS))
    if grids:
        extension_drawn.grids(grids, extension_code.passkeys(wish), name="own")
    if curves or grids:
        extension_drawn.resumed((*curves, *grids))
        extension_drawn.settings((*curves, *grids))
        extension_drawn.facts((*curves, *grids))


def _known(
    source: Source | None, wish: Wish, usable: Sequence[str], what: str, result: Any
) -> list[Any]:
    """What is known of the methods that are chosen, from this session or the cache."""
    if source is None:
        return []
    measured, problems = result or ((), {})
    for problem in dict.fromkeys(problems.values()):
        st.error(literal(problem))
    find = extension_plan.known_curve if what == "loss" else extension_plan.known_grid
    plan = extension_plan.loss_plan if what == "loss" else extension_plan.passkey_plan
    found = []
    for link in usable:
        own = [one for one in measured if _is_of(one, plan(wish, link).model_dump())]
        kept = own[-1] if own else find(source, wish, link)
        if kept is not None:
            found.append(kept)
    return found


def _is_of(one: LossCurve | PasskeyGrid, plan: dict[str, Any]) -> bool:
    held = one.facts.get("plan", {})
    is_of_text = one.facts["text_hash"] == extension_text.hash_of_text()
    return is_of_text and {name: held.get(name) for name in plan} == plan


def _losses_so_far(status: Status) -> None:
    from posviz.ui.lab import figures_in_place

    partial = status.progress.partial if status.progress else None
    if partial and any(one.positions for one in partial):
        drawn = extension_drawn.loss(partial, "", name="live")
        panel = Panel(drawn.id, drawn.words, None, drawn.figure, {}, (), is_wide=True)
        figures_in_place("real_attention_loss_board", [panel])


def _keys_so_far(status: Status) -> None:
    # The board draws numbers; the names of lengths and depths need a native chart, which is made
    # anew only when a haystack is finished.
    partial = status.progress.partial if status.progress else None
    if partial and any(one.tries for one in partial):
        picture(extension_drawn.keys(partial, "", name="live"))
