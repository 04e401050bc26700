"""Training: Adam, a report at least each second, an end after so many seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

from posviz.lab.training.batches import IGNORED, training_batch
from posviz.lab.training.model import Model, losses
from posviz.lab.training.plan import Plan

POINTS = 50
"""Points of the curve of the training loss."""
_WARM_UP = 0.05
_LEAST_RATE = 0.1
_REPORT_EACH = 0.5
_MOST_LOGITS = 1 << 20
"""Most logits of attention in one layer at once: a part of a batch that takes a second or so even
where an encoding is slow, so that a training can be heard from and ended within a step."""

Told = Callable[[list[int], list[float]], None]


class _OutOfTime(Exception):  # noqa: N818 - nothing went wrong: the training ends here
    """The time ran out within a step, which is not taken."""


def fit(model: Model, plan: Plan, told: Told) -> tuple[list[int], list[float], str]:
    """Train a model in place.

    ``told`` gets the curve so far, at least each second; what it raises ends the training. Its time
    is counted in seconds of the processor, so that a busy machine cuts no earlier than an idle one.

    Returns
    -------
    Steps, the mean loss up to each since the one before, and a sentence where the time ran out.
    """
    rng = np.random.default_rng([plan.seed, 1])
    adam = _adam(model, plan)
    pause = _Pause(plan.training_seconds, lambda: told(steps, curve))
    steps, curve, since = [0], [_first_loss(model, plan)], _Mean()
    stride = max(1, plan.steps // POINTS)
    model.train()
    for step in range(1, plan.steps + 1):
        _set_rate(adam, plan, step)
        try:
            pause()
            since.add(_step(model, adam, plan, rng, step, pause))
        except _OutOfTime:
            if since.count:
                steps.append(step - 1)
                curve.append(since.taken())
            return steps, curve, _cut(plan, step - 1)
        if step % stride == 0 or step == plan.steps:
            steps.append(step)
            curve.append(since.taken())
    return steps, curve, ""


def share_done(plan: Plan, step: int, seconds: float) -> float:
    """Of a training: one that will be cut comes to its end with its time, not with its steps."""
    return min(1.0, max(step / plan.steps, seconds / plan.training_seconds))


class _Pause:
    """Between two parts of the work: tells how far it is, and ends it when its time is over."""

    def __init__(self, seconds: float, told: Callable[[], None]) -> None:
        self._told, self._last = told, time.monotonic()
        self._until = time.process_time() + seconds

    def __call__(self) -> None:
        if time.monotonic() - self._last > _REPORT_EACH:
            self._told()
            self._last = time.monotonic()
        if time.process_time() > self._until:
            raise _OutOfTime


def _cut(plan: Plan, step: int) -> str:
    return (
        f"The training was cut after {plan.training_seconds:g} s of one core, at step {step} of "
        f"{plan.steps}: its curves are those of a model that is not done."
    )


class _Mean:
    """The mean of losses since it was last taken, without waiting for each."""

    def __init__(self) -> None:
        self._sum, self.count = 0.0, 0

    def add(self, value: float) -> None:
        self._sum, self.count = self._sum + value, self.count + 1

    def taken(self) -> float:
        mean = self._sum / max(1, self.count)
        self._sum, self.count = 0.0, 0
        return mean


def _step(
    model: Model,
    adam: torch.optim.Adam,
    plan: Plan,
    rng: np.random.Generator,
    step: int,
    pause: _Pause,
) -> float:
    model.encoded.renew(plan.seed * plan.steps + step)
    adam.zero_grad(set_to_none=True)
    whole = 0.0
    for place, loss in enumerate(_parts_of_loss(model, plan, rng)):
        if place:
            pause()
        loss.backward()  # type: ignore[no-untyped-call]
        whole += float(loss.detach())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()
    return whole


def _parts_of_loss(model: Model, plan: Plan, rng: np.random.Generator) -> Iterator[torch.Tensor]:
    """A batch's mean loss in parts that add up to it, each of as many sequences as are quick."""
    made = training_batch(plan.task, rng, plan.sequences, plan.length)
    tokens, targets = torch.from_numpy(made.tokens), torch.from_numpy(made.targets)
    counted = (targets != IGNORED).sum()
    for first in range(0, plan.sequences, _at_once(plan)):
        part = slice(first, first + _at_once(plan))
        yield losses(model(tokens[part]), targets[part], IGNORED).sum() / counted


def _at_once(plan: Plan) -> int:
    return min(plan.sequences, max(1, _MOST_LOGITS // (plan.heads * plan.length**2)))


def _first_loss(model: Model, plan: Plan) -> float:
    few = plan.with_values(sequences=_at_once(plan))
    with torch.no_grad():
        (loss,) = _parts_of_loss(model, few, np.random.default_rng([plan.seed, 2]))
    return float(loss)


def _adam(model: Model, plan: Plan) -> torch.optim.Adam:
    """Numbers that are added to logits get their own step size."""
    learned = list(model.encoded.learned.parameters())
    ids = {id(one) for one in learned}
    others = [one for one in model.parameters() if id(one) not in ids]
    times = plan.bias_rate if learned and model.encoded.adds_to_logits else 1.0
    groups = [{"params": others, "times": 1.0}]
    groups += [{"params": learned, "times": times}] if learned else []
    return torch.optim.Adam(groups, lr=plan.learning_rate, betas=(0.9, 0.98), fused=True)


def _set_rate(adam: torch.optim.Adam, plan: Plan, step: int) -> None:
    """Up in the first twentieth of the steps, then down by a cosine to a tenth."""
    warm = max(1, round(_WARM_UP * plan.steps))
    done = max(0.0, (step - warm) / max(1, plan.steps - warm))
    falling = _LEAST_RATE + (1 - _LEAST_RATE) * (1 + math.cos(math.pi * done)) / 2
    share = min(1.0, step / warm) * falling
    for group in adam.param_groups:
        group["lr"] = plan.learning_rate * group["times"] * share
