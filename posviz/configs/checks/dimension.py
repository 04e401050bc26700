"""How much of a head rotates: which ladder that gives, and who reads the share otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.shares import two_shares, unread_share
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import of_runtime
from posviz.parameters import is_finite_number, number_text

CODES: Mapping[str, str] = {
    "PV250": "Part of a head rotates, the ordinary way: a whole ladder on the first dimensions.",
    "PV251": "Part of a head rotates, the proportional way: the start of the whole head's ladder.",
    "PV252": "The share that rotates stands in two places with two values.",
    "PV253": "head_dim × heads is not hidden_size; head_dim is given, so it counts.",
    "PV254": "Latent attention: only the separate part of a head rotates.",
    "PV255": "The share is given under a name that this model class does not read.",
}


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What the dimensions come to, and where two readings of them differ."""
    for each in subject.rotating:
        yield from _ladder(each, subject)
    if subject.main is None:
        return
    yield from two_shares(subject.main, subject)
    yield from unread_share(subject.main, subject)
    yield from _heads(subject.main, subject)
    yield from _latent(subject.main, subject)


def _ladder(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    spec = each.spec
    if getattr(spec, "is_proportional", False):
        if spec.partial_rotary_factor < 1:
            yield _proportional(each, subject)
    elif spec.rotary_dim < spec.head_dim:
        yield _ordinary(each, subject)


def _second(base: float, dim: int) -> float:
    """The inverse frequency of pair 1 on the ladder base^(-2i/dim)."""
    return float(base ** (-2 / dim))


def _ordinary(each: Rotating, subject: Subject) -> Diagnosis:
    spec = each.spec
    own, other = _second(spec.base, spec.rotary_dim), _second(spec.base, spec.head_dim)
    return Diagnosis(
        code="PV250",
        severity="ok",
        message=(
            f"{spec.rotary_dim} of {spec.head_dim} dimensions rotate, as {spec.rotary_dim // 2} "
            f"pairs with the whole ladder base^(-2i/{spec.rotary_dim}); the other "
            f"{spec.head_dim - spec.rotary_dim} carry no position. Unscaled, pair 1 turns "
            f"{own:.7g} radians per token; the rope type proportional would take "
            f"base^(-2i/{spec.head_dim}), {other:.7g}. Both start at 1, so short texts do not "
            "tell them apart."
        ),
        fields=_share_fields(each, subject),
        values={
            "rotary_dim": spec.rotary_dim,
            "unrotated_dims": spec.head_dim - spec.rotary_dim,
            "unscaled_inv_freq_of_pair_1": own,
            "unscaled_inv_freq_of_pair_1_if_proportional": other,
        },
        layer_type=each.name,
        panel="wavelengths",
    )


def _proportional(each: Rotating, subject: Subject) -> Diagnosis:
    spec = each.spec
    rotated = int(spec.partial_rotary_factor * spec.head_dim / 2)
    return Diagnosis(
        code="PV251",
        severity="ok",
        message=(
            f"The first {rotated} of {spec.head_dim // 2} frequencies of the whole head's ladder "
            f"base^(-2i/{spec.head_dim}) rotate, the others are 0. An ordinary partial rotation "
            f"with the same share would take base^(-2i/{2 * rotated}) on the first {2 * rotated} "
            "dimensions: other frequencies, and other dimensions."
            if rotated
            else "No pair rotates: the share is less than one pair."
        ),
        fields=_share_fields(each, subject),
        values={"rotating_pairs": rotated, "pairs": spec.head_dim // 2},
        runtimes=of_runtime(
            subject,
            {
                "transformers_v4": "does not know the rope type proportional.",
                "llama_cpp": "has it only in the rope_freqs tensor that conversion writes.",
            },
        ),
        layer_type=each.name,
        panel="wavelengths",
        pairs=(0, rotated - 1) if rotated else None,
    )


def _share_fields(each: Rotating, subject: Subject) -> tuple[str, ...]:
    if each.given("partial_rotary_factor") is not None:
        return (each.key("partial_rotary_factor"),)
    names = ("partial_rotary_factor", "rotary_pct", "rotary_dim")
    found = subject.section.given(*names)
    return () if found is None else (found.key,)


def _heads(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    data = subject.section.data
    head: Any = data.get("head_dim")
    heads: Any = data.get("num_attention_heads")
    size: Any = data.get("hidden_size")
    if not all(is_finite_number(value) for value in (head, heads, size)) or head * heads == size:
        return
    if head != each.spec.head_dim:
        return
    keys = tuple(map(subject.section.key, ("head_dim", "num_attention_heads", "hidden_size")))
    yield Diagnosis(
        code="PV253",
        severity="ok",
        message=(
            f"head_dim × heads = {number_text(head)} × {number_text(heads)} = "
            f"{number_text(head * heads)} differs from hidden_size {number_text(size)}; head_dim "
            "is given, so it counts, and many models are built so."
        ),
        fields=keys,
        values={"head_dim": head, "head_dim_times_heads": head * heads, "hidden_size": size},
    )


def _latent(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    data = subject.section.data
    part: Any = data.get("qk_rope_head_dim")
    rest: Any = data.get("qk_nope_head_dim")
    if not is_finite_number(part) or part != each.spec.head_dim:
        return
    whole = f" of {number_text(part + rest)}" if is_finite_number(rest) else ""
    head: Any = data.get("head_dim")
    other = (
        f" head_dim {number_text(head)} does not count here."
        if is_finite_number(head) and head != part
        else ""
    )
    yield Diagnosis(
        code="PV254",
        severity="ok",
        message=(
            f"Latent attention: {number_text(part)}{whole} dimensions of a head are a separate "
            f"part that rotates, with its own ladder, base^(-2i/{each.spec.rotary_dim}).{other}"
        ),
        fields=(subject.section.key("qk_rope_head_dim"),),
        values={"rotary_dim": each.spec.rotary_dim},
        panel="wavelengths",
    )
