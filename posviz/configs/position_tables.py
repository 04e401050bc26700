"""Which model classes add a table row to each token, and which rows a text can use.

Read off and run: transformers 5.24.0. A learned table has as many positions as rows, less those
before the first id; a fixed sinusoidal one either has rows too or is worked out as far as asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from posviz.configs.section import Found, Section
from posviz.parameters import is_finite_number

Kind = Literal["learned", "sinusoidal", "growing"]
"""``growing``: a sinusoidal table that transformers makes again when a longer text comes."""

_LARGEST = 1 << 40
_SIZE = ("max_position_embeddings", "n_positions")
_COUNTED = ("n_positions", "max_position_embeddings", "n_ctx")
_ENCODER = ("max_encoder_position_embeddings", "max_position_embeddings")
_DECODER = ("max_target_positions",)
ABSOLUTE = ("absolute", "learned", "learned_absolute")
RELATIVE_KEYS = ("relative_key", "relative_key_query")
ROTARY = ("rotary", "rope", "rotary_embedding")
"""Values of position_embedding_type."""

_FROM_ZERO: Mapping[str, int] = {
    # class: its own size, where the file gives none
    **dict.fromkeys(("albert", "bert", "bert-generation", "bros", "convbert", "deberta"), 512),
    **dict.fromkeys(("deberta-v2", "dpr", "electra", "ernie", "fnet", "layoutlm", "lxmert"), 512),
    **dict.fromkeys(("megatron-bert", "mobilebert", "rembert", "roc_bert", "splinter"), 512),
    **dict.fromkeys(("squeezebert", "visual_bert", "blenderbot-small", "openai-gpt"), 512),
    **dict.fromkeys(("distilbert", "xlm", "flaubert"), 512),
    **dict.fromkeys(("gpt2", "gpt-sw3", "gpt_bigcode", "imagegpt", "decision_transformer"), 1024),
    **dict.fromkeys(("big_bird", "bigbird_pegasus"), 4096),
    **dict.fromkeys(("tapas", "git", "cohere_asr"), 1024),
    "gpt_neo": 2048,
    "blenderbot": 128,
    "led": 16384,
    "clip_text_model": 77,
    "whisper": 448,
    "siglip_text_model": 64,
    "vilt": 40,
    "canine": 16384,
    "deit": 197,
}
_COUNT_NAMED = (
    *("gpt2", "gpt-sw3", "gpt_bigcode", "imagegpt", "decision_transformer", "openai-gpt", "ctrl"),
)
"""Classes whose own name for the size is n_positions."""
_AFTER_PADDING: Mapping[str, tuple[int, int]] = {
    # class: its own size and padding index
    **dict.fromkeys(("roberta", "roberta-prelayernorm", "xlm-roberta", "camembert"), (512, 1)),
    **dict.fromkeys(("data2vec-text", "ibert", "layoutlmv3", "longformer"), (512, 1)),
    **dict.fromkeys(("luke", "mpnet", "xmod"), (512, 1)),
    **dict.fromkeys(
        ("xlm-roberta-xl", "altclip_text_model", "clap_text_model", "bridgetower_text_model"),
        (514, 1),
    ),
    **dict.fromkeys(("lilt", "markuplm"), (512, 0)),
    "esm": (1026, 1),
}
_FIXED_PADDING = ("mpnet",)
"""Classes whose padding index does not come from pad_token_id."""
_AFTER_TWO: Mapping[str, int] = {
    # class: its own size; the table has two rows more, and positions start at row 2
    **dict.fromkeys(("bart", "mbart", "plbart", "mvp", "biogpt"), 1024),
    "opt": 2048,
    "trocr": 512,
    "nystromformer": 510,
    "yoso": 4096,
    "mra": 512,
}
_SINUSOIDAL: Mapping[str, int] = {"marian": 1024, "pegasus": 1024, "ctrl": 256}
_GROWING: Mapping[str, int] = {
    **dict.fromkeys(("m2m_100", "nllb-moe", "fsmt"), 1024),
    "xglm": 2048,
    "speech_to_text": 1024,
    "musicgen_decoder": 2048,
}
_SINUSOIDAL_SWITCH: Mapping[str, str] = {
    "xlm": "sinusoidal_embeddings",
    "flaubert": "sinusoidal_embeddings",
    "distilbert": "sinusoidal_pos_embds",
}


@dataclass(frozen=True)
class PositionRows:
    """The table of one model.

    Attributes
    ----------
    size : what the configuration, or else the class, says of its size; None when nobody does.
    extra : rows that the table has beyond that.
    padding : the padding index that positions are counted from; None where they are not.
    padding_found : where that stands; None for a default, or one that the class fixes.
    first : the row of the first token; None where the padding index is no number.
    relative : whether the rows stand for distances, as position_embedding_type relative_key has it.
    """

    kind: Kind
    size: Found | None
    extra: int = 0
    padding: int | None = None
    padding_found: Found | None = None
    first: int | None = 0
    relative: bool = False

    def usable(self, size: int) -> int | None:
        """Positions of a table for which the configuration says ``size``; 0 for none."""
        return None if self.first is None else max(0, size + self.extra - self.first)

    def rows(self, size: int) -> int:
        return size + self.extra


def is_size(value: Any) -> bool:
    """Whether a value of a configuration can be the size of a table."""
    return is_finite_number(value) and value == int(value) and 1 <= value <= _LARGEST


def is_table_class(model_type: str) -> bool:
    """Whether transformers' class of this name adds a row of a table to each token."""
    tables = (_FROM_ZERO, _AFTER_PADDING, _AFTER_TWO, _SINUSOIDAL, _GROWING)
    return any(model_type in table for table in tables)


