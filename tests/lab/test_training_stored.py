"""Stored curves: written and read back, and made again only where they are not current."""

import json
import math
import subprocess
import sys
from dataclasses import fields

import pytest

from posviz.catalog import parse
from posviz.lab.training import stored
from posviz.lab.training.__main__ import MAIN, MOST_SECONDS, SEEDS, work
from posviz.lab.training.extend import METHODS
from posviz.lab.training.model import fitted_to
from posviz.lab.training.plan import Plan
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trainable import trainable_links
from posviz.lab.training.trained import Extended, Trained


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    for reader in (stored.stored_for, stored.stored_extension):
        reader.cache_clear()
    yield tmp_path
    for reader in (stored.stored_for, stored.stored_extension):
        reader.cache_clear()


def result(link="rope?base=100", **more):
    values = {
        "link": link, "fitted": "rope?base=100&head_dim=16", "title": "RoPE",
        "plan": Plan().model_dump(), "steps": (0, 8), "loss": (2.7712345, 0.5),
        "lengths": (32, 64), "scores": {"as trained": (0.5, math.nan)}, "positions": (3.5,),
        "by_position": (1.0,), "best": 0.565, "chance": 2.7726, "seconds": 12.3456789,
        "facts": {"torch": "2"}, "is_done": True,
    }  # fmt: skip
    return Trained(**{**values, **more})


def test_a_training_reads_back_with_five_digits_and_nan(folder):
    path = stored.file_of("markov", "rope?base=100", 0)
    assert path == folder / "markov" / "rope-base-100_0.json"
    stored.write(path, result())
    found = stored.stored("markov", "rope?base=100")
    assert found.loss == (2.7712, 0.5)
    assert found.seconds == 12.346
    assert found.score[0] == 0.5
    assert math.isnan(found.score[1])
    # A plan is kept to the last digit.
    assert Plan(**found.plan) == Plan()
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert stored.stored("markov", "rope") is None
    assert stored.stored("copy", "rope") is None


def test_an_extension_reads_back(folder):
    assert stored.stored_extension("markov") is None
    stored.stored_extension.cache_clear()
    rows = {"none": (0.5, 1.0), "YaRN": (0.5, math.nan)}
    one = Extended(
        plan=Plan().model_dump(), links={"none": "rope"}, factors=(2.0, 4.0), loss=rows,
        at_end=rows, at_training_length=rows, notes=("A sentence.",), is_done=True,
    )  # fmt: skip
    stored.write(folder / "extension" / "markov_0.json", one)
    found = stored.stored_extension("markov")
    assert found.loss["none"] == (0.5, 1.0)
    assert math.isnan(found.loss["YaRN"][1])
    assert found.factors == (2.0, 4.0)
    assert found.notes == ("A sentence.",)


def test_files_are_made_again_after_a_change_of_plan_or_code_or_a_cut(folder):
    path, plan = stored.file_of("markov", "rope", 0), Plan().model_dump()
    assert not stored.is_current(path, plan)
    stored.write(path, result("rope"))
    assert stored.is_current(path, plan)
    assert stored.is_current(path, {**plan, "most_seconds": 900.0})
    assert not stored.is_current(path, {**plan, "steps": 401})
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "recipe": stored.RECIPE - 1}))
    assert not stored.is_current(path, plan)
    stored.write(
        path, result("rope", notes=("The training was cut after 40 s, at step 3 of 400.",))
    )
    assert not stored.is_current(path, plan)


def test_work_names_every_encoding_on_the_first_task_and_the_main_ones_elsewhere():
    every = list(work(tuple(TASKS), (), SEEDS))
    assert len({(one.task, one.link, one.seed) for one in every}) == len(every)
    first = {one.link for one in every if one.task == "markov" and one.seed == 0}
    assert first == set(trainable_links())
    assert {one.link for one in every if one.task == "copy" and one.seed == 2} == set(MAIN)
    chosen = list(work(("copy",), ("rope",), (5,)))
    assert [(one.task, one.link, one.seed) for one in chosen] == [("copy", "rope", 5)]


def test_what_a_page_reads_imports_no_torch():
    code = (
        "import sys, posviz.lab.training.plan, posviz.lab.training.stored, "
        "posviz.lab.training.trainable, posviz.lab.training.batches; "
        "print(sorted({'torch', 'transformers', 'scipy', 'plotly'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SHIPPED = sorted(stored.FOLDER.glob("*/*.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_shipped_file_is_of_this_code_and_of_the_plan_of_its_name(path):
    kept = stored.read(path)
    is_extension = path.parent.name == "extension"
    kind = Extended if is_extension else Trained
    assert set(kept) == {"recipe", *(one.name for one in fields(kind))}
    assert kept["is_done"]
    name, _, seed = path.stem.rpartition("_")
    limit = {"seed": int(seed), "most_seconds": MOST_SECONDS}
    if is_extension:
        plan = Plan.for_extension(name, **limit)
        assert set(kept["loss"]) == set(kept["at_end"]) == set(kept["right"]) == set(METHODS)
    else:
        plan = Plan.for_task(path.parent.name, **limit)
        assert stored.file_of(kept["plan"]["task"], kept["link"], int(seed)) == path
        assert fitted_to(parse(kept["link"]), plan) == parse(kept["fitted"])
    assert kept["facts"]["threads"] == 1
    assert stored.is_current(path, plan.model_dump())
