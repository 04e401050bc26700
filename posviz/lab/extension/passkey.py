"""Pass keys hidden in a long text and asked for: a retrieval grid; heavy.

One reading of a haystack serves all depths: several named keys lie in it, and each question is
asked after the same cached keys and values, which are cut back after it. The model answers by
itself, token by token its first choice, and the whole key must be right. The same is asked for
names that stand nowhere in the text: the control, which shows what is reached without the name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from posviz.lab.extension.cache import Cache
from posviz.lab.extension.grids import (
    Found,
    Unit,
    key_of_unit,
    read_unit,
    settings_of,
    units,
)
from posviz.lab.extension.grids import grid as grid_of
from posviz.lab.extension.haystack import DIGITS, Haystack, haystack, question, shares
from posviz.lab.extension.plan import PasskeyPlan
from posviz.lab.extension.reading import Kept, Reading, extended
from posviz.lab.extension.records import MEASURED, PasskeyGrid
from posviz.lab.extension.run import cache_at, facts_of
from posviz.lab.language_model.load import Loaded, decoder
from posviz.lab.language_model.sources import find
from posviz.lab.workers import Progress, Report


def grid(
    report: Report,
    *,
    model: str,
    link: str,
    text: str,
    cache_folder: str | None = None,
    threads: int | None = None,
    **values: Any,
) -> PasskeyGrid:
    """How well a model with a method's exported settings finds pass keys.

    Finished haystacks are taken from the cache; a run that was killed goes on after its last
    chunk. Progress comes with the grid so far.

    Parameters
    ----------
    model, cache_folder, threads : as for :func:`posviz.lab.extension.run.measure`.
    link, values : of :class:`PasskeyPlan`.

    Raises
    ------
    ParameterError : a value of the plan that is not allowed.
    LabError : a method that transformers cannot express, no such model, a text that is too short.
    """
    plan = PasskeyPlan(link=link, **values)
    if threads is not None:
        torch.set_num_threads(threads)
    source = find(model)
    settings = settings_of(source, plan)
    cache = cache_at(cache_folder)
    keys = {unit: key_of_unit(source, settings, text, plan, unit) for unit in units(plan)}
    kept = {unit: read_unit(cache, key, plan) for unit, key in keys.items()}
    found = {unit: one for unit, one in kept.items() if one is not None}
    facts = facts_of(source, settings, text, plan.model_dump())
    if len(found) < len(keys):
        loaded = decoder(model, report, attention="sdpa")
        run = _Run(loaded, extended(loaded, settings, plan.dtype), plan, text, cache)
        for unit, key in keys.items():
            if unit not in found:

                def show(done: int, note: str, unit: Unit = unit) -> Progress:
                    before = sum(one.length for one in found)
                    now = grid_of(found, settings, plan, facts)
                    whole = sum(one.length for one in keys)
                    return Progress(before + done, whole, f"{unit.length:,} tokens: {note}", now)

                found[unit] = run.unit(unit, key, facts, report, show)
                cache.write(key, asdict(found[unit]))
    notes = (cache.problem,) if cache.problem else ()
    return grid_of(found, settings, plan, facts, notes)


class _Run:
    """What all haystacks of a grid share."""

    def __init__(
        self, loaded: Loaded, model: Any, plan: PasskeyPlan, text: str, cache: Cache
    ) -> None:
        self.model, self.plan, self.cache = model, plan, cache
        self.tokenizer = loaded.tokenizer
        self.text = text
        self.text_ids = self.encode(text)

    def encode(self, text: str) -> list[int]:
        found = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return [int(one) for one in found]

    def unit(self, unit: Unit, key: str, facts: Any, report: Report, show: Any) -> Found:
        hidden = haystack(
            self.text, self.encode, self.tokenizer.decode, self.plan, unit, self.text_ids
        )
        ids = torch.tensor(hidden.ids)
        reading = Reading(
            self.model, ids, self.plan.chunk, kept=Kept(self.cache, key), with_losses=False
        )
        reading.run(
            report, lambda now: show(now.read, f"{now.read:,} read, {now.rate:,.0f} tokens/s")
        )
        started = time.perf_counter()
        beat = show(reading.read, "asking for the keys")
        measured = self._measured(hidden, reading.past, lambda: report(beat))
        whole, first = self._asked(hidden.names[0], hidden.keys[0])
        return Found(
            **measured,
            seconds=reading.seconds + time.perf_counter() - started,
            example=self.tokenizer.decode(whole[:first]),
            facts=facts,
        )

    def _asked(self, name: str, key: str) -> tuple[Any, int]:
        return question(name, key, self.encode, self.tokenizer.decode)

    def _measured(self, hidden: Haystack, past: Any, beat: Callable[[], None]) -> dict[str, Any]:
        """All tables of the haystack, by depth."""
        found: dict[str, list[float]] = {name: [] for name in MEASURED}
        said: list[str] = []
        for name, absent, key in zip(hidden.names, hidden.absent, hidden.keys, strict=True):
            loss, answer = self._answer(name, key, past)
            exact, right = shares(answer, key)
            found["exact"].append(exact)
            found["right"].append(right)
            found["loss"].append(loss)
            beat()
            loss, answer = self._answer(absent, key, past)
            found["absent_loss"].append(loss)
            said.append(answer)
            beat()
        for key in hidden.keys:
            # Every name without a key might be answered with any of them.
            exact, right = np.mean([shares(answer, key) for answer in said], axis=0)
            found["absent_exact"].append(float(exact))
            found["absent_right"].append(float(right))
        return {name: tuple(values) for name, values in found.items()}

    @torch.inference_mode()
    def _answer(self, name: str, key: str, past: Any) -> tuple[float, str]:
        """Nats per token of the key when it is given, and what the model says by itself."""
        whole, first = self._asked(name, key)
        logits = self._logits(whole, past)[first - 1 : -1]
        past.crop(-len(whole))
        answer = torch.tensor(whole[first:])
        loss = float(torch.nn.functional.cross_entropy(logits.float(), answer))
        if bool((logits.argmax(-1) == answer).all()):
            return loss, key  # each first choice is the key's token: so is the free answer
        ids = list(whole[:first])
        fed = 0
        for _ in range(DIGITS):
            logits = self._logits(ids[fed:], past)
            fed = len(ids)
            ids.append(int(logits[-1].argmax()))
        past.crop(-fed)
        place = self._letters(whole[first:]).rindex(key)  # a token may join the name to digits
        return loss, self._letters(ids[first:])[place : place + DIGITS]

    def _letters(self, ids: list[int]) -> str:
        return "".join(self.tokenizer.decode(ids).split())

    def _logits(self, ids: list[int], past: Any) -> torch.Tensor:
        found: torch.Tensor = self.model(torch.tensor([ids]), cache=past, use_cache=True).logits[0]
        return found
