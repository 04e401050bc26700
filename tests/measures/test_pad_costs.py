"""The map of two costs: against the measures of one spec, hand-written loops and brute force."""

import math

import numpy as np
import pytest

import posviz
from posviz import measures
from posviz.measures import cost_pad, pareto_front, propose

BETAS = ("beta_fast", "beta_slow")
BASE_AND_FACTOR = ("base", "scaling_factor")
CASES = [
    ("yarn", BETAS),
    ("yarn?ramp=turns&scaling_factor=8", BETAS),
    ("ntk_by_parts?head_dim=64&base=500000", BETAS),
    ("ntk_by_parts?variant=three_way", BETAS),
    ("dynamic_yarn", BETAS),
    ("llama3", ("high_freq_factor", "low_freq_factor")),
    ("yarn?partial_rotary_factor=0.5", BASE_AND_FACTOR),
    ("linear", BASE_AND_FACTOR),
    ("ntk_aware", BASE_AND_FACTOR),
]


def made(text, names, *, target=65536, cells=9, **more):
    spec = posviz.parse(text)
    trained = spec.original_max_position_embeddings
    return cost_pad(spec, names, length=target, trained_length=trained, cells=cells, **more)


@pytest.mark.parametrize(("text", "names"), CASES)
def test_cells_have_the_numbers_of_the_measures_of_their_own_specs(text, names):
    pad = made(text, names)
    random = np.random.default_rng(7)
    for _ in range(12):
        row, column = random.integers(0, 9, size=2)
        values = {names[0]: float(pad.x[column]), names[1]: float(pad.y[row])}
        try:
            spec = pad.spec.with_values(**values)
        except posviz.ParameterError:
            assert np.isnan([pad.change[row, column], pad.unseen[row, column]]).all()
            continue
        decay = measures.score_decay(spec, length=65536, count=65)
        distances = np.arange(1.0, 65)[:, None]
        trained = np.cos(distances * spec.trained_frequencies()).mean(1)
        change = decay.scores[1:] / decay.gain - trained
        spectrum = measures.spectrum(spec, length=65536, trained_length=pad.trained_length)
        assert pad.change[row, column] == pytest.approx(np.abs(change).mean(), abs=1e-12)
        assert pad.beyond[row, column] == spectrum.beyond_count


@pytest.mark.parametrize(("text", "names"), CASES)
def test_unseen_arc_is_that_of_a_loop_over_the_pairs(text, names):
    pad = made(text, names, cells=4)
    for row, column in np.argwhere(np.isfinite(pad.unseen)):
        spec = pad.spec.with_values(**{names[0]: float(pad.x[column]), names[1]: float(pad.y[row])})
        total, count = 0.0, 0
        trained, run = spec.trained_frequencies().tolist(), spec.frequencies(65536).tolist()
        for before, now in zip(trained, run, strict=True):
            seen = pad.trained_length * before / math.tau
            reached = 65536 * now / math.tau
            if seen < 1 and reached > seen * (1 + 1e-9):
                count += 1
                total += min(1.0, reached) - seen
        assert pad.unseen[row, column] == pytest.approx(total / len(run), abs=1e-13)
        assert pad.beyond[row, column] == count


def test_interpolation_costs_worked_by_hand():
    # One pair, f = 1 radian per token, trained on 3 tokens: 3/2π = 0.4775 of a turn. With s = 2 it
    # turns by 1/2 and reaches 4/2 = 2 radians within 4 tokens, which it has seen; with s = 1 it
    # reaches 4 radians, of which the last is new: 1/2π = 0.1592 of a turn.
    spec = posviz.parse("linear?head_dim=2&original_max_position_embeddings=3&base=10000")
    pad = cost_pad(
        spec,
        BASE_AND_FACTOR,
        length=4,
        trained_length=3,
        cells=2,
        ranges={"base": (10, 100), "scaling_factor": (1, 2)},
    )
    np.testing.assert_allclose(pad.unseen, [[1 / math.tau] * 2, [0, 0]], atol=1e-15)
    np.testing.assert_array_equal(pad.beyond, [[1, 1], [0, 0]])
    # Distances 1, 2, 3: |cos(1/2) - cos 1|, |cos 1 - cos 2|, |cos(3/2) - cos 3|.
    by_hand = (0.337280256 + 0.956449142 + 1.060729698) / 3
    np.testing.assert_allclose(pad.change, [[0, 0], [by_hand] * 2], atol=1e-9)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0, None])
