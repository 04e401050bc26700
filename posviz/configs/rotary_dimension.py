"""How many dimensions of a head rotate: head_dim, the partial factor, and who obeys it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from posviz.configs.findings import Findings
from posviz.configs.model_classes import ModelClass
from posviz.configs.numbers import number, positive_whole, shown
from posviz.configs.rope_dicts import FULL, RopeDict
from posviz.configs.section import Found, Section


@dataclass(frozen=True)
class RotaryDimension:
    """What a spec needs to know about the size of a head."""

    head_dim: int
    partial_rotary_factor: float
    latent: bool
    """Whether only a separate part of the head rotates (multi-head latent attention)."""


def rotary_dimension(
    section: Section, rope: RopeDict, rope_type: str, facts: ModelClass, findings: Findings
) -> RotaryDimension | None:
    """The size of a head and the share that rotates, or None after an error message."""
    latent = _latent(section, facts)
    if latent is not None:
        head_dim = positive_whole(latent, findings, "PV141")
        if head_dim is None:
            return None
        findings.row("head_dim", head_dim, f"{latent.key}, the part of a head that rotates")
        partial = _partial_of_latent(section, rope, rope_type, facts, findings)
    else:
        head = _head_dim(section, rope, facts, findings)
        if head is None:
            return None
        head_dim = head
        found = _partial(section, rope, rope_type, facts, head_dim, findings)
        if found is None:
            return None
        partial = found
    return _checked(head_dim, partial, rope_type, latent is not None, findings)


def _latent(section: Section, facts: ModelClass) -> Found | None:
    if facts.splits_heads:
        return None
    found = section.given("qk_rope_head_dim")
    if found is None and facts.qk_rope_head_dim is not None and "head_dim" not in section:
        found = Found(facts.qk_rope_head_dim, f"qk_rope_head_dim, {facts.origin}")
    return found


def _head_dim(
    section: Section, rope: RopeDict, facts: ModelClass, findings: Findings
) -> int | None:
    found = section.given("head_dim", "attention_head_dim", "kv_channels")
    if rope.layer_type == FULL:
        wider = section.given("global_head_dim")
        if wider is None and facts.global_head_dim is not None:
            wider = Found(facts.global_head_dim, f"global_head_dim, {facts.origin}")
        found = wider or found
    if found is None and facts.head_dim is not None:
        found = Found(facts.head_dim, facts.origin)
    if found is None:
        return _derived_head_dim(section, facts, findings)
    value = positive_whole(found, findings, "PV142")
    if value is not None:
        findings.row("head_dim", value, found.key)
    return value


def _derived_head_dim(section: Section, facts: ModelClass, findings: Findings) -> int | None:
    size = section.given("hidden_size", "n_embd", "d_model", "dim")
    if size is None and facts.hidden_size is not None:
        size = Found(facts.hidden_size, f"hidden_size, {facts.origin}")
    heads = section.given("num_attention_heads", "n_head", "n_heads", "num_heads")
    if heads is None and facts.num_attention_heads is not None:
        heads = Found(facts.num_attention_heads, f"num_attention_heads, {facts.origin}")
    if size is None or heads is None:
        findings.error(
            "PV142",
            "The head dimension cannot be derived: give head_dim, or hidden_size and "
            "num_attention_heads.",
            "head_dim",
        )
        return None
    whole_size = positive_whole(size, findings, "PV142")
    whole_heads = positive_whole(heads, findings, "PV142")
    if whole_size is None or whole_heads is None:
        return None
    value, rest = divmod(facts.widened * whole_size, whole_heads)
    if rest:
        findings.warn(
            "PV143",
            f"{size.key} {whole_size} is not a multiple of {heads.key} {whole_heads}; head_dim is "
            f"rounded down to {value}, as transformers does.",
            size.key,
            heads.key,
            head_dim=value,
        )
    wide = "" if facts.widened == 1 else f"{facts.widened} × "
    origin = f"{wide}{size.key} / {heads.key} = {wide}{whole_size} / {whole_heads}"
    findings.row("head_dim", value, origin)
    return value


def _partial(
    section: Section,
    rope: RopeDict,
    rope_type: str,
    facts: ModelClass,
    head_dim: int,
    findings: Findings,
) -> Found | None:
    found = _given_partial(section, rope, facts, head_dim, findings)
    if found is None:
        if facts.partial_rotary_factor is not None:
            return Found(facts.partial_rotary_factor, facts.origin)
        return Found(1.0, "nothing says otherwise: the whole head rotates")
    if found.value is None:
        return None  # a count that is no count; its own message says so
    value = number(found, findings)
    if value is None:
        return None
    if value != 1 and rope_type == "default" and not facts.rotates_partially:
        findings.warn(
            "PV140",
            f"{found.key} is {shown(value)}, but {facts.name} rotates whole heads while the rope "
            f"type is default: all {head_dim} dimensions rotate in transformers. With any other "
            "rope type the same class obeys it.",
            found.key,
            rotary_dim=head_dim,
        )
        return Found(1.0, f"{facts.name} ignores {found.key} {shown(value)} for type default")
    return Found(float(value), found.key)


def _given_partial(
    section: Section, rope: RopeDict, facts: ModelClass, head_dim: int, findings: Findings
) -> Found | None:
    reads_share = rope.section is not None and bool(facts.partial_keys)
    inside = rope.section.given("partial_rotary_factor") if rope.section and reads_share else None
    found = inside or section.given(*facts.partial_keys)
    if found is not None:
        return found
    count = section.given("qk_rope_head_dim") if facts.splits_heads else None
    if count is None and facts.reads_rotary_dim:
        count = section.given("rotary_dim")
    if count is None and facts.rotary_dim is not None:
        count = Found(facts.rotary_dim, f"rotary_dim, {facts.origin}")
    if count is None:
        return None
    dims = positive_whole(count, findings, "PV141")
    if dims is not None and dims > head_dim:
        findings.error(
            "PV141",
            f"{count.key} = {dims} is larger than head_dim = {head_dim}: a head has no more "
            "dimensions that could rotate.",
            count.key,
            head_dim=head_dim,
            rotary_dim=dims,
        )
        dims = None
    if dims is None:
        return Found(None, count.key)
    return Found(share_of(dims, head_dim), f"{count.key} / head_dim = {dims} / {head_dim}")


def share_of(dims: int, head_dim: int) -> float:
    """The factor whose product with head_dim, rounded down, gives this count back."""
    if not head_dim:
        return 1.0  # hidden_size below the number of heads: an error of its own follows
    share = dims / head_dim
    return share if int(head_dim * share) == dims else math.nextafter(share, math.inf)


def _partial_of_latent(
    section: Section, rope: RopeDict, rope_type: str, facts: ModelClass, findings: Findings
) -> Found:
    """transformers applies a partial factor to the rotated part too, except for type default."""
    found = rope.section.given("partial_rotary_factor") if rope.section else None
    found = found or section.given("partial_rotary_factor")
    if found is None or found.value == 1:
        return Found(1.0, "the rotated part of latent attention rotates whole")
    applied = facts.known and (rope_type != "default" or facts.rotates_partially)
    findings.warn(
        "PV144",
        f"{found.key} is {shown(found.value)}, but qk_rope_head_dim already is the part that "
        "rotates; "
        + ("transformers applies the factor to it once more." if applied else "it is not applied."),
        found.key,
    )
    value = number(found, findings) if applied else None
    return Found(1.0, f"{found.key} is not applied") if value is None else Found(value, found.key)


def _checked(
    head_dim: int, partial: Found, rope_type: str, latent: bool, findings: Findings
) -> RotaryDimension | None:
    factor = float(partial.value)
    if not 0 < factor <= 1:
        findings.error(
            "PV141",
            f"{partial.key} must lie above 0 and at most 1; got {shown(factor)}.",
            partial.key,
        )
        return None
    findings.row("partial_rotary_factor", factor, partial.key)
    rotated = head_dim if rope_type == "proportional" else int(head_dim * factor)
    if rotated < 2 or rotated % 2:
        findings.error(
            "PV141",
            f"The rotary dimension must be even and at least 2; head_dim {head_dim} × "
            f"partial_rotary_factor {shown(factor)} gives {rotated}.",
            "head_dim",
            partial.key,
            head_dim=head_dim,
            rotary_dim=rotated,
        )
        return None
    findings.row("rotary_dim", rotated, "head_dim × partial_rotary_factor, rounded down")
    findings.row("pairs", rotated // 2, "rotary_dim / 2")
    if rotated < head_dim:
        findings.row("unrotated_dims", head_dim - rotated, "head_dim - rotary_dim")
    return RotaryDimension(head_dim, factor, latent)
