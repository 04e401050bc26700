"""What was measured of two configurations, in words."""

from __future__ import annotations

from collections.abc import Iterator

from posviz.configs.comparison_layers import LayerComparison


def sentences(each: LayerComparison, length: int) -> tuple[str, ...]:
    """What was measured of one layer type, in words; at every length, where there are several."""
    told = (_frequencies(each), _wavelengths(each), _factors(each), *_distances(each, length))
    if not each.others:
        return told
    return (
        *(f"At {length:,} tokens: {sentence}" for sentence in told),
        *(
            f"At {other.length:,} tokens: {sentence}"
            for other in each.others
            for sentence in sentences(other, other.length)
        ),
    )


def _frequencies(each: LayerComparison) -> str:
    error, pair = each.largest_frequency_error, each.largest_error_pair
    if error is None or pair is None:
        return f"A turns {len(each.inv_freq_a)} pairs, B {len(each.inv_freq_b)}."
    if not error:
        return "Every pair that turns in A turns as fast in B."
    return (
        f"Largest relative frequency error {error:.4%}, at pair {pair}: "
        f"{each.inv_freq_a[pair]:.6g} radians per token in A, {each.inv_freq_b[pair]:.6g} in B."
    )


def _wavelengths(each: LayerComparison) -> str:
    return (
        f"The slowest pair turns once in {each.slowest_wavelength_a:,.2f} tokens in A, in "
        f"{each.slowest_wavelength_b:,.2f} in B."
    )


def _factors(each: LayerComparison) -> str:
    if (each.gain_a, each.gain_b) == (1.0, 1.0):
        return "Neither has a factor on the logits."
    return (
        f"Attention factor {each.attention_factor_a:.6g} in A, {each.attention_factor_b:.6g} in B; "
        f"factor in the softmax {each.softmax_factor_a:.6g} and {each.softmax_factor_b:.6g}; all "
        f"factors on the logits together {each.gain_a:.6g} and {each.gain_b:.6g}."
    )


def _distances(each: LayerComparison, length: int) -> Iterator[str]:
    first, bare = each.first_difference, each.first_difference_without_factors
    what = "the scores of equal q and k"
    rule = "at least 1% of A's score at distance 0"
    if first is None:
        yield f"Within {length:,} tokens {what} never differ by {rule}."
    else:
        yield f"At distance {first:,} {what} first differ by {rule}."
    if bare != first:
        yield (
            f"Without the factors on the logits they never do within {length:,} tokens."
            if bare is None
            else f"Without the factors on the logits they first do at {bare:,}."
        )
