"""Sizes of the model: heads, head dimension, the rotated part, layers and their types."""

from __future__ import annotations

from dataclasses import dataclass

from posviz.configs.errors import ConfigError
from posviz.configs.gguf.architectures import ROTATES_WHOLE_HEADS
from posviz.configs.gguf.fields import Draft, Fields
from posviz.configs.model_classes import model_class
from posviz.configs.rope_dicts import FULL, SLIDING
from posviz.configs.rotary_dimension import share_of

_LARGEST = 1 << 20


@dataclass(frozen=True)
class Sizes:
    """Dimensions of a head, and how many of them rotate; None when the file does not tell."""

    head: int | None
    rotated: int | None
    rotated_name: str
    sliding_head: int | None
    sliding_rotated: int | None
    latent: bool

    @property
    def pairs(self) -> int | None:
        return None if self.rotated is None else self.rotated // 2 or None

    @property
    def sliding_pairs(self) -> int | None:
        return None if self.sliding_rotated is None else self.sliding_rotated // 2 or None

    def put_rotary_dim(self, draft: Draft) -> None:
        """How many dimensions rotate, for all layers."""
        if self.latent or self.rotated is None or "partial_rotary_factor" in _flat(draft):
            return
        draft.put(("rotary_dim",), self.rotated, self.rotated_name)
        facts = model_class(draft.config["model_type"]) if "model_type" in draft.config else None
        if facts is None or facts.reads_rotary_dim or not self.head:
            return
        if self.rotated < self.head or facts.partial_rotary_factor is not None:
            share = share_of(self.rotated, self.head)
            draft.put(("rope_parameters", "partial_rotary_factor"), share, self.rotated_name)

    def put_partial(self, draft: Draft, full: tuple[str, ...], sliding: tuple[str, ...]) -> None:
        """The same as a share, for each layer type."""
        sizes = (
            (full, self.head, self.rotated),
            (sliding, self.sliding_head, self.sliding_rotated),
        )
        for path, head, rotated in sizes:
            if "partial_rotary_factor" in _at(draft, path) or not head or rotated is None:
                continue
            draft.put((*path, "partial_rotary_factor"), rotated / head, self.rotated_name)


def put_sizes(fields: Fields, draft: Draft) -> Sizes:
    """Write the sizes that the reader uses, and give those that rotation needs."""
    from gguf.constants import Keys

    attention = Keys.Attention
    for key, pattern in (
        ("hidden_size", Keys.LLM.EMBEDDING_LENGTH),
        ("num_attention_heads", attention.HEAD_COUNT),
        ("num_key_value_heads", attention.HEAD_COUNT_KV),
        ("num_hidden_layers", Keys.LLM.BLOCK_COUNT),
        ("sliding_window", attention.SLIDING_WINDOW),
    ):
        value = fields.number(pattern)
        if value is not None:
            draft.put((key,), value, fields.key(pattern))
    _put_layer_types(fields, draft)
    if fields.raw(attention.KV_LORA_RANK) is not None:
        return _latent(fields, draft)
    return _whole_heads(fields, draft)


def _whole_heads(fields: Fields, draft: Draft) -> Sizes:
    from gguf.constants import Keys

    attention, rope = Keys.Attention, Keys.Rope
    head = _size(fields, attention.KEY_LENGTH)
    sliding = _size(fields, attention.KEY_LENGTH_SWA)
    if sliding is not None and head is not None and sliding != head:
        draft.put(("head_dim",), sliding, fields.key(attention.KEY_LENGTH_SWA))
        draft.put(("global_head_dim",), head, fields.key(attention.KEY_LENGTH))
    elif head is not None:
        draft.put(("head_dim",), head, fields.key(attention.KEY_LENGTH))
    else:
        head = _quotient(fields)
    rotated, name = _size(fields, rope.DIMENSION_COUNT), fields.key(rope.DIMENSION_COUNT)
    if rotated is None:
        rotated, name = head, ""  # llama.cpp's default
    sliding_rotated = _size(fields, rope.DIMENSION_COUNT_SWA)
    _check_whole(fields, draft, head, rotated, name)
    return Sizes(
        head=head,
        rotated=rotated,
        rotated_name=name,
        sliding_head=sliding or head,
        sliding_rotated=sliding_rotated or (sliding if rotated == head else rotated) or rotated,
        latent=False,
    )


def _latent(fields: Fields, draft: Draft) -> Sizes:
    """Latent attention: rope.dimension_count is the rotated part beside the unrotated one."""
    from gguf.constants import Keys

    attention, rope = Keys.Attention, Keys.Rope
    rotated, name = _size(fields, rope.DIMENSION_COUNT), fields.key(rope.DIMENSION_COUNT)
    # Older conversions have the whole head under key_length, newer ones the length in the cache.
    pattern = attention.KEY_LENGTH_MLA
    if fields.raw(pattern) is None:
        pattern = attention.KEY_LENGTH
    head = _size(fields, pattern)
    if rotated is not None:
        draft.put(("qk_rope_head_dim",), rotated, name)
    if rotated is not None and head is not None and head > rotated:
        draft.put(("qk_nope_head_dim",), head - rotated, fields.key(pattern))
    if head is not None and model_class(draft.config["model_type"]).splits_heads:
        draft.put(("head_dim",), head, fields.key(pattern))
    return Sizes(head, rotated, name, head, rotated, latent=True)


def _size(fields: Fields, pattern: str) -> int | None:
    value = fields.number(pattern)
    if value is not None and value > _LARGEST:
        raise ConfigError(
            f"{fields.key(pattern)} must be at most {_LARGEST}, larger than in any model; got "
            f"{value:g}."
        )
    return int(value) if value is not None and value >= 1 else None


def _quotient(fields: Fields) -> int | None:
    from gguf.constants import Keys

    width = _size(fields, Keys.LLM.EMBEDDING_LENGTH)
    heads = _size(fields, Keys.Attention.HEAD_COUNT)
    return width // heads if width and heads else None


def _check_whole(
    fields: Fields, draft: Draft, head: int | None, rotated: int | None, name: str
) -> None:
    """A part of each head rotates: not every architecture or class takes that."""
    if head is None or rotated is None or rotated >= head:
        return
    if fields.architecture in ROTATES_WHOLE_HEADS:
        draft.note(
            "error",
            f"{name} is {rotated} and a head has {head} dimensions; llama.cpp refuses that for "
            f"{fields.architecture}.",
        )
    facts = model_class(draft.config["model_type"])
    if facts.known and not facts.rotates_partially:
        draft.drop("model_type")
        draft.note(
            "warn",
            f"{name} is {rotated} of {head} dimensions, which llama.cpp obeys; {facts.name} of "
            "transformers always rotates whole heads, so no model type is given here.",
        )


def _put_layer_types(fields: Fields, draft: Draft) -> None:
    from gguf.constants import Keys

    pattern = Keys.Attention.SLIDING_WINDOW_PATTERN
    marks = fields.items(pattern)
    if marks:
        types = [SLIDING if mark else FULL for mark in marks]
        draft.put(("layer_types",), types, fields.key(pattern))
    elif isinstance(fields.raw(pattern), int):
        draft.put(("sliding_window_pattern",), fields.raw(pattern), fields.key(pattern))


def _flat(draft: Draft) -> dict[str, object]:
    return _at(draft, ("rope_parameters",))


def _at(draft: Draft, path: tuple[str, ...]) -> dict[str, object]:
    place = draft.config
    for part in path:
        place = place.get(part, {})
    return place
