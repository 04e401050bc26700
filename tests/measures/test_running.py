"""Softmax of every beginning of a row, against 50 digits, against SciPy, and on torch."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, logsumexp, softmax

from posviz.measures import running_softmax
from posviz.measures.one_pass import one_pass, with_needle
from posviz.parameters import ParameterError

UNIT = 2.0**-53
DIGITS = mpmath.workdps(50)


def exact(row: np.ndarray) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """ln Σe^z, -Σ w ln w and Σ w² to 50 digits; call it within :data:`DIGITS`."""
    logits = [mpmath.mpf(float(one)) for one in row]
    top = max(logits)
    raised = [mpmath.exp(one - top) for one in logits]
    total = mpmath.fsum(raised)
    weights = [one / total for one in raised]
    entropy = -mpmath.fsum(one * mpmath.log(one) for one in weights)
    return mpmath.log(total) + top, entropy, mpmath.fsum(one * one for one in weights)


def drawn(seed: int, count: int, spread: float = 1.0) -> np.ndarray:
    return spread * np.random.default_rng(seed).standard_normal(count)


JUMPS = np.random.default_rng(1).choice([-1000.0, 0.0, 1000.0], size=400) + drawn(2, 400)
ROWS = {
    "jumps of a thousand": JUMPS,
    "one jump up": np.concatenate((drawn(3, 300), 1000 + drawn(4, 300))),
    "one jump down": np.concatenate((1000 + drawn(5, 300), drawn(6, 300))),
    "flat, then above all": np.append(np.zeros(2000), 299.0),
    "alibi, slope 1/2": -np.arange(3000.0) / 2,
    "alibi, slope 1/256": -np.arange(3000.0) / 256,
    "rising by 0.1": np.arange(3000.0) / 10,
    "rising by 100": 100 * np.arange(400.0),
    "wide draws": drawn(7, 1000, 100.0),
    "one key": np.array([-7.25]),
    "far from 0": -1e6 + drawn(8, 500),
}


@pytest.mark.parametrize("name", ROWS)
def test_sums_agree_with_50_digits_within_the_stated_error(name: str) -> None:
    row = ROWS[name]
    found = running_softmax(row)
    size = float(np.abs(row).max())
    for count in sorted({1, min(2, len(row)), (len(row) + 1) // 2, len(row)}):
        with DIGITS:
            log_total, entropy, concentration = exact(row[:count])
        # A rounding of every sum and of every logit's distance from the top, whose size is at most
        # that of the logits where the weight is not 0.
        relative = UNIT * (count + 100)
        at = count - 1
        spacing = 4 * UNIT * max(1.0, size)
        assert abs(found.log_total[at] - log_total) <= relative + spacing
        assert abs(found.concentration[at] - concentration) <= 3 * relative * concentration
        assert abs(found.entropy[at] - entropy) <= 64 * relative


def test_entropy_loses_no_digits_where_the_largest_logit_comes_late() -> None:
    # A beginning of 2,000 equal keys has ln 2000, although e^299 comes right after it.
    found = running_softmax(ROWS["flat, then above all"])
    counts = np.arange(1, 2001)
    np.testing.assert_allclose(found.entropy[:2000], np.log(counts), rtol=0, atol=1e-14)
    assert found.entropy[2000] == pytest.approx(2000 * 300 * math.exp(-299), rel=1e-2)


def test_a_million_equal_logits() -> None:
    found = running_softmax(np.full(1 << 20, 3.5))
    counts = np.arange(1.0, (1 << 20) + 1)
    # Sums of ones are exact; what is left is one logarithm.
    np.testing.assert_allclose(found.entropy, np.log(counts), rtol=4 * UNIT, atol=0)
    np.testing.assert_allclose(found.log_total, 3.5 + np.log(counts), rtol=4 * UNIT, atol=0)
    np.testing.assert_allclose(found.concentration, 1 / counts, rtol=4 * UNIT, atol=0)


def test_a_long_row_stays_within_the_stated_error() -> None:
    # Exactly rounded sums of the same terms; 200,000 keys span thirteen blocks.
    row = drawn(9, 200_000)
    found = running_softmax(row)
    for count in (1 << 14, (1 << 14) + 1, 100_000, 200_000):
        raised = np.exp(row[:count])
        total = math.fsum(raised)
        relative = UNIT * (count / 2**14 + 2**14)
        at = count - 1
        assert abs(found.log_total[at] - math.log(total)) <= relative
        entropy = math.log(total) - math.fsum(raised * row[:count]) / total
        assert abs(found.entropy[at] - entropy) <= 64 * relative
        concentration = math.fsum(raised * raised) / total**2
        assert abs(found.concentration[at] - concentration) <= 3 * relative * concentration


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    row=st.lists(st.floats(-2000, 2000), min_size=1, max_size=80),
    count=st.integers(1, 80),
)
def test_every_beginning_agrees_with_scipy(row: list[float], count: int) -> None:
    logits = np.asarray(row)
    found = running_softmax(logits)
    count = min(count, len(row))
    weights = softmax(logits[:count])
    assert found.log_total[count - 1] == pytest.approx(logsumexp(logits[:count]), rel=1e-13)
    assert found.entropy[count - 1] == pytest.approx(entr(weights).sum(), rel=1e-10, abs=1e-11)
    assert found.concentration[count - 1] == pytest.approx((weights**2).sum(), rel=1e-11)


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(count=st.integers(1, 60_000), spread=st.sampled_from([0.0, 1.0, 30.0]), seed=st.integers(0))
def test_whole_rows_of_any_length_agree_with_scipy(count: int, spread: float, seed: int) -> None:
    logits = drawn(seed, count, spread)
    found = running_softmax(logits)
    weights = softmax(logits)
    assert found.log_total.shape == (count,)
    assert found.log_total[-1] == pytest.approx(logsumexp(logits), rel=1e-12, abs=1e-12)
    assert found.entropy[-1] == pytest.approx(entr(weights).sum(), rel=1e-10, abs=1e-11)
    assert found.concentration[-1] == pytest.approx((weights**2).sum(), rel=1e-11)


@pytest.mark.parametrize("name", ROWS)
def test_torch_gives_the_same(name: str) -> None:
    here, there = running_softmax(ROWS[name]), running_softmax(torch.asarray(ROWS[name]))
    for part in ("log_total", "entropy", "concentration"):
        np.testing.assert_allclose(
            getattr(there, part).numpy(), getattr(here, part), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("name", ["rising by 0.1", "rising by 100", "one jump up"])
def test_float32_rows_that_rise_have_no_holes(name: str) -> None:
    # Squares of e^-44 are 0 in float32, and a beginning far below the top would have no sum.
    row = ROWS[name].astype(np.float32)
    found = running_softmax(torch.asarray(row))
    assert found.entropy.dtype == torch.float32
    with DIGITS:
        log_total, entropy, concentration = exact(row[:20])
    assert float(found.log_total[19]) == pytest.approx(float(log_total), rel=1e-5)
    assert float(found.entropy[19]) == pytest.approx(float(entropy), rel=1e-4, abs=1e-5)
    assert float(found.concentration[19]) == pytest.approx(float(concentration), rel=1e-4)


@pytest.mark.parametrize("bad", [[], [[0.0, 1.0]], 1.0])
def test_rows_of_another_shape_are_refused(bad: object) -> None:
    sentence = "running softmax: logits must be one row with at least one key."
    with pytest.raises(ParameterError) as error:
        running_softmax(np.asarray(bad, dtype=float))
    assert str(error.value) == sentence


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_logits_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ParameterError) as error:
        running_softmax(np.array([0.0, bad]))
    assert str(error.value) == "running softmax: logits must be finite numbers."


@pytest.mark.parametrize("others", [0.9, 0.2, 0.1, 1e-3, 2e-6, 1e-9, 1e-30])
@pytest.mark.parametrize("logit", [-400.0, -5.0, 0.0, 40.0])
def test_a_replaced_key_leaves_its_digits_to_the_others(others: float, logit: float) -> None:
    # The others hold a tiny share until the large key is taken out, and all of it afterwards.
    row = np.zeros(301)
    row[7] = math.log(300 * (1 - others) / others)
    found = with_needle(one_pass(lambda first, end: row[first:end], [301]).at(301), 7, logit)
    replaced = row.copy()
    replaced[7] = logit
    with DIGITS:
        log_total, entropy, concentration = exact(replaced)
    assert found.log_sum == pytest.approx(float(log_total), rel=1e-12, abs=1e-12)
    assert found.entropy == pytest.approx(float(entropy), rel=1e-10, abs=1e-12)
    assert found.concentration == pytest.approx(float(concentration), rel=1e-10)
    held = np.cumsum(softmax(replaced))
    for share in (0.5, 0.99):
        assert found.reach(share) == int(np.searchsorted(held, share - 1e-12)) + 1
