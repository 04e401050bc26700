"""Pass keys in a text: where they lie, what is asked, and the grid that comes of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from posviz.lab.errors import LabError
from posviz.lab.extension.applied import applied
from posviz.lab.extension.grids import Unit, depths, finished, units
from posviz.lab.extension.haystack import SENTENCE, haystack, question
from posviz.lab.extension.passkey import grid
from posviz.lab.extension.plan import PasskeyPlan
from posviz.lab.extension.reading import extended
from posviz.lab.language_model.load import decoder
from posviz.lab.workers import Cancelled, Progress
from tests.lab import tiny_extension as tiny

PLAN = PasskeyPlan(lengths=(400, 600), depths=4, seed=7)
GRID: dict[str, Any] = {"lengths": (200, 300), "depths": 2, "chunk": 64}


def _codes(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def _text(codes: Any) -> str:
    return "".join(chr(code) for code in codes)


def _body(length: int) -> list[int]:
    return _codes(("abcdefghi " * 200)[:length])


def test_a_haystack_has_the_asked_length_and_its_keys_at_the_asked_depths() -> None:
    hidden = haystack(_body(1000), _codes, PLAN, Unit(600, 0))
    assert len(hidden.ids) == 600
    assert len(hidden.places) == len(set(hidden.names)) == len(set(hidden.keys)) == 4
    sentences = [
        SENTENCE.format(name=name, key=key)
        for name, key in zip(hidden.names, hidden.keys, strict=True)
    ]
    before = 0
    body = 600 - sum(len(one) for one in sentences)
    for depth, place, sentence in zip((1 / 8, 3 / 8, 5 / 8, 7 / 8), hidden.places, sentences,
                                      strict=True):  # fmt: skip
        assert _text(hidden.ids[place : place + len(sentence)]) == sentence
        assert (place - before) == int(depth * body)  # text before it, keys not counted
        before += len(sentence)
    rest = _text(hidden.ids)
    for sentence in sentences:
        rest = rest.replace(sentence, "")
    assert rest == _text(_body(body))
    assert depths(4) == (0.125, 0.375, 0.625, 0.875)


def test_keys_are_drawn_with_the_seed_and_differ_between_haystacks() -> None:
    first = haystack(_body(1000), _codes, PLAN, Unit(600, 0))
    assert haystack(_body(1000), _codes, PLAN, Unit(600, 0)) == first
    others = [
        haystack(_body(1000), _codes, PLAN, Unit(400, 0)).keys,
        haystack(_body(1000), _codes, PasskeyPlan(depths=4, seed=8), Unit(600, 0)).keys,
    ]
    assert first.keys not in others
    assert all(len(key) == 5 and key.isdigit() for key in first.keys)


def test_repeats_read_other_parts_of_the_text() -> None:
    plan = PasskeyPlan(lengths=(400,), depths=2, repeats=2)
    text = list(range(1000, 2000))
    one, two = (haystack(text, _codes, plan, unit) for unit in units(plan))
    assert one.ids[0] == 1000
    assert two.ids[0] > 1000
    assert one.keys != two.keys


def test_haystacks_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(LabError, match=r"text must have at least \d+ tokens for a length of 600"):
        haystack(_body(100), _codes, PLAN, Unit(600, 0))
    with pytest.raises(LabError, match="lengths must be long enough for 4 keys, which take"):
        haystack(_body(1000), _codes, PLAN, Unit(180, 0))


def test_the_answer_begins_at_its_first_digit() -> None:
    whole, first = question("Anna", "58213", _codes, _text)
    assert _text(whole[first:]) == "58213"
    assert _text(whole[:first]).endswith("Anna")

    def words(text: str) -> list[int]:
        """A tokenizer that joins the name to the first digit."""
        return _codes(text.replace("Anna5", "\u0100"))

    whole, first = question("Anna", "58213", words, _text)
    assert _text(whole[first:]) == "\u01008213"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSVIZ_LOCAL_MODELS", "1")
        patch.setenv("POSVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield str(tiny.folder(tmp_path_factory.mktemp("tiny")))


def test_a_grid_equals_questions_asked_without_any_cache(folder: str) -> None:
    told = tiny.Told()
    found = grid(told, model=folder, link="yarn", text=tiny.TEXT, **GRID)
    plan = PasskeyPlan(link="yarn", **GRID)
    loaded = decoder(folder, tiny.Told())
    model = extended(loaded, applied("yarn", loaded.reading, length=300), "float32")

    def encode(text: str) -> list[int]:
        ids: list[int] = loaded.tokenizer(text)["input_ids"]
        return ids

    for row, unit in enumerate(units(plan)):
        hidden = haystack(encode(tiny.TEXT), encode, plan, unit)
        for column, (name, key) in enumerate(zip(hidden.names, hidden.keys, strict=True)):
            whole, first = question(name, key, encode, loaded.tokenizer.decode)
            with torch.inference_mode():
                logits = model(torch.tensor([[*hidden.ids, *whole]])).logits[0, -6:-1]
            chances = torch.log_softmax(logits, -1)
            answer = torch.tensor(whole[first:])
            assert len(answer) == 5
            loss = -chances[torch.arange(5), answer].mean()
            assert found.loss[row][column] == pytest.approx(float(loss), abs=1e-4)
            right = (logits.argmax(-1) == answer).float().mean()
            assert found.right[row][column] == pytest.approx(float(right))
    assert found.lengths == (200, 300)
    assert found.tries == 5
    assert found.chance[1] == math.log(10)
    assert found.is_done
    assert told.progress[-1].total == 500
    half = next(one.partial for one in told.progress if one.done == 200 and one.partial)
    assert not half.is_done
    assert finished(folder, tiny.TEXT, plan) is not None


def test_a_cancelled_grid_goes_on_where_it_was(folder: str, tmp_path: Path) -> None:
    arguments = {"model": folder, "link": "linear", "text": tiny.TEXT, **GRID}

    def cancel(progress: Progress) -> None:
        if progress.done >= 328:  # in the second haystack
            raise Cancelled

    with pytest.raises(Cancelled):
        grid(cancel, cache_folder=str(tmp_path), **arguments)
    assert len(list(tmp_path.glob("*.json"))) == 1
    told = tiny.Told()
    resumed = grid(told, cache_folder=str(tmp_path), **arguments)
    whole = grid(tiny.Told(), cache_folder=str(tmp_path / "other"), **arguments)
    assert min(one.done for one in told.progress if "read, " in one.note) == 328
    assert (resumed.right, resumed.loss) == (whole.right, whole.loss)
    assert not list(tmp_path.glob("*.part"))
