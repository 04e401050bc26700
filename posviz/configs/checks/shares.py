"""The share of a head that rotates, where it is said twice or under another name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis, Operation
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import of_runtime
from posviz.configs.numbers import shown
from posviz.parameters import is_finite_number

_SHARES = ("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction")
_COUNT = "rotary_dim"
_NAMES_READ_BY_VLLM = "partial_rotary_factor, rotary_pct or rotary_emb_fraction"


_MOST_DIMENSIONS = 1 << 20


def _shares(each: Rotating, subject: Subject) -> dict[str, float]:
    """Every share that the file gives, by its dotted key; a count becomes a share."""
    found: dict[str, float] = {}
    inside = each.given("partial_rotary_factor")
    if _is_share(inside):
        found[each.key("partial_rotary_factor")] = inside
    for name in _SHARES:
        value: Any = subject.section.data.get(name)
        if _is_share(value):
            found[subject.section.key(name)] = value
    count = subject.section.data.get("rotary_dim")
    if _is_share(count):
        found[subject.section.key(_COUNT)] = count / each.spec.head_dim
    return found


def _is_share(value: Any) -> bool:
    """Whether it can be a share or a count of dimensions; what is read has been judged already."""
    return is_finite_number(value) and 0 <= value <= _MOST_DIMENSIONS


def two_shares(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV252: two keys say how much rotates, and not the same."""
    shares = _shares(each, subject)
    if "qk_rope_head_dim" in subject.section or each.rope.per_layer:
        return
    dims = {key: int(share * each.spec.head_dim) for key, share in shares.items()}
    if len(set(dims.values())) < 2:
        return
    told = " and ".join(f"{key} gives {dims[key]}" for key in dims)
    yield Diagnosis(
        code="PV252",
        severity="warn",
        message=(
            f"The number of dimensions that rotate is said twice and differs: {told} of "
            f"{each.spec.head_dim}. Here {each.spec.rotary_dim} rotate; another runtime may read "
            "the other key."
        ),
        fields=tuple(dims),
        values={"rotary_dim": each.spec.rotary_dim},
        runtimes=of_runtime(
            subject,
            {
                "transformers": "takes the key inside the dict before the one beside it.",
                "vllm": f"reads {_NAMES_READ_BY_VLLM}.",
            },
        ),
        patch=_said_alike(each, dims, subject),
        panel="wavelengths",
    )


def _said_alike(each: Rotating, dims: Mapping[str, int], subject: Subject) -> tuple[Operation, ...]:
    """The other places say what is read."""
    right, head = each.spec.rotary_dim, each.spec.head_dim
    patch = tuple(
        subject.put(key, right if key.endswith("rotary_dim") else right / head)
        for key, dim in dims.items()
        if dim != right
    )
    return patch if holds(subject, patch, "warn") else ()


def _rounded(share: float, each: Rotating) -> int:
    """The dimensions that a share comes to; a count gives itself back."""
    return int(share * each.spec.head_dim + 1e-9)


def _what_it_reads(real: str, subject: Subject) -> str:
    return f", only {real}" if subject.facts.rotates_partially else ""


def unread_share(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV255: the one key that says it is not the one that the class reads."""
    facts, shares = subject.facts, _shares(each, subject)
    if not facts.known or len(shares) != 1:
        return
    key, share = next(iter(shares.items()))
    name = key.rpartition(".")[2]
    if name in facts.partial_keys or key == each.key(name) != name:
        return
    if (name == _COUNT and facts.reads_rotary_dim) or _rounded(share, each) == each.spec.rotary_dim:
        return
    head, value = each.spec.head_dim, subject.section.data.get(name)
    real = facts.partial_keys[0] if facts.partial_keys else _COUNT
    meant = share if real != _COUNT else _rounded(share, each)
    put = (*subject.drop(key), subject.put(subject.section.key(real), meant))
    rotating = (
        f"all {head}" if each.spec.rotary_dim == head else f"{each.spec.rotary_dim} of {head}"
    )
    yield Diagnosis(
        code="PV255",
        severity="warn",
        message=(
            f"{key} is {shown(value)}, but {facts.name} does not read it"
            f"{_what_it_reads(real, subject)}: {rotating} dimensions rotate, not "
            f"{_rounded(share, each)}."
        ),
        fields=(key,),
        values={"rotary_dim": each.spec.rotary_dim},
        runtimes=of_runtime(subject, {"vllm": f"reads {_NAMES_READ_BY_VLLM}."}),
        patch=put if facts.rotates_partially and holds(subject, put, "warn") else (),
        panel="wavelengths",
    )
