"""Pass keys in a text: where they lie, what is asked, and the grid that comes of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from posviz.lab.errors import LabError
from posviz.lab.extension.applied import applied
from posviz.lab.extension.cache import Cache
from posviz.lab.extension.grids import Unit, depths, finished, units
from posviz.lab.extension.haystack import NAMES, SENTENCE, Haystack, haystack, question, shares
from posviz.lab.extension.passkey import _Run, grid
from posviz.lab.extension.plan import PasskeyPlan
from posviz.lab.extension.reading import extended
from posviz.lab.extension.records import MEASURED
from posviz.lab.language_model.load import decoder
from posviz.lab.workers import Cancelled, Progress
from tests.lab import tiny_extension as tiny

PLAN = PasskeyPlan(lengths=(400, 600), depths=4, key_seed=7)
GRID: dict[str, Any] = {"lengths": (200, 300), "depths": 2, "chunk": 64}


def _codes(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def _text(codes: Any) -> str:
    return "".join(chr(code) for code in codes)


def _body(length: int) -> str:
    return ("abcdefghi " * 200)[:length]


def _hidden(text: str, plan: PasskeyPlan, unit: Unit) -> Haystack:
    return haystack(text, _codes, _text, plan, unit)


def test_a_haystack_with_a_question_has_the_asked_length_and_its_keys_at_the_asked_depths() -> None:
    hidden = _hidden(_body(1000), PLAN, Unit(600, 0))
    questions = [
        len(f"\n\n{name}{key}") for name in (*hidden.names, *hidden.absent) for key in hidden.keys
    ]
    assert len(hidden.ids) + max(questions) == 600
    assert len(hidden.places) == len(set(hidden.names)) == len(set(hidden.keys)) == 4
    sentences = [
        SENTENCE.format(name=name, key=key)
        for name, key in zip(hidden.names, hidden.keys, strict=True)
    ]
    before = 0
    body = len(hidden.ids) - sum(len(one) for one in sentences)
    for depth, place, sentence in zip((1 / 8, 3 / 8, 5 / 8, 7 / 8), hidden.places, sentences,
                                      strict=True):  # fmt: skip
        assert _text(hidden.ids[place : place + len(sentence)]) == sentence
        assert (place - before) == int(depth * body)  # text before it, keys not counted
        before += len(sentence)
    rest = _text(hidden.ids)
    for sentence in sentences:
        rest = rest.replace(sentence, "")
    assert rest == _body(body)
    assert depths(4) == (0.125, 0.375, 0.625, 0.875)


def test_the_names_of_the_control_stand_nowhere_in_the_text() -> None:
    text = f"Hugo met Anna. {_body(1000)}"
    hidden = _hidden(text, PLAN, Unit(600, 0))
    assert len({*hidden.names, *hidden.absent}) == 8
    assert not {"Hugo", "Anna"} & {*hidden.names, *hidden.absent}
    read = _text(hidden.ids)
    assert all(name in read for name in hidden.names)
    assert not any(name in read for name in hidden.absent)
    with pytest.raises(LabError, match="text must leave 8 names free for 4 depths; it has all but"):
        _hidden(" ".join(NAMES[2:]) + _body(1000), PLAN, Unit(600, 0))
    assert len(NAMES) >= 2 * 10  # depths at most


def test_keys_are_drawn_with_the_seed_and_differ_between_haystacks() -> None:
    first = _hidden(_body(1000), PLAN, Unit(600, 0))
    assert _hidden(_body(1000), PLAN, Unit(600, 0)) == first
    others = [
        _hidden(_body(1000), PLAN, Unit(400, 0)).keys,
        _hidden(_body(1000), PasskeyPlan(depths=4, key_seed=8), Unit(600, 0)).keys,
    ]
    assert first.keys not in others
    assert all(len(key) == 5 and key.isdigit() for key in first.keys)


def test_repeats_read_other_parts_of_the_text() -> None:
    plan = PasskeyPlan(lengths=(400,), depths=2, repeats=2)
    text = "".join(chr(0x4E00 + place) for place in range(1000))
    one, two = (_hidden(text, plan, unit) for unit in units(plan))
    assert one.ids[0] == 0x4E00
    assert two.ids[0] > 0x4E00
    assert one.keys != two.keys


def test_haystacks_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(LabError, match=r"text must have at least \d+ tokens for a length of 600"):
        _hidden(_body(100), PLAN, Unit(600, 0))
    with pytest.raises(LabError, match="long enough for 4 keys and a question, which take"):
        _hidden(_body(1000), PLAN, Unit(180, 0))


def test_an_answer_is_right_as_a_whole_or_digit_by_digit() -> None:
    assert shares("58213", "58213") == (1.0, 1.0)
    assert shares("58231", "58213") == (0.0, 0.6)
    assert shares("82135", "58213") == (0.0, 0.0)
    assert shares("58", "58213") == (0.0, 0.4)


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


def _written(model: Any, ids: list[int], count: int) -> list[int]:
    """What a model writes by itself, read anew for every token, without any cache."""
    for _ in range(count):
        with torch.inference_mode():
            ids = [*ids, int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax())]
    return ids


def test_a_grid_equals_questions_asked_without_any_cache(folder: str) -> None:
    told = tiny.Told()
    found = grid(told, model=folder, link="yarn", text=tiny.TEXT, **GRID)
    plan = PasskeyPlan(link="yarn", **GRID)
    loaded = decoder(folder, tiny.Told())
    model = extended(loaded, applied("yarn", loaded.reading, length=300), "float32")
    decode = loaded.tokenizer.decode

    def encode(text: str) -> list[int]:
        ids: list[int] = loaded.tokenizer(text)["input_ids"]
        return ids

    def asked(hidden: Haystack, name: str, key: str) -> tuple[float, str]:
        whole = encode(f"\n\n{name}{key}")
        with torch.inference_mode():
            logits = model(torch.tensor([[*hidden.ids, *whole]])).logits[0, -6:-1]
        chances = torch.log_softmax(logits, -1)
        loss = -float(chances[torch.arange(5), torch.tensor(whole[-5:])].mean())
        answer = decode(_written(model, [*hidden.ids, *whole[:-5]], 5)[-5:])
        return loss, answer.replace(" ", "")

    for row, unit in enumerate(units(plan)):
        hidden = haystack(tiny.TEXT, encode, decode, plan, unit)
        said = []
        for column, (name, absent, key) in enumerate(
            zip(hidden.names, hidden.absent, hidden.keys, strict=True)
        ):
            loss, answer = asked(hidden, name, key)
            assert found.loss[row][column] == pytest.approx(loss, abs=1e-4)
            hits = sum(one == other for one, other in zip(answer, key, strict=False))
            assert found.exact[row][column] == float(answer == key)
            assert found.right[row][column] == pytest.approx(hits / 5)
            loss, answer = asked(hidden, absent, key)
            assert found.absent_loss[row][column] == pytest.approx(loss, abs=1e-4)
            said.append(answer)
        for column, key in enumerate(hidden.keys):
            floor = np.mean([answer == key for answer in said])
            assert found.absent_exact[row][column] == pytest.approx(float(floor))
    assert found.lengths == (200, 300)
    assert found.tries == 1
    assert found.is_done
    assert told.progress[-1].total == 500
    half = next(one.partial for one in told.progress if one.done == 200 and one.partial)
    assert not half.is_done
    assert finished(folder, tiny.TEXT, plan) is not None


class Copier(torch.nn.Module):
    """Says what followed the last earlier place of the four tokens before: it finds every key, and
    knows nothing where a name was never seen."""

    def __init__(self, hidden: Haystack) -> None:
        super().__init__()
        self.ids = list(hidden.ids)

    def forward(self, ids: Any, cache: Any, use_cache: bool) -> Any:
        cache.read += ids[0].tolist()
        known = self.ids + cache.read
        logits = torch.zeros(1, ids.shape[1], 0x110000)
        for place in range(ids.shape[1]):
            end = len(known) - ids.shape[1] + place + 1
            last = known[end - 4 : end]
            earlier = [at for at in range(4, end) if known[at - 4 : at] == last]
            logits[0, place, known[earlier[-1]] if earlier else 0] = 9.0
        return SimpleNamespace(logits=logits)


class Read:
    """Stands for cached keys and values: the tokens that were read after the haystack."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def crop(self, count: int) -> None:
        del self.read[count:]


def test_a_model_that_copies_what_followed_a_name_finds_keys_and_none_of_absent_names() -> None:
    plan = PasskeyPlan(lengths=(400,), depths=3)
    hidden = _hidden(_body(1000), plan, Unit(400, 0))
    loaded: Any = SimpleNamespace(tokenizer=Letters())
    run = _Run(loaded, Copier(hidden), plan, _body(1000), Cache(Path("nowhere")))
    past = Read()
    found = run._measured(hidden, past, lambda: None)
    assert found["exact"] == found["right"] == (1, 1, 1)
    assert max(found["loss"]) < 6
    assert found["absent_exact"] == (0, 0, 0)
    assert past.read == []  # every question was taken back


class Letters:
    """A tokenizer of characters."""

    def __call__(self, text: str, **more: Any) -> Any:
        return {"input_ids": _codes(text)}

    def decode(self, ids: Any) -> str:
        return _text(ids)


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
    assert [getattr(resumed, name) for name in MEASURED] == [
        getattr(whole, name) for name in MEASURED
    ]
    assert not list(tmp_path.glob("*.part"))
