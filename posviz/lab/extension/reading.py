"""A text read in chunks with keys and values kept; heavy."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from posviz.lab.errors import LabError
from posviz.lab.extension.applied import Applied
from posviz.lab.extension.cache import Cache
from posviz.lab.language_model.load import Loaded
from posviz.lab.workers import Progress, Report

_BEAT = 0.5
"""Seconds between two reports within a chunk."""


@dataclass(frozen=True)
class Kept:
    """Where a run's chunks are kept: a cache and the run's key in it."""

    cache: Cache
    key: str


def extended(loaded: Loaded, settings: Applied, dtype: str) -> Any:
    """A second model on the same weights whose configuration holds the exported settings.

    The loaded one stays as it is; the second one has the state of no earlier call.
    """
    from accelerate import init_empty_weights  # type: ignore[import-untyped]

    config = copy.deepcopy(loaded.model.config)
    for name, value in settings.changed.items():
        setattr(config, name, copy.deepcopy(value))
    with init_empty_weights(include_buffers=False):
        model = type(loaded.model)(config)
    number = getattr(torch, dtype)
    state = {name: value.to(number) for name, value in loaded.model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    model.tie_weights()
    model.set_attn_implementation("sdpa")
    return model.eval()


def tokens_of(loaded: Loaded, text: str, length: int) -> torch.Tensor:
    """(length,) the first tokens of a text.

    Raises
    ------
    LabError : the text has fewer.
    """
    ids: torch.Tensor = loaded.tokenizer(text, return_tensors="pt", verbose=False)["input_ids"][0]
    if len(ids) < length:
        raise LabError(
            f"Extension: text must have at least {length:,} tokens for {loaded.source.title}; it "
            f"has {len(ids):,}."
        )
    return ids[:length]


class Reading:
    """Reads tokens chunk by chunk; what was read stays in a cache of keys and values.

    Attributes
    ----------
    losses : those so far, nats: -ln p of token 1, token 2, ….
    past : the cache of keys and values.
    resumed : tokens that were taken from disk and not read again.
    seconds : spent on reading, in this process and in those before it.
    """

    def __init__(
        self, model: Any, ids: torch.Tensor, chunk: int, *, kept: Kept | None, with_losses: bool
    ) -> None:
        from transformers import DynamicCache

        self.model, self.ids, self.chunk = model, ids, chunk
        self.past: Any = DynamicCache()
        self.with_losses = with_losses
        self.kept = kept
        self.read = self.resumed = 0
        self.seconds = 0.0
        self._losses: list[torch.Tensor] = []
        if kept is not None:
            self._resume(kept)

    @property
    def losses(self) -> Any:
        if not self._losses:
            return np.zeros(0, dtype=np.float32)
        return torch.cat(self._losses).numpy()

    @property
    def rate(self) -> float:
        """Tokens per second so far."""
        return self.read / self.seconds if self.seconds else 0.0

    @torch.inference_mode()
    def run(self, report: Report, show: Callable[[Reading], Progress]) -> None:
        """Read to the end; ``show`` says how far it is, after each chunk.

        While a chunk is read, the last word is repeated, so that nobody waits long to cancel.
        """
        shown = show(self)
        report(shown)
        with _beating(self.model, lambda: report(shown)):
            while self.read < len(self.ids):
                number, started = self.read // self.chunk, time.perf_counter()
                self._step()
                self.seconds += time.perf_counter() - started
                if self.kept is not None:
                    self._keep(self.kept, number)
                shown = show(self)
                report(shown)

    def _step(self) -> None:
        first, last = self.read, min(self.read + self.chunk, len(self.ids))
        ids = self.ids[None, first:last]
        if self.with_losses:
            logits = self.model(ids, cache=self.past, use_cache=True).logits[0]
            targets = self.ids[first + 1 : last + 1]
            self._losses.append(
                torch.nn.functional.cross_entropy(
                    logits[: len(targets)].float(), targets, reduction="none"
                )
            )
        else:
            self.model.base_model(ids, cache=self.past, use_cache=True)
        self.read = last

    def _keep(self, kept: Kept, number: int) -> None:
        """The chunk's keys, values and losses."""
        first = number * self.chunk
        parts: dict[str, torch.Tensor] = {"seconds": torch.tensor([self.seconds]).double()}
        for place, layer in enumerate(self.past.layers):
            parts[f"keys.{place}"] = layer.keys[..., first:, :].contiguous()
            parts[f"values.{place}"] = layer.values[..., first:, :].contiguous()
        if self.with_losses:
            parts["losses"] = self._losses[-1]
        size = sum(part.nbytes for part in parts.values())
        kept.cache.write_part(kept.key, number, lambda path: save_file(parts, path), size)

    def _resume(self, kept: Kept) -> None:
        """Take the chunks that are on disk, up to the first that does not fit."""
        found: list[dict[str, torch.Tensor]] = []
        for path in kept.cache.parts(kept.key):
            parts = _parts(path)
            if parts is None or not self._fits(parts, len(found)):
                kept.cache.drop(path)
                break
            found.append(parts)
        if not found:
            return
        for place in range(sum(name.startswith("keys.") for name in found[0])):
            keys, values = (
                torch.cat([parts[f"{name}.{place}"] for parts in found], dim=-2)
                for name in ("keys", "values")
            )
            self.past.update(keys, values, place)
        self.read = self.resumed = min(len(found) * self.chunk, len(self.ids))
        self.seconds = float(found[-1]["seconds"])
        if self.with_losses:
            self._losses = [parts["losses"] for parts in found]

    def _fits(self, parts: dict[str, torch.Tensor], number: int) -> bool:
        tokens = min(self.chunk, len(self.ids) - number * self.chunk)
        losses = min(self.chunk, len(self.ids) - 1 - number * self.chunk)
        return (
            "seconds" in parts
            and all(one.shape[-2] == tokens for name, one in parts.items() if "." in name)
            and (not self.with_losses or ("losses" in parts and len(parts["losses"]) == losses))
        )


def _parts(path: Path) -> dict[str, torch.Tensor] | None:
    try:
        return load_file(path)
    except (OSError, SafetensorError):
        return None


@contextmanager
def _beating(model: Any, beat: Callable[[], None]) -> Iterator[None]:
    """Call ``beat`` about twice a second while the model's layers run; it may raise Cancelled."""
    last = time.monotonic()

    def hook(module: Any, inputs: Any, output: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= _BEAT:
            last = time.monotonic()
            beat()

    handles = [one.register_forward_hook(hook) for one in getattr(model.base_model, "layers", ())]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
