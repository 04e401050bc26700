"""Pass keys hidden in a long text and asked for: a retrieval grid; heavy.

One reading of a haystack serves all depths: several named keys lie in it, and each question is
asked after the same cached keys and values, which are cut back after it. The answer is given
token by token (teacher forcing): a token counts as right where it is the model's first choice
after the right ones before it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

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
from posviz.lab.extension.haystack import Haystack, haystack, question
from posviz.lab.extension.plan import PasskeyPlan
from posviz.lab.extension.reading import Kept, Reading, extended
from posviz.lab.extension.records import PasskeyGrid
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
    lengths: Sequence[int] = (2048, 4096, 8192, 12288),
    depths: int = 5,
    chunk: int = 512,
    seed: int = 0,
    repeats: int = 1,
    artificial_window: int | None = None,
    dtype: str = "float32",
    cache_folder: str | None = None,
    threads: int | None = None,
) -> PasskeyGrid:
    """How well a model with a method's exported settings finds pass keys.

    Finished haystacks are taken from the cache; a run that was killed goes on after its last
    chunk. Progress comes with the grid so far.

    Parameters
    ----------
    model, cache_folder, threads : as for :func:`posviz.lab.extension.run.measure`.
    others : of :class:`PasskeyPlan`.

    Raises
    ------
    ParameterError : a value of the plan that is not allowed.
    LabError : a method that transformers cannot express, no such model, a text that is too short.
    """
    plan = PasskeyPlan(
        link=link,
        lengths=tuple(lengths),
        depths=depths,
        chunk=chunk,
        seed=seed,
        repeats=repeats,
        artificial_window=artificial_window,
        dtype=dtype,
    )
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
        self.text_ids = self.encode(text)

    def encode(self, text: str) -> list[int]:
        found = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return [int(one) for one in found]

    def unit(self, unit: Unit, key: str, facts: Any, report: Report, show: Any) -> Found:
        hidden = haystack(self.text_ids, self.encode, self.plan, unit)
        ids = torch.tensor(hidden.ids)
        reading = Reading(
            self.model, ids, self.plan.chunk, kept=Kept(self.cache, key), with_losses=False
        )
        reading.run(
            report, lambda now: show(now.read, f"{now.read:,} read, {now.rate:,.0f} tokens/s")
        )
        started = time.perf_counter()
        right, loss, tokens = self._answers(hidden, reading)
        name, secret = hidden.names[0], hidden.keys[0]
        return Found(
            right=right,
            loss=loss,
            tokens=tokens,
            seconds=reading.seconds + time.perf_counter() - started,
            example=self.tokenizer.decode(self._asked(name, secret)[0]),
            facts=facts,
        )

    def _asked(self, name: str, key: str) -> tuple[Any, int]:
        return question(name, key, self.encode, self.tokenizer.decode)

    @torch.inference_mode()
    def _answers(
        self, hidden: Haystack, reading: Reading
    ) -> tuple[tuple[float, ...], tuple[float, ...], int]:
        right, loss, tokens = [], [], 0
        for name, key in zip(hidden.names, hidden.keys, strict=True):
            whole, first = self._asked(name, key)
            logits = self.model(torch.tensor([whole]), cache=reading.past, use_cache=True).logits[
                0, first - 1 : -1
            ]
            reading.past.crop(-len(whole))
            answer = torch.tensor(whole[first:])
            right.append(float((logits.argmax(-1) == answer).float().mean()))
            loss.append(float(torch.nn.functional.cross_entropy(logits.float(), answer)))
            tokens = len(answer)
        return tuple(right), tuple(loss), tokens
