"""The tiny model: what it sees, that it repeats itself, and how a training ends."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from posviz.catalog import parse
from posviz.lab.errors import LabError
from posviz.lab.training.extend import METHODS, swap
from posviz.lab.training.fit import fit
from posviz.lab.training.measured import Places, places
from posviz.lab.training.model import fitted_to, started
from posviz.lab.training.plan import Plan
from posviz.lab.training.run import extend, train, train_all
from posviz.lab.workers import Progress
from posviz.lab.workers.job import Cancelled
from posviz.parameters import ParameterError

SMALL = {"length": 16, "steps": 6, "sequences": 4, "width": 16, "heads": 2, "test_sequences": 2}
ONE_OF_EACH = [
    "rope",
    "alibi",
    "learned",
    "cope",
    "shaw",
    "forgetting",
    "sliding_window",
    "vo_rope",
]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def ignore(*_):
    return None


@pytest.mark.parametrize("link", ONE_OF_EACH)
def test_a_later_token_changes_no_earlier_logit(link):
    plan = Plan(**SMALL)
    model = started(fitted_to(parse(link), plan), plan).eval()
    tokens = torch.arange(20)[None, :] % 16
    changed = tokens.clone()
    changed[0, 12] = 15
    before, after = model(tokens), model(changed)
    assert torch.equal(before[0, :12], after[0, :12])
    assert not torch.equal(before[0, 12:], after[0, 12:])


def test_the_same_plan_gives_the_same_numbers_and_another_seed_others():
    kept = []

    def report(progress: Progress) -> None:
        kept.append(progress)

    random_state = torch.random.get_rng_state()
    first = train(report, link="kerple_log", plan=SMALL)
    again = train(report, link="kerple_log", plan=SMALL)
    assert replace(first, seconds=0.0) == replace(again, seconds=0.0)
    assert first.loss != train(report, link="kerple_log", plan={**SMALL, "seed": 1}).loss
    # Nothing is left behind in torch's own generator.
    assert torch.equal(random_state, torch.random.get_rng_state())
    assert first.steps == (0, 1, 2, 3, 4, 5, 6)
    assert len(first.loss) == 7
    assert first.lengths == (8, 16, 20, 24, 32, 48, 64, 96, 128)
    assert len(first.score) == 9
    assert first.is_done
    assert not first.notes
    assert kept[-1].partial.is_done
    assert kept[-1].part == 1.0


def test_report_comes_with_the_curve_so_far_and_ends_the_training():
    seen = []

    def report(progress: Progress) -> None:
        seen.append(progress)
        if progress.partial.loss:
            raise Cancelled

    with pytest.raises(Cancelled):
        train(report, link="nope", plan={**SMALL, "steps": 5000})
    last = seen[-1].partial
    assert 0 < len(last.loss) == len(last.steps)
    assert last.steps[-1] < 5000
    assert not last.is_done
    assert seen[-1].part < 0.85


def test_a_training_that_takes_too_long_is_cut_and_says_so():
    plan = {**SMALL, "steps": 5000, "most_seconds": 0.3}
    found = train(ignore, link="nope", plan=plan)
    (note,) = found.notes
    assert note.startswith("The training was cut after 0.3 s, at step ")
    assert found.is_done
    assert len(found.score) == 9


def test_rows_beyond_the_training_are_said_to_be_untrained():
    (note,) = train(ignore, link="learned", plan={**SMALL, "steps": 1}).notes
    assert note == (
        "Learned positions: the table has rows up to the longest test, but those from 16 on never "
        "met a training sequence and keep their random start."
    )


def test_rows_beyond_the_training_stay_at_their_start():
    plan = Plan(**SMALL)
    model = started(fitted_to(parse("learned"), plan), plan)
    table = model.encoded.learned[0].numbers[0]
    before = table.detach().clone()
    fit(model, plan, ignore)
    assert torch.equal(table[16:], before[16:])
    assert not torch.equal(table[:16], before[:16])


def test_several_are_trained_one_after_another():
    notes = []
    found = train_all(
        lambda progress: notes.append((progress.note, progress.total)),
        links=["rope", "alibi?slope_scale=2"],
        plan=SMALL,
    )
    assert [one.link for one in found] == ["rope", "alibi?slope_scale=2"]
    assert notes[0] == ("RoPE, 1 of 2", 2)
    assert notes[-1] == ("done", 2)
    # The order makes no difference.
    alone = train(ignore, link="alibi?slope_scale=2", plan=SMALL)
    assert alone.score == found[1].score


def test_what_cannot_be_trained_is_refused_before_anything_runs():
    with pytest.raises(LabError, match="Length curriculum says how the lengths of training grow"):
        train_all(ignore, links=["rope", "length_curriculum"], plan=SMALL)
    with pytest.raises(LabError, match="choose 1 to 6 encodings; got 7"):
        train_all(ignore, links=["rope"] * 7, plan=SMALL)
    with pytest.raises(
        ParameterError, match="Training: steps must be a whole number of at least 1"
    ):
        train(ignore, link="rope", plan={"steps": 0})
    with pytest.raises(ParameterError, match="width must be a multiple of twice the heads"):
        Plan(width=24, heads=8)


def test_result_at_a_place_is_the_mean_over_what_counts_there():
    right = np.array([[np.nan, 1.0, 0.0, 0.0], [np.nan, 1.0, np.nan, 1.0]])
    found = Places(np.array([[np.nan, 1.0, 3.0, 0.0], [np.nan, 3.0, np.nan, 0.0]]), right)
    assert found.share_right == pytest.approx(3 / 5)
    assert found.mean() == pytest.approx(7 / 5)
    assert found.mean(2) == pytest.approx(1.0)
    middles, means = found.windows(2)
    assert middles == (0.5, 2.5)
    assert means == (2.0, 1.0)


def test_no_model_beats_the_floor_of_the_source():
    plan = Plan(**{**SMALL, "steps": 60, "width": 32, "sequences": 16})
    model = started(fitted_to(parse("rope"), plan), plan)
    fit(model, plan, ignore)
    values = places(model, plan, 16).values[:, 1:]
    # Averaged over all that could have come, the loss at every single place is above the entropy.
    assert values.min() > plan.about.best
    assert plan.about.best == pytest.approx(0.565, abs=1e-3)


def test_swapped_frequencies_are_those_of_the_method():
    plan = Plan(heads=2)
    found = {
        name: method(plan, 8.0).encode(np.arange(4.0), length=512)
        for name, method in METHODS.items()
    }
    ladder = 10000.0 ** (-np.arange(16) / 16)
    assert np.allclose(found["none"].inv_freq, ladder)
    assert np.allclose(found["PI"].inv_freq, ladder / 8)
    assert np.allclose(found["NTK-aware"].inv_freq, ladder * 8.0 ** (-np.arange(16) / 15))
    assert np.allclose(found["temperature alone"].inv_freq, ladder, rtol=1e-12)
    warm = 0.1 * np.log(8) + 1
    factors = {name: result.attention_factor for name, result in found.items()}
    assert factors["YaRN"] == factors["temperature alone"] == pytest.approx(warm)
    assert factors["by parts"] == factors["PI"] == factors["none"] == 1.0
    # One pair of 16 turns at least 8 times in 64 tokens: 64/(2π) = 10.186.
    kept = np.isclose(found["by parts"].inv_freq, ladder)
    assert list(np.flatnonzero(kept)) == [0]


def test_swapping_changes_the_test_and_swapping_back_restores_it():
    plan = Plan(**SMALL)
    model = started(METHODS["none"](plan, 1.0), plan)
    before = places(model, plan, 64).mean()
    swap(model, METHODS["YaRN"](plan, 4.0), plan)
    assert places(model, plan, 64).mean() != before
    swap(model, METHODS["none"](plan, 4.0), plan)
    assert places(model, plan, 64).mean() == before


def test_extension_gives_a_loss_for_each_method_and_factor():
    found = extend(ignore, plan=SMALL, factors=(2.0, 4.0), methods=("none", "YaRN"))
    assert list(found.loss) == ["none", "YaRN"]
    assert found.is_done
    assert all(len(row) == 2 for row in found.loss.values())
    assert found.links["YaRN"].startswith("yarn?head_dim=8&original_max_position_embeddings=16")
    assert len(found.curves["none"]) == len(found.positions) == 64
    # At the length of training the plain frequencies are those it was trained with.
    near = found.at_training_length["none"]
    assert near[0] == near[1]
    with pytest.raises(LabError, match="task must be one whose test is a loss"):
        extend(ignore, plan={**SMALL, "task": "copy"})
    with pytest.raises(LabError, match=r"no method 'YARN'; (closest|known): "):
        extend(ignore, plan=SMALL, methods=("YARN",))
