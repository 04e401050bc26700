"""What a worker process is asked: to train one encoding or several, or to extend one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import torch

from posviz.catalog import link as link_of
from posviz.catalog import parse
from posviz.encodings.base import Encoding
from posviz.lab.errors import LabError
from posviz.lab.training.extend import METHODS, extended
from posviz.lab.training.facts import facts
from posviz.lab.training.fit import fit, share_done
from posviz.lab.training.model import fitted_to, started
from posviz.lab.training.plan import EXTENDED_BY, MOST_LINKS, Plan
from posviz.lab.training.tested import BAR_OF_TEST, tested
from posviz.lab.training.trainable import refusal
from posviz.lab.training.trained import Extended, Trained
from posviz.lab.workers import Progress, Report
from posviz.parameters import ParameterError

Told = Callable[[float, Trained], None]


def train(report: Report, *, link: str, plan: Mapping[str, Any]) -> Trained:
    """Train one encoding and test it; partial results are the :class:`Trained` so far.

    Raises ParameterError for a link or a plan that cannot be used, LabError for an encoding that no
    causal model of text can be trained with.
    """
    one = trained(parse(link), Plan(**plan), _reporting(report))
    report(Progress(1.0, 1.0, f"{one.title}: done", one))
    return one


def train_all(report: Report, *, links: Sequence[str], plan: Mapping[str, Any]) -> list[Trained]:
    """Train some encodings one after another; partial results are the list so far."""
    chosen = Plan(**plan)
    specs = [parse(link) for link in links]
    if not 1 <= len(specs) <= MOST_LINKS:
        raise LabError(f"Training: choose 1 to {MOST_LINKS} encodings; got {len(specs)}.")
    for spec in specs:
        _require(spec)
    done: list[Trained] = []
    for spec in specs:

        def told(share: float, one: Trained) -> None:
            note = f"{one.title}, {len(done) + 1} of {len(specs)}"
            report(Progress(len(done) + share, len(specs), note, [*done, one]))

        done.append(trained(spec, chosen, told))
    report(Progress(len(done), len(specs), "done", list(done)))
    return done


def extend(
    report: Report,
    *,
    plan: Mapping[str, Any],
    factors: Sequence[float] = EXTENDED_BY,
    methods: Sequence[str] = tuple(METHODS),
) -> Extended:
    """Train RoPE with two heads' width, then swap its frequencies for the test.

    ``factors`` are lengths of training; ``methods`` names of :data:`METHODS`.
    """

    def told(share: float, one: Extended) -> None:
        report(Progress(share, 1.0, "extension without fine-tuning", one))

    return extended(Plan(**plan), tuple(factors), tuple(methods), told)


def _reporting(report: Report) -> Told:
    return lambda share, one: report(Progress(share, 1.0, one.title, one))


def _require(spec: Encoding) -> None:
    reason = refusal(spec)
    if reason:
        raise LabError(reason)


def trained(spec: Encoding, plan: Plan, told: Told) -> Trained:
    """Train and test one spec; ``told`` gets the share that is done and the result so far."""
    _require(spec)
    torch.set_num_threads(1)
    used = fitted_to(spec, plan)
    so_far = _blank(spec, used, plan)
    told(0.0, so_far)
    model = started(used, plan)
    began = time.process_time()

    def on_step(steps: list[int], loss: list[float]) -> None:
        share = (1 - BAR_OF_TEST) * share_done(plan, steps[-1], time.process_time() - began)
        told(share, replace(so_far, steps=tuple(steps), loss=tuple(loss)))

    steps, loss, cut = fit(model, plan, on_step)
    notes = (*so_far.notes, *((cut,) if cut else ()))
    so_far = replace(
        so_far,
        steps=tuple(steps),
        loss=tuple(loss),
        notes=notes,
        seconds=time.process_time() - began,
    )
    return tested(model, plan, so_far, told)


def _blank(spec: Encoding, used: Encoding, plan: Plan) -> Trained:
    return Trained(
        link=asked(spec, plan),
        fitted=link_of(used),
        title=spec.title,
        plan=plan.model_dump(),
        lengths=plan.lengths,
        metric=plan.about.metric,
        best=plan.about.best,
        chance=plan.about.chance,
        notes=_notes(used, plan),
        facts=facts(),
    )


def _notes(used: Encoding, plan: Plan) -> tuple[str, ...]:
    first = used.untrained_from(plan.length, plan.longest)
    if first is None:
        return ()
    return (
        f"{used.title}: the table has rows up to the longest test, but those from {first} on never "
        "met a training sequence and keep their random start.",
    )


def asked(spec: Encoding, plan: Plan) -> str:
    """The link of what was asked for: the usual one, unless it leaves out a value that counts.

    A value that was given and equals the declared default stays as it is, where one that was not
    given is fitted to the plan; the link then says it.
    """
    usual = link_of(spec)
    if fitted_to(parse(usual), plan) == fitted_to(spec, plan):
        return usual
    values = {one.name: one.format(getattr(spec, one.name)) for one in spec.declarations()}
    given = {name: text for name, text in values.items() if name in spec.model_fields_set}
    return f"{spec.id}?" + "&".join(
        f"{name}={quote(text, safe=',.-')}" for name, text in given.items()
    )


__all__ = ["ParameterError", "extend", "facts", "tested", "train", "train_all", "trained"]
