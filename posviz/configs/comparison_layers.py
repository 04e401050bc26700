"""The rotations of two models' layers side by side: measured differences, and what limits them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from posviz.configs.comparison_lengths import length_notes, other_lengths
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import Temperature, first_difference, profile_difference, temperature
from posviz.results import wavelengths

SHARE = 0.01
"""Of A's score at distance 0: from there on two scores count as different."""
_TIE = 1e-9
"""Relative. Pairs divided by one factor have one error, which rounding must not tell apart."""


@dataclass(frozen=True, kw_only=True)
class LayerComparison:
    """One layer type of A against the same one of B, at one length.

    Attributes
    ----------
    layer_type : its name; a model with one rotation for all layers stands beside every type.
    inv_freq_a, inv_freq_b : radians per token, pair 0 first.
    largest_frequency_error : max over pairs of \\|f_b - f_a\\| / f_a, among the pairs that turn in
        A; None where the two have different numbers of pairs.
    largest_error_pair : the first pair that has it, to a relative 1e-9, or None.
    slowest_wavelength_a, slowest_wavelength_b : tokens per turn of the slowest pair that turns;
        infinite where none does.
    attention_factor_a, attention_factor_b : on cos and sin, so squared on the logits.
    softmax_factor_a, softmax_factor_b : on every logit, put there by the attention layer.
    gain_a, gain_b : the whole factor on the logits of the last query.
    first_difference : tokens; the smallest distance d below the length with
        \\|s_b(d) - s_a(d)\\| >= 0.01 · \\|s_a(0)\\|, where s is the score of equal q and k: the
        mean over the pairs of cos(d·f), times the gain. It is measured against A's score at
        distance 0 because the score at d itself passes through 0. None where there is no such
        distance.
    first_difference_without_factors : the same with both gains left out, so of the mean cosines
        alone: where an attention factor makes every distance differ, this tells what the
        frequencies do.
    notes : sentences about what these numbers cannot say.
    length : tokens that both run at, for all numbers above.
    others : where a method follows the length, the same comparison at its trained and at its
        extended length, as far as it rotates otherwise there; empty for all other methods.
    """

    layer_type: str
    inv_freq_a: tuple[float, ...]
    inv_freq_b: tuple[float, ...]
    largest_frequency_error: float | None
    largest_error_pair: int | None
    slowest_wavelength_a: float
    slowest_wavelength_b: float
    attention_factor_a: float
    attention_factor_b: float
    softmax_factor_a: float
    softmax_factor_b: float
    gain_a: float
    gain_b: float
    first_difference: int | None
    first_difference_without_factors: int | None
    notes: tuple[str, ...]
    length: int
    others: tuple[LayerComparison, ...] = ()

    def angles(self, pair: int, position: float) -> tuple[float, float]:
        """By how many radians each turns a pair at a position."""
        return position * self.inv_freq_a[pair], position * self.inv_freq_b[pair]


@dataclass(frozen=True)
class _Side:
    """One of the two layers."""

    spec: RotaryEncoding
    inv_freq: np.ndarray
    heat: Temperature

    @classmethod
    def of(cls, spec: RotaryEncoding, length: int) -> _Side:
        frequencies = np.asarray(spec.frequencies(length))
        return cls(spec, frequencies, temperature(spec, length=length))

    @property
    def slowest_wavelength(self) -> float:
        turning = self.inv_freq[self.inv_freq > 0]
        slowest = turning.min() if turning.size else 0.0
        return float(wavelengths(np.array([slowest]))[0])

    @property
    def rotary_share(self) -> float:
        return self.spec.rotary_dim / self.spec.head_dim


def compare_layers(
    layer_type: str, spec_a: RotaryEncoding, spec_b: RotaryEncoding, length: int
) -> LayerComparison:
    """Two rotations at one length, and at others where that one does not tell all.

    Raises
    ------
    ParameterError : one of them has no frequencies at this length.
    """
    lengths = other_lengths(spec_a, spec_b, length)
    found = _at(layer_type, spec_a, spec_b, length)
    return replace(
        found,
        notes=(*length_notes(spec_a, spec_b, length, lengths), *found.notes),
        others=tuple(_at(layer_type, spec_a, spec_b, each) for each in lengths),
    )


def _at(
    layer_type: str, spec_a: RotaryEncoding, spec_b: RotaryEncoding, length: int
) -> LayerComparison:
    a, b = _Side.of(spec_a, length), _Side.of(spec_b, length)
    error, pair = _largest_error(a, b, length)
    first = first_difference(spec_a, spec_b, length=length, share=SHARE)
    bare = first
    if (a.heat.gain, b.heat.gain) != (1.0, 1.0):
        bare = first_difference(spec_a, spec_b, length=length, share=SHARE, with_gain=False)
    return LayerComparison(
        layer_type=layer_type,
        inv_freq_a=tuple(a.inv_freq.tolist()),
        inv_freq_b=tuple(b.inv_freq.tolist()),
        largest_frequency_error=error,
        largest_error_pair=pair,
        slowest_wavelength_a=a.slowest_wavelength,
        slowest_wavelength_b=b.slowest_wavelength,
        attention_factor_a=a.heat.m,
        attention_factor_b=b.heat.m,
        softmax_factor_a=a.heat.softmax_factor,
        softmax_factor_b=b.heat.softmax_factor,
        gain_a=a.heat.gain,
        gain_b=b.heat.gain,
        first_difference=first,
        first_difference_without_factors=bare,
        notes=tuple(_notes(a, b)),
        length=length,
    )


def _largest_error(a: _Side, b: _Side, length: int) -> tuple[float | None, int | None]:
    if a.inv_freq.size != b.inv_freq.size:
        return None, None
    relative = profile_difference(b.spec, a.spec, length=length).relative
    relative = np.where(np.isfinite(relative), relative, 0.0)  # infinite: stands still in A
    largest = float(relative.max())
    return largest, int(np.argmax(relative >= largest * (1 - _TIE)))


def _notes(a: _Side, b: _Side) -> Iterator[str]:
    if a.inv_freq.size != b.inv_freq.size:
        yield (
            f"A rotates {2 * a.inv_freq.size} dimensions and B {2 * b.inv_freq.size}, so pair i of "
            "A is not pair i of B and there is no relative error per pair; each score is a mean "
            "over its own pairs."
        )
    else:
        started = np.flatnonzero((a.inv_freq == 0) & (b.inv_freq > 0))
        if started.size:
            yield (
                f"{started.size} pairs, from pair {started[0]} on, stand still in A and turn in B: "
                "their relative error is infinite and not among the numbers."
            )
    if a.rotary_share != b.rotary_share:
        yield (
            f"The scores are of the rotating part of a head: {a.spec.rotary_dim} of "
            f"{a.spec.head_dim} dimensions in A, {b.spec.rotary_dim} of {b.spec.head_dim} in B."
        )
    if a.spec.layout != b.spec.layout:
        yield (
            f"The layouts differ: A joins dimensions {_LAYOUT[a.spec.layout]}, B "
            f"{_LAYOUT[b.spec.layout]}. The numbers here do not see that, but weights trained with "
            "one give wrong logits with the other unless q and k are permuted."
        )


_LAYOUT = {"half_split": "i and i + d/2 (half_split)", "interleaved": "2i and 2i + 1 (interleaved)"}
