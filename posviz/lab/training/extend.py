"""Extension without fine-tuning: other frequencies in a model trained with plain RoPE."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from posviz.catalog import get
from posviz.catalog import link as link_of
from posviz.encodings.base import Encoding
from posviz.encodings.extension import yarn_magnitude
from posviz.lab.encoded import Encoded
from posviz.lab.errors import LabError
from posviz.lab.training.facts import facts
from posviz.lab.training.fit import fit, share_done
from posviz.lab.training.measured import WINDOWS, places
from posviz.lab.training.model import Model, started
from posviz.lab.training.plan import LEARNED_WITHIN, Plan
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trained import Extended
from posviz.parameters import closest

Told = Callable[[float, Extended], None]
Method = Callable[[Plan, float], Encoding]


def _rope(plan: Plan, factor: float) -> Encoding:
    return get("rope")(head_dim=plan.head_dim)


def _scaled(encoding: str, **values: Any) -> Method:
    def spec(plan: Plan, factor: float) -> Encoding:
        window = {"original_max_position_embeddings": plan.length}
        known = {"head_dim": plan.head_dim, "scaling_factor": factor, **window, **values}
        return get(encoding)(**known)

    return spec


def _with_beta(encoding: str, **values: Any) -> Method:
    """A ramp whose fast end follows the training length."""
    return lambda plan, factor: _scaled(encoding, **{"beta_fast": plan.beta_fast, **values})(
        plan, factor
    )


def _temperature(plan: Plan, factor: float) -> Encoding:
    """YaRN's factor on cos and sin with frequencies that a factor of 1 leaves as they are."""
    warm = yarn_magnitude(factor)
    return _scaled("yarn", attention_factor=warm)(plan, 1.0)


METHODS: Mapping[str, Method] = {
    "none": _rope,
    "PI": _scaled("linear"),
    "NTK-aware": _scaled("ntk_aware"),
    "by parts": _with_beta("ntk_by_parts"),
    "YaRN": _with_beta("yarn"),
    "temperature alone": _temperature,
}
"""Name to the encoding that it puts in, for a plan and a factor."""


def extended(
    plan: Plan, factors: tuple[float, ...], methods: tuple[str, ...], told: Told
) -> Extended:
    """Train plain RoPE by the plan, then test it with each method's frequencies at each factor."""
    _check(plan, factors, methods)
    torch.set_num_threads(1)
    largest = max(factors)
    so_far = Extended(
        plan=plan.model_dump(),
        links={name: link_of(METHODS[name](plan, largest)) for name in methods},
        factors=factors,
        loss={},
        at_end={},
        at_training_length={},
        best=plan.about.best,
        chance=plan.about.chance,
        facts=facts(),
    )
    told(0.0, so_far)
    model, began = started(_rope(plan, 1.0), plan), time.process_time()

    def on_step(steps: list[int], loss: list[float]) -> None:
        told(0.7 * share_done(plan, steps[-1], time.process_time() - began), so_far)

    _, _, cut = fit(model, plan, on_step)
    notes = (cut,) if cut else ()
    so_far = replace(so_far, seconds=time.process_time() - began, notes=notes)
    for place, name in enumerate(methods):
        share = 0.7 + 0.3 * place / len(methods)
        so_far = _with_method(model, plan, so_far, name, lambda: told(share, so_far))  # noqa: B023
    return replace(so_far, notes=(*so_far.notes, *_unlearned(plan, so_far)), is_done=True)


def _unlearned(plan: Plan, found: Extended) -> tuple[str, ...]:
    """A sentence where the model does not do what it was trained for, even without extension."""
    reached = found.at_training_length.get("none", (plan.about.best,))[0]
    if reached <= plan.about.best + LEARNED_WITHIN:
        return ()
    return (
        f"The model has not learned the task: at {plan.length} tokens, without any change, its "
        f"loss is {reached:.3g} nats where {plan.about.best:.3g} is possible; the order of the "
        "methods then means nothing.",
    )


def _check(plan: Plan, factors: tuple[float, ...], methods: tuple[str, ...]) -> None:
    if not plan.can_be_extended:
        known = ", ".join(task.id for task in TASKS.values() if task.metric == "loss")
        raise LabError(
            f"Extension: task must be one whose test is a loss ({known}); got {plan.task}."
        )
    if not factors or not all(1 < factor <= 16 for factor in factors):
        raise LabError(f"Extension: factors must be above 1 and at most 16; got {list(factors)}.")
    for name in methods:
        if name not in METHODS:
            raise LabError(
                f"Extension: there is no method {name!r}; {closest(name, list(METHODS))}."
            )


def _with_method(
    model: Model, plan: Plan, so_far: Extended, name: str, told: Callable[[], None]
) -> Extended:
    whole, end, right, near = [], [], [], []
    for factor in so_far.factors:
        swap(model, METHODS[name](plan, factor), plan)
        length = round(plan.length * factor)
        found = places(model, plan, length, told=told)
        whole.append(found.mean())
        right.append(found.share_right)
        end.append(found.mean(length - plan.length))
        near.append(places(model, plan, plan.length, told=told).mean(plan.length // 2))
        if factor == max(so_far.factors):
            positions, curve = found.windows(min(WINDOWS, length))
            curves = {**so_far.curves, name: curve}
            so_far = replace(so_far, positions=positions, curves=curves)
    return replace(
        so_far,
        loss={**so_far.loss, name: tuple(whole)},
        at_end={**so_far.at_end, name: tuple(end)},
        right={**so_far.right, name: tuple(right)},
        at_training_length={**so_far.at_training_length, name: tuple(near)},
    )


def swap(model: Model, spec: Encoding, plan: Plan) -> None:
    """Put another encoding without learned numbers into a trained model."""
    model.encoded = Encoded(spec, plan.layers, seed=plan.seed)
