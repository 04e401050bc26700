"""What the reader has to say about a configuration beside its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "warn", "error"]

CODES: Mapping[str, str] = {
    # Which rope type is meant.
    "PV101": "The rope type is unknown; the known ones are listed.",
    "PV102": "The rope type is null, which is read as default here.",
    "PV103": "rope_type and type stand side by side and differ; rope_type counts.",
    "PV104": "A legacy or vendor spelling of a rope type, and what it stands for.",
    "PV105": "rope_scaling and rope_parameters both hold something; rope_scaling counts, whole.",
    "PV106": "A key of a per-layer-type dict stands where nothing reads it.",
    "PV107": "rope_scaling or rope_parameters is not an object.",
    # Single numbers.
    "PV110": "A key that the rope type needs is missing.",
    "PV111": "A number is null where null does not stand for a default.",
    "PV112": "A number is written as text, as a switch or as something else that is no number.",
    "PV113": "The factor is below 1; it is probably a frequency scale, the reciprocal.",
    "PV114": "A number lies outside what the method allows, or two numbers contradict each other.",
    "PV115": "A value that the library reads as 'not given' (0 for a beta).",
    "PV116": "truncate is null, which switches the rounding of the ramp off.",
    "PV117": "The factor is null; it is worked out from the two windows.",
    # Windows.
    "PV120": "original_max_position_embeddings is missing; the fallback is named.",
    "PV121": "factor × original differs from max_position_embeddings; the explicit factor counts.",
    "PV122": "original_max_position_embeddings stands in two places with two values.",
    "PV123": "original_max_position_embeddings is given to a type that does not read it.",
    "PV125": "The original window is not smaller than max_position_embeddings.",
    "PV130": "max_position_embeddings is not a positive whole number of usual size.",
    "PV131": "max_position_embeddings is missing where it is needed.",
    # The rotary dimension.
    "PV140": "partial_rotary_factor is given, but this model class rotates whole heads.",
    "PV141": "The rotary dimension is odd, below 2, or larger than the head.",
    "PV142": "The head dimension cannot be derived.",
    "PV143": "hidden_size is not a multiple of the number of heads; the quotient is rounded down.",
    "PV144": "qk_rope_head_dim is the rotated part itself; a partial factor is not applied to it.",
    "PV145": "The base is missing and the model class is unknown; 10000 is assumed.",
    "PV146": "The base stands in two places with two values.",
    # Lists.
    "PV150": "mrope_section does not add up to the number of pairs.",
    "PV151": "short_factor or long_factor does not have one entry per pair.",
    # YaRN's own.
    "PV160": "truncate inside a per-layer-type dict has no effect in transformers.",
    "PV161": "A key that is not read for this rope type.",
    "PV162": "mscale without mscale_all_dim (or the reverse): engines disagree.",
    "PV163": "Two separate corrections: one on cos and sin, one in the softmax scale.",
    "PV164": "attn_factor: some engines read it, others do not.",
    # Beside rotation.
    "PV170": "Positions come from a learned table; usable positions and the first id.",
    "PV171": "Positions come from a bias on the logits, not from a rotation.",
    "PV172": "The configuration asks for log-n scaling of the queries, per position.",
    "PV173": "The configuration switches a length-dependent base on at run time.",
    "PV174": "Only some of the layers rotate.",
    "PV175": "The configuration switches positions off: no layer rotates.",
    "PV190": "A key stands twice in the file with two values; the last one counts.",
}
"""Every message code and what it is about; the sentence itself carries the numbers."""


@dataclass(frozen=True)
class Message:
    """One thing to know about a configuration.

    Attributes
    ----------
    severity : info (a note), warn (must be seen), error (do not present as valid).
    code : a key of :data:`CODES`, stable.
    text : the whole sentence.
    fields : the keys of the configuration that it is about.
    values : the numbers in the sentence, by name.
    layer_type : the layer type that it concerns; empty for the whole model.
    """

    severity: Severity
    code: str
    text: str
    fields: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    layer_type: str = ""


@dataclass(frozen=True)
class Resolved:
    """One number of the configuration: its value, and where it came from in words."""

    name: str
    value: Any
    origin: str
    layer_type: str = ""