def position_rows(section: Section, model_type: str) -> PositionRows | None:
    """The table that gives this model its positions, or None."""
    kind = section.data.get("position_embedding_type")
    if kind in ROTARY or not (is_table_class(model_type) or kind in ABSOLUTE + RELATIVE_KEYS):
        return None
    if section.data.get("position_biased_input") is False:
        return None  # DeBERTa: distances only
    if "alibi_starting_size" in section or kind == "alibi":
        return None  # BERT classes outside transformers that have a bias instead
    if model_type in _AFTER_PADDING:
        return _after_padding(section, model_type)
    relative = kind in RELATIVE_KEYS
    if model_type in _AFTER_TWO:
        size = _size(section, model_type, _AFTER_TWO[model_type])
        return PositionRows("learned", size, extra=2, first=2, relative=relative)
    for name, table in (("sinusoidal", _SINUSOIDAL), ("growing", _GROWING)):
        if model_type in table:
            size = _size(section, model_type, table[model_type])
            return PositionRows(name, size)  # type: ignore[arg-type]
    size = _size(section, model_type, _FROM_ZERO.get(model_type))
    switch = _SINUSOIDAL_SWITCH.get(model_type)
    fixed = switch is not None and section.data.get(switch) is True
    return PositionRows("sinusoidal" if fixed else "learned", size, relative=relative)


def _size(section: Section, model_type: str, default: int | None) -> Found | None:
    names = {"led": _ENCODER, "whisper": _DECODER}.get(model_type, _SIZE)
    found = section.given(*(_COUNTED if model_type in _COUNT_NAMED else names))
    if found is None and default is not None:
        return Found(default, f"{names[0]}, default of the model class {model_type}")
    return found


def _after_padding(section: Section, model_type: str) -> PositionRows:
    default_size, default = _AFTER_PADDING[model_type]
    size = _size(section, model_type, default_size)
    found = section.find("pad_token_id")
    if model_type in _FIXED_PADDING or found is None:
        return PositionRows("learned", size, padding=default, first=default + 1)
    if not is_finite_number(found.value) or found.value != int(found.value):
        return PositionRows("learned", size, padding_found=found, first=None)
    index = int(found.value)
    return PositionRows("learned", size, padding=index, padding_found=found, first=index + 1)
