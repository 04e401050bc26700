"""What a reader wishes to measure, as plans of the lab; and what is known of it already."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import streamlit as st

from posviz import configs
from posviz.configs import ConfigError, ExportError, Model
from posviz.lab.errors import LabError
from posviz.lab.extension import curves, grids
from posviz.lab.extension.applied import Applied, applied
from posviz.lab.extension.plan import ExtendedRun, PasskeyPlan, Plan
from posviz.lab.extension.records import Gap, LossCurve, PasskeyGrid
from posviz.lab.language_model.sources import SMOLLM2, Source
from posviz.parameters import ParameterError
from posviz.ui.real_attention.extension_text import hash_of_text, text
from posviz.ui.real_attention.wish import Wish

REFUSALS = (ParameterError, LabError, ConfigError, ExportError)
KNOWN = "real_attention_extension"
SHORTEST_HAYSTACK = 256
"""Tokens; five keys with their names take about 125 of them."""
_PARTS = 4


def links(wish: Wish) -> tuple[str, ...]:
    return tuple(dict.fromkeys(wish.methods.split()))


def loss_plan(wish: Wish, link: str) -> Plan:
    """Raises ParameterError, as the plan does."""
    return Plan(
        link=link,
        length=wish.length,
        mean_window=wish.mean_window,
        artificial_window=wish.artificial_window,
    )


def lengths(wish: Wish) -> tuple[int, ...]:
    """Haystacks of a quarter, a half, three quarters and the whole of the length."""
    parts = (wish.length * part // _PARTS for part in range(1, _PARTS + 1))
    return tuple(dict.fromkeys(max(SHORTEST_HAYSTACK, part) for part in parts))


def passkey_plan(wish: Wish, link: str) -> PasskeyPlan:
    """Raises ParameterError, as the plan does."""
    return PasskeyPlan(
        link=link,
        lengths=lengths(wish),
        key_seed=wish.key_seed,
        artificial_window=wish.artificial_window,
    )


def loss_arguments(wish: Wish) -> dict[str, Any]:
    """What the run over all methods is given."""
    plan = _told(loss_plan(wish, "rope"))
    return {"model": wish.model or SMOLLM2.name, "links": list(links(wish)), "text": text(), **plan}


def passkey_arguments(wish: Wish) -> dict[str, Any]:
    plan = _told(passkey_plan(wish, "rope"))
    return {"model": wish.model or SMOLLM2.name, "links": list(links(wish)), "text": text(), **plan}


def _told(plan: ExtendedRun) -> dict[str, Any]:
    """What the page chooses of a plan; the rest keeps its defaults."""
    chosen = {"length", "lengths", "mean_window", "key_seed", "artificial_window"}
    return plan.model_dump(include=chosen)


@lru_cache(maxsize=8)
def _model(source: Source, stamp: object) -> Model:
    return configs.read(source.config())


def settings(source: Source, wish: Wish, link: str) -> Applied:
    """What the export writes for a method. Raises one of :data:`REFUSALS`."""
    return applied(
        link,
        _model(source, source.stamp),
        length=wish.length,
        artificial_window=wish.artificial_window,
    )


def _known() -> dict[str, Any]:
    found: dict[str, Any] = st.session_state.setdefault(KNOWN, {})
    return found


def forget_misses() -> None:
    """Look into the cache again for what was not there."""
    known = _known()
    for key in [key for key, value in known.items() if value is None]:
        del known[key]


def known_curve(source: Source, wish: Wish, link: str) -> LossCurve | None:
    """A curve that was measured before, here or by another session. Raises as the run would."""
    plan, known = loss_plan(wish, link), _known()
    key = f"{source.stamp} {hash_of_text()} loss {plan.model_dump_json()}"
    if key not in known:
        known[key] = curves.finished(source.name, text(), plan)
    found: LossCurve | None = known[key]
    return found


def known_gaps(source: Source, wish: Wish, found: Sequence[LossCurve]) -> tuple[Gap, ...]:
    """The differences of finished curves to the plain model's; none where it is not among them."""
    plans = [loss_plan(wish, one.link) for one in found if one.is_done]
    known = _known()
    key = f"{source.stamp} {hash_of_text()} gaps {[plan.model_dump_json() for plan in plans]}"
    if known.get(key) is None:
        known[key] = curves.gaps(source.name, text(), plans) or None
    gaps: tuple[Gap, ...] = known[key] or ()
    return gaps


def known_grid(source: Source, wish: Wish, link: str) -> PasskeyGrid | None:
    """The same of a grid."""
    plan, known = passkey_plan(wish, link), _known()
    key = f"{source.stamp} {hash_of_text()} passkey {plan.model_dump_json()}"
    if key not in known:
        known[key] = grids.finished(source.name, text(), plan)
    found: PasskeyGrid | None = known[key]
    return found
