"""What the metadata say about scaling, with llama.cpp's defaults where they say nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from posviz.configs.gguf.fields import Draft, Fields


@dataclass(frozen=True)
class Scaling:
    kind: str
    kind_name: str
    factor: float
    factor_name: str
    original: float | None
    original_name: str
    attention: float
    """What the file multiplies into whatever else stands on cos and sin."""
    attention_name: str
    ramp_weight: float
    """llama.cpp's ext_factor: 0 is plain interpolation, 1 is YaRN."""

    @property
    def has_ramp(self) -> bool:
        """Whether YaRN's ramp changes anything."""
        return self.ramp_weight != 0 and self.factor != 1

    def without_factor(self) -> Scaling:
        return replace(self, factor=1.0, ramp_weight=0.0)


def read_scaling(fields: Fields, draft: Draft) -> Scaling:
    from gguf.constants import Keys, RopeScalingType

    rope = Keys.Rope
    kind = fields.text(rope.SCALING_TYPE)
    known = tuple(item.value for item in RopeScalingType)
    if kind is not None and kind not in known:
        draft.note(
            "error",
            f"{fields.key(rope.SCALING_TYPE)} is {kind[:40]!r}, which llama.cpp does not load; it "
            f"knows {', '.join(known)}.",
        )
    factor, factor_name = _factor(fields)
    if kind == RopeScalingType.NONE.value and factor != 1:
        draft.note("info", f"{factor_name} is {factor:g} without effect: the scaling type is none.")
        factor = 1.0
    original = fields.number(rope.SCALING_ORIG_CTX_LEN)
    ramp_weight = _ramp_weight(fields, kind)
    attention, attention_name = _attention(fields, ramp_weight)
    return Scaling(
        kind=kind or RopeScalingType.LINEAR.value,
        kind_name=fields.key(rope.SCALING_TYPE) if kind is not None else "",
        factor=factor,
        factor_name=factor_name,
        original=original,
        original_name=fields.key(rope.SCALING_ORIG_CTX_LEN),
        attention=attention,
        attention_name=attention_name,
        ramp_weight=ramp_weight,
    )


LEGACY_FACTOR = "{arch}.rope.scale_linear"
"""The key of 2023, which llama.cpp still reads where the new one is absent."""


def _factor(fields: Fields) -> tuple[float, str]:
    from gguf.constants import Keys

    for pattern in (Keys.Rope.SCALING_FACTOR, LEGACY_FACTOR):
        value = fields.number(pattern)
        if value is not None:
            return (float(value) or 1.0), fields.key(pattern)  # llama.cpp takes 0 as "not given"
    return 1.0, ""


def _ramp_weight(fields: Fields, kind: str | None) -> float:
    from gguf.constants import Keys

    given = fields.number(Keys.Rope.SCALING_YARN_EXT_FACTOR)
    if given is not None and given >= 0:
        return float(given)
    return 1.0 if kind == "yarn" else 0.0


def _attention(fields: Fields, ramp_weight: float) -> tuple[float, str]:
    """The product of attn_factor and, without a ramp only, yarn_attn_factor; the key behind it."""
    from gguf.constants import Keys

    rope = Keys.Rope
    attention, name = 1.0, ""
    patterns = (rope.SCALING_ATTN_FACTOR, rope.SCALING_YARN_ATTN_FACTOR)
    for pattern in patterns[:1] if ramp_weight else patterns:
        value = fields.number(pattern)
        if value is not None and value >= 0 and value != 1:
            attention, name = attention * value, name or fields.key(pattern)
    return attention, name
