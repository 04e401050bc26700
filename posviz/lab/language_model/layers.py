"""One forward pass, layer by layer: the model's own attention beside the core's; heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from posviz import attention
from posviz.configs import ConfigError
from posviz.encodings.base import Encoding
from posviz.lab.errors import LabError
from posviz.lab.language_model.load import Loaded
from posviz.results import Result, Rotation


@dataclass(frozen=True)
class Seen:
    """One layer's attention over one text.

    Attributes
    ----------
    queries : (heads, n, head_dim) before the rotation.
    keys : (key_heads, n, head_dim) before the rotation; each serves heads / key_heads heads.
    weights : (heads, n, n) as the model itself made them.
    scale : what q·k is multiplied with, the model's own.
    """

    layer: int
    queries: torch.Tensor
    keys: torch.Tensor
    weights: torch.Tensor
    scale: float

    @property
    def keys_by_head(self) -> torch.Tensor:
        """(heads, n, head_dim): the key head of every query head."""
        groups = self.queries.shape[0] // self.keys.shape[0]
        return self.keys.repeat_interleave(groups, dim=0)


class _Enough(Exception):  # noqa: N818 - no error: the layers that follow are not needed
    """Ends a forward pass."""


def spec_of(loaded: Loaded, layer: int) -> Encoding:
    """The encoding of a layer, as the model's configuration means it.

    Raises
    ------
    LabError : the layer, or the whole model, does not rotate queries and keys.
    """
    reading, title = loaded.reading, loaded.source.title
    if layer in reading.unrotated_layers:
        raise LabError(f"{title}: layer {layer} does not rotate queries and keys.")
    named = [one.name for one in reading.layers if layer in one.indices]
    try:
        return reading.spec(named[0] if named else None)
    except ConfigError as error:
        raise LabError(f"{title}: {error}") from None


def encoded(spec: Encoding, count: int) -> Rotation:
    """The encoding at positions 0 … count-1 in torch, float64; configurations give rotations."""
    found = spec.encode(torch.arange(count, dtype=torch.float64), length=count)
    if not isinstance(found, Rotation):
        raise LabError(f"{spec.title} does not rotate queries and keys by their positions.")
    return found


def core_weights(result: Result, seen: Seen) -> torch.Tensor:
    """The attention that the core gives for a layer's queries and keys: (heads, n, n), float64."""
    queries, keys = seen.queries.double(), seen.keys_by_head.double()
    found: torch.Tensor = attention.weights(result, queries, keys, is_causal=True, scale=seen.scale)
    return found


def run(
    loaded: Loaded,
    ids: torch.Tensor,
    look: Callable[[Seen], None],
    *,
    last: int | None = None,
) -> None:
    """Run the model once and look at every layer's attention as it passes, kept by nobody else.

    Parameters
    ----------
    ids : (1, n) tokens.
    last : the layer after which the pass ends; all of them when left out.

    Raises
    ------
    LabError : a model whose attention shows no queries, keys or weights.
    """
    modules = attention_modules(loaded)
    with torch.inference_mode(), _hooked(loaded, modules, look, last):
        try:
            loaded.model.base_model(input_ids=ids, use_cache=False)
        except _Enough:
            return


def attention_modules(loaded: Loaded) -> list[Any]:
    """The attention of every layer, in order."""
    found = [
        module
        for module in loaded.model.modules()
        if hasattr(module, "q_proj") and hasattr(module, "k_proj") and hasattr(module, "layer_idx")
    ]
    if not found:
        raise LabError(
            f"{loaded.source.title}: its layers have no q_proj and k_proj, so its queries and keys "
            "cannot be read."
        )
    return sorted(found, key=lambda module: int(module.layer_idx))


@contextmanager
def _hooked(
    loaded: Loaded, modules: list[Any], look: Callable[[Seen], None], last: int | None
) -> Iterator[None]:
    handles = []
    for module in modules:
        store: dict[str, torch.Tensor] = {}
        size = int(module.head_dim)
        for side in ("q", "k"):
            projection = getattr(module, f"{side}_proj")
            handles.append(projection.register_forward_hook(_keep(store, side, size)))
            # Where there is a norm, the rotation follows it.
            if (norm := getattr(module, f"{side}_norm", None)) is not None:
                handles.append(norm.register_forward_hook(_keep_normed(loaded, store, side)))
        handles.append(module.register_forward_hook(_show(loaded, store, look, last)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _keep(store: dict[str, torch.Tensor], side: str, head_dim: int) -> Callable[..., None]:
    def hook(module: Any, inputs: Any, output: torch.Tensor) -> None:
        parted = output[0].reshape(output.shape[1], -1, head_dim)
        store[side] = parted.transpose(0, 1)

    return hook


def _keep_normed(loaded: Loaded, store: dict[str, torch.Tensor], side: str) -> Callable[..., None]:
    """What a norm makes of the projection, which it gets in an order of axes of its own."""

    def hook(module: Any, inputs: Any, output: torch.Tensor) -> None:
        store[side] = _like(loaded, store[side], inputs[0][0], output[0])

    return hook


def _like(
    loaded: Loaded, projected: torch.Tensor, given: torch.Tensor, made: torch.Tensor
) -> torch.Tensor:
    """``made`` in the order of axes of ``projected``, (heads, n, head_dim).

    Which order it has, ``given`` tells by its numbers: as many heads as tokens would fit both.
    """
    heads, n, head_dim = projected.shape
    by_token = projected.transpose(0, 1)
    if given.shape == (n, heads * head_dim) and torch.equal(given, by_token.flatten(1)):
        return made.reshape(n, heads, head_dim).transpose(0, 1)
    if given.shape == by_token.shape and torch.equal(given, by_token):
        return made.transpose(0, 1)
    if given.shape == projected.shape and torch.equal(given, projected):
        return made
    raise LabError(
        f"{loaded.source.title}: between q_proj or k_proj and its norm the model does more than "
        "order axes, so its queries and keys cannot be read."
    )


def _show(
    loaded: Loaded, store: dict[str, torch.Tensor], look: Callable[[Seen], None], last: int | None
) -> Callable[..., None]:
    def hook(module: Any, inputs: Any, output: Any) -> None:
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if weights is None:
            raise LabError(f"{loaded.source.title}: its attention does not give its weights.")
        layer, queries, keys = int(module.layer_idx), store.pop("q"), store.pop("k")
        if queries.shape[0] != weights.shape[1]:
            raise LabError(
                f"{loaded.source.title}: q_proj gives {queries.shape[0]} heads and the attention "
                f"has {weights.shape[1]}, so its queries cannot be read."
            )
        look(Seen(layer, queries, keys, weights[0], float(module.scaling)))
        if layer == last:
            raise _Enough

    return hook
