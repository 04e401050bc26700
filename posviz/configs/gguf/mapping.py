"""A GGUF header as the configuration that the reader of config.json takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.gguf.architectures import (
    ALIBI,
    INTERLEAVED_SECTIONS,
    NAMED_ONLY,
    NEIGHBOURS_ROTATE,
    OWN_SLIDING_BASE,
    SLIDING_BASE,
    UNROTATED,
    UNSCALED_SLIDING,
    model_type_of,
)
from posviz.configs.gguf.fields import Draft, Fields, Note
from posviz.configs.gguf.header import Header, rotary_tensor_names
from posviz.configs.gguf.placing import Rotation
from posviz.configs.gguf.rotation import put_rotation
from posviz.configs.gguf.sizes import Sizes, put_sizes
from posviz.configs.rope_dicts import FULL, SLIDING

_LIBRARY_BASE = 10000.0
_PARAMETERS = "rope_parameters"


@dataclass(frozen=True)
class GgufConfig:
    """A GGUF file in transformers' spelling.

    Attributes
    ----------
    config : what :func:`posviz.configs.read` takes.
    names : the GGUF key or tensor behind an entry of ``config``, by its dotted key there; entries
        that llama.cpp's own defaults fill in have none.
    notes : severity (info, differs, warn, error) and sentence; differs means that llama.cpp does
        what ``config`` says, but the released model something else; an error, that llama.cpp would
        do something else than ``config`` says, or refuses the file.
    tensors : names of the tensors with rotary divisors that the file has.
    """

    config: Mapping[str, Any]
    names: Mapping[str, str]
    notes: tuple[Note, ...]
    tensors: tuple[str, ...]


def config_of(header: Header) -> GgufConfig:
    """The configuration that a header stands for, read as llama.cpp reads it.

    Raises
    ------
    ConfigError : no architecture, not a language model, or a key with a value of the wrong kind.
    """
    _check_is_model(header)
    fields, draft = Fields(header), Draft()
    _put_model(fields, draft)
    sizes = put_sizes(fields, draft)
    _put_switch(fields, draft)
    if header.architecture in UNROTATED or _is_alibi(fields):
        _put_other_positions(fields, draft)
    else:
        _put_positions(fields, draft, sizes)
    if header.architecture in NAMED_ONLY:
        name = header.architecture
        draft.note("warn", f"llama.cpp knows the name {name}, but does not run this architecture.")
    _note_parts(header, draft)
    tensors = tuple(name for name in rotary_tensor_names() if name in header.tensors)
    return GgufConfig(draft.config, draft.names, tuple(draft.notes), tensors)


def _check_is_model(header: Header) -> None:
    from gguf.constants import Keys

    if not header.architecture:
        part, parts = (header.metadata.get(key) for key in _split_keys()[:2])
        if isinstance(part, int) and isinstance(parts, int) and part > 0:
            raise ConfigError(
                f"This GGUF file is part {part + 1} of {parts}; the metadata stand in part 1."
            )
        raise ConfigError(f"This GGUF file has no {Keys.General.ARCHITECTURE}, so it is no model.")
    if len(header.architecture) > 80:
        raise ConfigError(f"{Keys.General.ARCHITECTURE} must be a short name of an architecture.")
    kind = header.metadata.get(Keys.General.TYPE)
    if header.architecture == "clip" or kind in ("adapter", "imatrix", "mmproj", "vocab"):
        raise ConfigError(
            f"This GGUF file holds no language model: its {Keys.General.ARCHITECTURE} is "
            f"{header.architecture[:40]!r} and its {Keys.General.TYPE} {kind!r:.40}."
        )


def _split_keys() -> tuple[str, str, str]:
    from gguf.constants import Keys

    split = Keys.Split
    return split.LLM_KV_SPLIT_NO, split.LLM_KV_SPLIT_COUNT, split.LLM_KV_SPLIT_TENSORS_COUNT


def _put_model(fields: Fields, draft: Draft) -> None:
    from gguf.constants import Keys

    has_window = bool(fields.number(Keys.Attention.SLIDING_WINDOW))
    model_type = model_type_of(fields.architecture, has_window)
    draft.put(("model_type",), model_type, Keys.General.ARCHITECTURE)
    window = fields.number(Keys.LLM.CONTEXT_LENGTH)
    if window is not None:
        draft.put(("max_position_embeddings",), window, fields.key(Keys.LLM.CONTEXT_LENGTH))


def _put_switch(fields: Fields, draft: Draft) -> None:
    """Granite 4 without rotation: llama.cpp reads a flag about something else as the switch."""
    from gguf.constants import Keys

    if fields.architecture == "granitehybrid":
        name = fields.key(Keys.Rope.SCALING_FINETUNED)
        rotates = fields.raw(Keys.Rope.SCALING_FINETUNED) is not False
        draft.put(("position_embedding_type",), "rope" if rotates else "nope", name)


def _is_alibi(fields: Fields) -> bool:
    from gguf.constants import Keys

    # llama.cpp knows Baichuan-13B, which has no rotation, by its 40 layers.
    is_baichuan_13b = (
        fields.architecture == "baichuan" and fields.number(Keys.LLM.BLOCK_COUNT) == 40
    )
    slope = fields.number(Keys.Attention.MAX_ALIBI_BIAS)
    return fields.architecture in ALIBI or bool(slope) or is_baichuan_13b


def _put_other_positions(fields: Fields, draft: Draft) -> None:
    from gguf.constants import Keys

    if _is_alibi(fields):
        draft.put(("alibi",), True, fields.key(Keys.Attention.MAX_ALIBI_BIAS))
        exponent = fields.number(Keys.Attention.MAX_ALIBI_BIAS)
        if exponent:
            name = fields.key(Keys.Attention.MAX_ALIBI_BIAS)
            draft.put(("alibi_bias_max",), float(exponent), name)
    buckets = fields.number(Keys.Attention.REL_BUCKETS_COUNT)
    if buckets is not None:
        name = fields.key(Keys.Attention.REL_BUCKETS_COUNT)
        draft.put(("relative_attention_num_buckets",), buckets, name)


def _put_positions(fields: Fields, draft: Draft, sizes: Sizes) -> None:
    from gguf.constants import Keys

    rope = Keys.Rope
    base = fields.number(rope.FREQ_BASE)
    base_name = "" if base is None else fields.key(rope.FREQ_BASE)
    base = _LIBRARY_BASE if base is None else float(base)
    sliding_base, sliding_name = _sliding_base(fields, base, base_name)
    scaled = fields.architecture not in UNSCALED_SLIDING
    has_window = bool(fields.number(Keys.Attention.SLIDING_WINDOW))
    if has_window and (sliding_base != base or not scaled):
        full, sliding = (_PARAMETERS, FULL), (_PARAMETERS, SLIDING)
        put_rotation(fields, draft, Rotation(full, base, base_name, sizes.pairs))
        other = Rotation(sliding, sliding_base, sliding_name, sizes.sliding_pairs, scaled)
        put_rotation(fields, draft, other)
        sizes.put_partial(draft, full, sliding)
    else:
        put_rotation(fields, draft, Rotation((_PARAMETERS,), base, base_name, sizes.pairs))
        sizes.put_rotary_dim(draft)
        _put_sections(fields, draft)
    _note_rotation(fields, draft)


def _sliding_base(fields: Fields, base: float, base_name: str) -> tuple[float, str]:
    from gguf.constants import Keys

    own = fields.number(Keys.Rope.FREQ_BASE_SWA)
    if own is not None:
        return float(own), fields.key(Keys.Rope.FREQ_BASE_SWA)
    if fields.architecture in OWN_SLIDING_BASE:
        return SLIDING_BASE, ""
    return base, base_name


def _put_sections(fields: Fields, draft: Draft) -> None:
    from gguf.constants import Keys

    sections = fields.items(Keys.Rope.DIMENSION_SECTIONS)
    if sections is None:
        return
    while len(sections) > 3 and sections[-1] == 0:  # llama.cpp has room for a fourth coordinate
        sections = sections[:-1]
    name = fields.key(Keys.Rope.DIMENSION_SECTIONS)
    draft.put((_PARAMETERS, "mrope_section"), sections, name)
    if fields.architecture in INTERLEAVED_SECTIONS:
        draft.put((_PARAMETERS, "mrope_interleaved"), True, Keys.General.ARCHITECTURE)


def _note_rotation(fields: Fields, draft: Draft) -> None:
    from gguf.constants import Keys

    rope = Keys.Rope
    if fields.raw(rope.FREQ_BASE) is None:
        draft.note("info", f"{fields.key(rope.FREQ_BASE)} is missing; llama.cpp takes 10000.")
    is_switch = fields.architecture.startswith("granite")
    if fields.raw(rope.SCALING_FINETUNED) is True and not is_switch:
        draft.note(
            "info", f"{fields.key(rope.SCALING_FINETUNED)}: the model was trained with its scaling."
        )
    alpha = fields.number(rope.SCALING_ALPHA)
    if alpha:
        draft.note(
            "warn",
            f"{fields.key(rope.SCALING_ALPHA)} is {alpha:g}; it is not part of what is shown here.",
        )
    if fields.architecture in NEIGHBOURS_ROTATE:
        draft.note(
            "info",
            f"llama.cpp rotates pairs of neighbours in {fields.architecture}; where transformers "
            "rotates halves, conversion has reordered the rows of Q and K, and the scores are the "
            "same.",
        )


def _note_parts(header: Header, draft: Draft) -> None:
    part, parts, total = (header.metadata.get(key) for key in _split_keys())
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 2:
        return
    number = part + 1 if isinstance(part, int) else "?"
    absent = [name for name in rotary_tensor_names() if name not in header.tensors]
    draft.note(
        "warn" if len(absent) == len(rotary_tensor_names()) else "info",
        f"The file is part {number} of {parts} and holds {len(header.tensors)} of {total} tensors; "
        f"whether {', '.join(absent)} stand in another part cannot be seen here.",
    )