@pytest.mark.parametrize("names", [BETAS, BASE_AND_FACTOR])
def test_attention_factor_is_told_and_counts_in_no_cost(names, factor):
    given = "" if factor is None else f"&attention_factor={factor}"
    pad = made(f"yarn?scaling_factor=4{given}", names)
    bare = made("yarn?scaling_factor=4&attention_factor=1", names)
    np.testing.assert_array_equal(pad.change, bare.change)
    np.testing.assert_array_equal(pad.front, bare.front)
    assert propose(pad, weight=0.4).point == propose(bare, weight=0.4).point
    point = tuple(float(getattr(pad.spec, name)) for name in names)
    # The default is 0.1·ln 4 + 1.
    magnitude = 0.1 * math.log(4) + 1 if factor is None else factor
    assert pad.at(point).gain == pytest.approx(magnitude**2, rel=1e-12)


def test_yarn_at_its_published_values_changes_less_than_with_a_lower_base():
    # With the factor 1.2965 on the scores inside, base 1000 looked five times cheaper.
    reference = posviz.parse("rope")
    pad = made("yarn?scaling_factor=4", BASE_AND_FACTOR, target=16384, reference=reference)
    own, *lower = (pad.at((base, 4)).change for base in (10_000, 3_000, 1_000))
    # By a hand formula of the ramp between pairs 20 and 46: 0.0160050, 0.0456419, 0.1143652.
    assert own == pytest.approx(0.0160050, abs=1e-6)
    assert lower == pytest.approx([0.0456419, 0.1143652], abs=1e-6)


