"""The tiny model: what it sees, that it repeats itself, and how a training ends."""

import math
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from posviz.catalog import parse
from posviz.lab.errors import LabError
from posviz.lab.training import fit as module_of_fit
from posviz.lab.training.batches import source_chances
from posviz.lab.training.extend import METHODS, swap
from posviz.lab.training.fit import fit
from posviz.lab.training.measured import Places, places, wilson
from posviz.lab.training.model import fitted_to, started
from posviz.lab.training.plan import Plan
from posviz.lab.training.run import extend, train, train_all
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.tested import tested as after_training
from posviz.lab.training.trainable import trainable_links
from posviz.lab.training.trained import Trained
from posviz.lab.workers import Progress
from posviz.lab.workers.job import Cancelled
from posviz.parameters import ParameterError

SMALL = {"length": 16, "steps": 6, "sequences": 4, "width": 16, "heads": 2, "test_sequences": 2}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def ignore(*_):
    return None


@pytest.mark.parametrize("link", trainable_links())
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
    plan = {**SMALL, "steps": 5000, "most_seconds": 0.4}
    found = train(ignore, link="nope", plan=plan)
    (note,) = found.notes
    assert note.startswith("The training was cut after 0.3 s of one core, at step ")
    assert found.is_done
    assert len(found.score) == 9


def test_training_and_test_keep_to_their_time_even_where_a_step_takes_longer():
    # One step of this takes some ten seconds.
    slow = {"length": 128, "sequences": 128, "layers": 3, "heads": 8, "steps": 2}
    heard = []
    started_at = time.process_time()
    found = train(heard.append, link="cope", plan={**slow, "most_seconds": 2, "test_sequences": 4})
    assert time.process_time() - started_at < 6
    cut, *_ = found.notes
    assert cut.startswith("The training was cut after 1.5 s of one core, at step 0 of 2")
    assert len(heard) > 2


def test_a_batch_in_parts_trains_as_the_whole_batch(monkeypatch):
    def curve():
        return train(ignore, link="rope", plan={**SMALL, "sequences": 5}).loss

    whole = curve()
    monkeypatch.setattr(module_of_fit, "_MOST_LOGITS", 2 * 2 * 16**2)  # 2, 2 and 1 sequences
    assert curve()[1:] == pytest.approx(whole[1:], rel=1e-5)
    monkeypatch.setattr(module_of_fit, "_MOST_LOGITS", 1)
    assert curve()[1:] == pytest.approx(whole[1:], rel=1e-5)


def test_a_test_that_takes_too_long_is_ended_and_says_what_is_missing():
    plan = Plan(**{**SMALL, "task": "flip_flop", "most_seconds": 0.001})
    used = fitted_to(parse("nope"), plan)
    begun = Trained(link="nope", fitted="nope", title="NoPE", plan=plan.model_dump())
    found = after_training(started(used, plan), plan, begun, ignore)
    (note,) = found.notes
    assert note.startswith("The test was ended after 0.001 s of one core, at ")
    assert found.is_done


def test_a_length_that_the_table_does_not_reach_is_left_out_with_its_reason():
    found = train(ignore, link="learned?rows=20", plan={**SMALL, "steps": 1})
    assert [math.isnan(one) for one in found.score] == [False] * 3 + [True] * 6
    (note,) = found.notes
    assert note.startswith("Not tested from 24 tokens on: ")
    assert "the table ends after 20 rows" in note


def test_shares_are_of_a_thousand_answers_with_an_interval():
    plan = {**SMALL, "task": "flip_flop", "steps": 1, "test_up_to": 2, "test_sequences": 64}
    found = train(ignore, link="nope", plan=plan)
    assert list(found.answers) == ["as trained", "denser", "sparser"]
    for variant, counts in found.answers.items():
        for place, count in enumerate(counts):
            share, low, high = (
                row[variant][place] for row in (found.scores, found.low, found.high)
            )
            if found.lengths[place] not in (16, 32) and variant != "as trained":
                assert math.isnan(count)
                continue
            assert count >= 1000
            assert low <= share <= high
            assert 0 <= low < high <= 1


def test_interval_is_wilsons_and_wider_where_answers_hang_together():
    # 9 of 10, z = 1.96: 0.596 to 0.982, as in the tables.
    assert wilson(0.9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    alone = np.array([[1.0], [1.0], [0.0], [1.0]])
    assert Places(alone, alone).share_within() == pytest.approx(wilson(0.75, 3.0))
    # Four sequences of 100 answers, all alike: their variance, 4/3·Σ(x - p·k)²/(Σk)², is 100·4/3
    # times p(1-p)/400, so that 400 answers are worth 3.
    together = np.repeat(alone, 100, axis=1)
    assert Places(together, together).share_within() == pytest.approx(wilson(0.75, 3.0))
    right = np.ones((5, 40))
    assert Places(right, right).share_within() == pytest.approx(wilson(1.0, 200))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"length": 128, "test_up_to": 16}, "longest test, must be at most 1024 tokens; got 128"),
        ({"test_up_to": 16, "test_sequences": 64}, "test_sequences must be at most 32 where"),
    ],
)
def test_a_test_without_bounds_is_refused(values, words):
    with pytest.raises(ParameterError, match=words):
        Plan(**values)


def test_every_task_brings_its_steps_and_its_start():
    assert (Plan.for_task("markov").steps, Plan.for_task("markov").embedding_scale) == (400, 1.0)
    chosen = Plan.for_task("retrieval")
    assert chosen.embedding_scale == 8.0
    weight = started(fitted_to(parse("nope"), chosen), chosen).embedding.weight
    assert float(weight.detach().std()) == pytest.approx(1.0, abs=0.1)
    plain = chosen.with_values(embedding_scale=1.0)
    small = started(fitted_to(parse("nope"), plain), plain).embedding.weight
    assert torch.allclose(weight, 8 * small, rtol=1e-5)


def test_the_same_numbers_come_out_in_another_process():
    code = (
        "from posviz.lab.training.run import train\n"
        f"found = train(lambda _: None, link='kerple_log', plan={SMALL!r})\n"
        "print([float(one).hex() for one in (*found.loss, *found.score)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = train(ignore, link="kerple_log", plan=SMALL)
    assert done.stdout.strip() == str([float(one).hex() for one in (*here.loss, *here.score)])


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


class Knowing(torch.nn.Module):
    """A model that knows the table of the source and how often it is disturbed."""

    def forward(self, tokens):
        return torch.from_numpy(np.log(source_chances(tokens.numpy())))


def test_a_model_that_knows_the_source_is_at_the_floor_and_one_that_knows_nothing_at_chance():
    plan = Plan(**SMALL)
    values = places(Knowing(), plan, 16).values[:, 1:]
    assert np.allclose(values, TASKS["markov"].best, atol=1e-6)
    model = started(fitted_to(parse("rope"), plan), plan)
    with torch.no_grad():
        model.head.weight.zero_()
    assert places(model, plan, 16).mean() == pytest.approx(math.log(16), abs=1e-6)


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
    assert found.facts["threads"] == 1
    (note,) = found.notes
    assert note.startswith("The model has not learned the task: at 16 tokens, without any change, ")
    with pytest.raises(LabError, match="task must be one whose test is a loss"):
        extend(ignore, plan={**SMALL, "task": "copy"})
    with pytest.raises(LabError, match=r"no method 'YARN'; (closest|known): "):
        extend(ignore, plan=SMALL, methods=("YARN",))
