"""Sequences of the tasks against checkers that read them one token at a time."""

import math

import numpy as np
import pytest

from posviz.lab.training.batches import (
    IGNORED,
    MARK,
    batch,
    source_chances,
    source_table,
    training_batch,
)
from posviz.lab.training.tasks import NOISE, SYMBOLS, TASKS, entropy_rate
from posviz.parameters import ParameterError


def made(task, length=64, variant="as trained", sequences=40, seed=7):
    return batch(task, np.random.default_rng(seed), sequences, length, variant)


def test_entropy_rate_is_that_of_the_stationary_source():
    table, states = source_table(), SYMBOLS**2
    step = np.zeros((states, states))
    for first in range(SYMBOLS):
        for second in range(SYMBOLS):
            for third in range(SYMBOLS):
                chance = NOISE / SYMBOLS + (1 - NOISE) * (table[first, second] == third)
                step[first * SYMBOLS + second, second * SYMBOLS + third] = chance
    at = np.full(states, 1 / states)
    for _ in range(400):
        at = at @ step
    assert np.allclose(at, at @ step, atol=1e-12)
    logs = np.log(step, out=np.zeros_like(step), where=step > 0)
    assert entropy_rate() == pytest.approx(-(at[:, None] * step * logs).sum(), abs=1e-12)
    # 0.90625 · 0.09844 + 15 · 0.00625 · 5.07517
    assert entropy_rate() == pytest.approx(0.5650, abs=1e-4)


def test_source_follows_its_table_nine_times_in_ten():
    found = made("markov", length=200, sequences=200)
    table = source_table()
    foretold = table[found.tokens[:, :-1], found.tokens[:, 1:]]
    share = (foretold == found.targets[:, 1:]).mean()
    expected = 1 - NOISE + NOISE / SYMBOLS
    assert share == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 39800))
    assert np.array_equal(found.targets[:, 1:-1], found.tokens[:, 2:])
    assert set(found.targets[:, 0]) == {IGNORED}


def test_chances_of_the_source_are_those_of_its_table():
    tokens = made("markov", length=5, sequences=3).tokens
    chances = source_chances(tokens)
    assert np.allclose(chances.sum(axis=-1), 1)
    for row in range(3):
        assert np.allclose(chances[row, 0], 1 / SYMBOLS)
        for place in range(1, 5):
            right = source_table()[tokens[row, place - 1], tokens[row, place]]
            for symbol in range(SYMBOLS):
                expected = 0.00625 + 0.9 * (symbol == right)
                assert chances[row, place, symbol] == pytest.approx(expected)


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_second_row_is_the_first_one_again(task):
    rng = np.random.default_rng(3)
    lengths = set()
    for found in (training_batch(task, rng, 60, 64), made(task)):
        for tokens, targets in zip(found.tokens, found.targets, strict=True):
            row = list(tokens).index(MARK)
            lengths.add(row)
            answers = [int(one) for one in targets if one != IGNORED]
            first = [int(one) for one in tokens[:row]]
            assert answers == (first if task == "copy" else first[::-1])
            asked = np.flatnonzero(targets != IGNORED)
            assert asked[0] == row
            assert asked[-1] == 2 * row - 1
            # What is asked is also what comes next.
            assert list(tokens[row + 1 : 2 * row + 1]) == answers[: len(tokens) - row - 1]
    assert lengths >= {4, 32}
    assert max(lengths) == 32


@pytest.mark.parametrize(
    ("variant", "ignored"), [("as trained", 0.8), ("denser", 0.1), ("sparser", 0.98)]
)
def test_flip_flop_reads_what_was_last_written(variant, ignored):
    found = made("flip_flop", length=256, variant=variant)
    orders = found.tokens[:, 0::2]
    for tokens, targets in zip(found.tokens, found.targets, strict=True):
        held = None
        for place in range(0, 256, 2):
            order, bit = tokens[place], tokens[place + 1]
            assert order in (0, 1, 2)
            assert bit in (3, 4)
            if order == 0:
                held = bit
            if order == 2:
                assert bit == held
            assert targets[place] == (held if order == 2 else IGNORED)
            assert targets[place + 1] == IGNORED
        assert tokens[0] == 0
        assert tokens[254] == 2
    inner = orders[:, 1:-1]
    assert (inner == 1).mean() == pytest.approx(ignored, abs=0.03)


@pytest.mark.parametrize("variant", ["as trained", "sparser"])
def test_counting_asks_for_the_ups_since_the_last_reset(variant):
    found = made("counting", length=128, variant=variant)
    answers = set()
    for tokens, targets in zip(found.tokens, found.targets, strict=True):
        count = 0
        assert tokens[0] == 0
        for order, target in zip(tokens, targets, strict=True):
            count = {0: 0, 1: count + 1}.get(int(order), count)
            assert 0 <= count <= 9
            assert target == (4 + count if order == 3 else IGNORED)
            answers.add(int(target))
    assert answers <= {IGNORED, *range(4, 14)}
    if variant == "as trained":
        assert {4, 5, 6, 7} <= answers


@pytest.mark.parametrize("variant", ["as trained", "sparser"])
def test_most_frequent_count_is_as_frequent_as_its_chance_says(variant):
    found = made("counting", length=512, variant=variant, sequences=400)
    asked = found.targets[:, 256:][found.targets[:, 256:] != IGNORED] - 4
    shares = np.bincount(asked, minlength=10) / len(asked)
    assert shares.argmax() == 0
    assert TASKS["counting"].chance == pytest.approx(0.1895, abs=1e-4)
    assert shares[0] == pytest.approx(TASKS["counting"].chance, abs=0.02)


@pytest.mark.parametrize("length", [64, 512])
def test_retrieval_repeats_a_segment_of_an_eighth_to_half_of_the_length(length):
    found = made("retrieval", length=length)
    shortest, longest = length // 8, length // 2
    lengths = set()
    for tokens, targets in zip(found.tokens, found.targets, strict=True):
        period = next(
            n for n in range(shortest, longest + 1) if np.array_equal(tokens[n:], tokens[:-n])
        )
        first = np.flatnonzero(targets != IGNORED)[0]
        lengths.add(int(first) - 3)
        assert (first - 3) % period == 0
        assert np.array_equal(targets[first:-1], tokens[first + 1 :])
    assert shortest <= min(lengths) < 1.3 * shortest
    assert 0.8 * longest < max(lengths) <= longest
    assert len(lengths) > 10


@pytest.mark.parametrize("task", list(TASKS))
def test_same_generator_gives_the_same_sequences_within_the_vocabulary(task):
    for variant in TASKS[task].variants:
        first, second = made(task, variant=variant), made(task, variant=variant)
        assert np.array_equal(first.tokens, second.tokens)
        assert np.array_equal(first.targets, second.targets)
        assert first.tokens.shape == first.targets.shape == (40, 64)
        assert first.tokens.min() >= 0
        assert first.tokens.max() < TASKS[task].vocabulary
        assert first.targets.max() < TASKS[task].vocabulary
    other = made(task, seed=8)
    assert not np.array_equal(first.tokens, other.tokens)


def test_unknown_variant_is_refused_by_name():
    with pytest.raises(
        ParameterError, match=r"flip_flop: there is no variant 'sparse'; closest: spars"
    ):
        made("flip_flop", variant="sparse")