def test_front_and_proposal_of_yarn_keep_its_factor_where_arcs_count():
    reference = posviz.parse("rope")
    pad = made("yarn", BASE_AND_FACTOR, target=16384, cells=36, reference=reference)
    factors = pad.y[np.nonzero(pad.front)[0]]
    assert factors.max() > 4
    for weight in (0.1, 0.5, 0.7):
        found = propose(pad, weight=weight)
        assert found.point[1] > 3
        assert found.costs.unseen == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("weight", [0.1, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("extension", [4, 16])
def test_proposal_for_yarn_takes_no_factor_far_beyond_the_need(weight, extension):
    # Along base 8050 a factor of 64 costs 0.0002 less than 19, at twice the logits.
    reference = posviz.parse("rope")
    target = 4096 * extension
    pad = made("yarn", BASE_AND_FACTOR, target=target, cells=36, reference=reference)
    found = propose(pad, weight=weight)
    assert extension / 2 < found.point[1] < 2 * extension
    assert found.objective <= np.nanmin(pad.objective(weight)) + 0.01


def test_blank_cells_are_those_that_the_spec_refuses_and_say_why():
    pad = made("yarn", BETAS, cells=12)
    across, up = np.meshgrid(pad.x, pad.y)
    np.testing.assert_array_equal(np.isnan(pad.change), across < up)
    assert "beta_fast must be at least beta_slow; got beta_fast 1 and" in pad.refusal
    assert made("linear", BASE_AND_FACTOR).refusal == ""


def test_axes_run_from_one_end_of_the_sliders_to_the_other():
    pad = made("yarn", BETAS)
    assert (pad.x[0], pad.x[-1]) == pytest.approx((1, 128), rel=1e-12)
    assert (pad.y[0], pad.y[-1]) == pytest.approx((0.1, 16), rel=1e-12)
    np.testing.assert_allclose(np.diff(np.log(pad.x)), math.log(128) / 8)
    assert pad.contains((32, 1))
    assert not pad.contains((32, 17))


def test_base_that_is_raised_is_measured_against_the_model_as_trained():
    rope = posviz.parse("rope?base=10000")
    pad = made("linear?scaling_factor=1", BASE_AND_FACTOR, cells=7, reference=rope)
    distances = np.arange(1.0, 65)[:, None]
    raised, trained = posviz.parse("rope?base=500000").frequencies(1), rope.frequencies(1)
    change = np.cos(distances * raised).mean(1) - np.cos(distances * trained).mean(1)
    assert pad.at((500_000, 1)).change == pytest.approx(np.abs(change).mean(), abs=1e-12)
    assert pad.at((10_000, 1)).change == pytest.approx(0, abs=1e-12)


def test_base_that_keeps_16_times_the_window_inside_all_trained_arcs():
    # Within 4096 tokens pair i of base 10000 makes 4096·10^(-4i/64)/2π turns; 46 is the first below
    # one. It stays inside when (b/10000)^(46/64) ≥ 16, so from b = 10000·16^(64/46) = 473,475 on.
    # Later pairs need less.
    smallest = 10_000 * 16 ** (64 / 46)
    assert smallest == pytest.approx(473_475, abs=1)
    pad = made("linear", BASE_AND_FACTOR, cells=2, reference=posviz.parse("rope"))
    assert pad.at((smallest * 1.0001, 1)).beyond == 0
    assert pad.at((smallest * 0.9999, 1)).beyond == 1


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_objective_counts_each_cost_from_its_lowest_to_its_highest(weight):
    pad = made("yarn", BETAS, cells=12)
    expected = np.zeros(pad.change.shape)
    for part, cost in ((weight, pad.change), (1 - weight, pad.unseen)):
        low, high = np.nanmin(cost), np.nanmax(cost)
        expected += part * (cost - low) / (high - low)
    np.testing.assert_allclose(pad.objective(weight), expected, atol=1e-12)
    corner = pad.at((float(pad.x[-1]), float(pad.y[0])))
    assert pad.objective_at(corner, weight) == pytest.approx(expected[0, -1], abs=1e-9)


def test_pareto_front_is_that_of_brute_force():
    random = np.random.default_rng(3)
    for _ in range(20):
        first, second = random.integers(0, 9, size=(2, 7, 5)).astype(float)
        first[random.random(first.shape) < 0.2] = np.nan
        expected = np.zeros(first.shape, dtype=bool)
        cells = [c for c in np.ndindex(first.shape) if np.isfinite(first[c])]
        for one in cells:
            beaten = any(
                first[c] <= first[one]
                and second[c] <= second[one]
                and (first[c] < first[one] or second[c] < second[one])
                for c in cells
            )
            expected[one] = not beaten
        np.testing.assert_array_equal(pareto_front(first, second), expected)


def test_front_of_a_map_lies_on_it():
    pad = made("llama3", ("high_freq_factor", "low_freq_factor"), cells=16, target=131072)
    np.testing.assert_array_equal(pad.front, pareto_front(pad.change, pad.unseen))
    assert pad.front.any()
    assert not pad.front[np.isnan(pad.change)].any()


@pytest.mark.parametrize(("text", "names"), CASES)
@pytest.mark.parametrize("weight", [0.0, 0.5, 0.9])
def test_proposal_is_at_most_as_high_as_the_lowest_cell_and_close_to_a_finer_search(
    text, names, weight
):
    rope = posviz.parse(f"rope?base={posviz.parse(text).base}")
    reference = rope if text == "linear" else None
    pad = made(text, names, cells=14, reference=reference)
    found = propose(pad, weight=weight)
    # Of points about as low, YaRN's search takes the one with the smaller factor on the scores.
    leeway = 0.01 if (text, names) == ("yarn?partial_rotary_factor=0.5", BASE_AND_FACTOR) else 0
    assert found.objective <= np.nanmin(pad.objective(weight)) + leeway
    assert found.objective == pad.objective_at(pad.at(found.point), weight)
    assert pad.contains(found.point)
    assert propose(pad, weight=weight) == found
    # Brute force on a grid of its own, on the scale of this map.
    finer = made(text, names, cells=40, reference=reference)
    (low, high), (least, most) = pad.reach["change"], pad.reach["unseen"]
    scale = max(high - low, 1e-300), max(most - least, 1e-300)
    brute = weight * (finer.change - low) / scale[0] + (1 - weight) * (
        (finer.unseen - least) / scale[1]
    )
    assert found.objective <= np.nanmin(brute) + 0.01


def test_proposal_between_two_cells_beats_both():
    rope = posviz.parse("rope")
    pad = made("linear", BASE_AND_FACTOR, cells=10, reference=rope)
    found = propose(pad, weight=0.3)
    assert found.objective < np.nanmin(pad.objective(0.3)) - 0.003
    assert found.point == tuple(float(f"{value:.4g}") for value in found.point)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: made("yarn", ("beta_fast", "nonsense")), "YaRN has no number called nonsense"),
        (lambda: made("yarn", ("beta_fast", "ramp")), "YaRN has no number called ramp"),
        (lambda: made("rerope", BASE_AND_FACTOR), "must leave distances as they are; ReRoPE"),
        (lambda: made("yarn", BETAS, cells=1), "cells must be a whole number of at least 2; got 1"),
        (lambda: made("yarn", BETAS, target=1), "length must be a whole number of at least 2"),
        (
            lambda: made("yarn", BETAS, ranges={"beta_fast": (8, 2)}),
            "range of beta_fast must be two positive numbers, the smaller one first",
        ),
        (
            lambda: made("linear", BASE_AND_FACTOR, ranges={"scaling_factor": (0.5, 2)}),
            "range of scaling_factor must be inside the domain, a number of at least 1",
        ),
        (
            lambda: made("yarn", BETAS, ranges={"beta_fast": (1, 2), "beta_slow": (4, 8)}),
            "no cell of the map can be. YaRN: beta_fast must be at least beta_slow",
        ),
        (
            lambda: propose(made("yarn", BETAS), weight=1.5),
            "weight must be a number from 0 to 1; got 1.5",
        ),
        (lambda: made("yarn", BETAS).at((1, 2)), "beta_fast must be at least beta_slow"),
    ],
)
def test_what_cannot_be_asked_is_said(call, said):
    with pytest.raises(posviz.ParameterError) as caught:
        call()
    assert said in str(caught.value)


def test_arrays_cannot_be_written_to():
    pad = made("yarn", BETAS, cells=3)
    for name in ("x", "y", "change", "unseen", "beyond", "front"):
        assert not getattr(pad, name).flags.writeable
