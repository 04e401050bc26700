"""Jobs of a session as its page sees them, without a browser: the page that counts."""

import json
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from posviz.figures import FigureSpec
from posviz.lab.workers import Pool, Progress, Status
from posviz.ui.lab import figures, jobs, watch
from posviz.ui.lab import workshop as workshop_module
from posviz.ui.panel import Panel

APP = Path(__file__).parents[1] / "browser" / "apps" / "lab_jobs.py"
PATIENCE = 30.0


@pytest.fixture(scope="module")
def pool():
    """The server's pool, for the whole module, with one worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(APP.parent)
        with Pool(limit=1) as only:
            yield only


@pytest.fixture
def app(pool, monkeypatch):
    monkeypatch.setattr(jobs, "workshop", lambda: pool)
    app = AppTest.from_file(str(APP), default_timeout=30).run()
    yield app
    pool.forget(app.session_state[jobs.STATE].owner)


def press(app, label):
    next(button for button in app.button if button.label == label).click()
    app.run()
    assert not app.exception
    return app


def labels(app):
    return [button.label for button in app.button]


def texts(app):
    return [text.value for text in app.markdown]


def until_over(app):
    end = time.monotonic() + PATIENCE
    while "Cancel" in labels(app) and time.monotonic() < end:
        time.sleep(0.05)
        app.run()
        assert not app.exception
    assert "Cancel" not in labels(app)
    return app


def bars(app):
    return [(bar.proto.value, bar.proto.text) for bar in app.get("progress")]


def test_a_page_shows_nothing_before_its_first_job(app, pool):
    assert labels(app) == ["Count", "Count long", "Count fast", "Refuse"]
    assert texts(app) == ["page run 1", "result: None"]
    assert not app.error


def test_a_job_is_shown_until_it_ends_and_its_result_stays(app, pool):
    press(app, "Count fast")
    assert labels(app)[-1] == "Cancel"
    (bar,) = bars(app)
    assert bar[1] in ("The worker gets ready …", "Place 1 in the queue: yours is the next run.")
    until_over(app)
    assert texts(app)[-1] == "result: 30"
    assert texts(app)[1].startswith(":small[Finished in ")
    owner = app.session_state[jobs.STATE].owner
    assert pool.status(owner) is None  # the pool keeps nothing of it
    app.run()
    assert texts(app)[-1] == "result: 30"


def test_a_refused_job_is_told_in_the_words_of_its_task(app):
    until_over(press(app, "Refuse"))
    assert [error.value for error in app.error] == [
        r"slow\_tasks\: \*steps\* must be at most 9; got 10."
    ]


def test_a_cancelled_job_is_told_and_the_old_result_stays(app):
    until_over(press(app, "Count fast"))
    press(app, "Count long")
    until_over(press(app, "Cancel"))
    assert app.info[0].value.startswith("Cancelled after ")
    assert texts(app)[-1] == "result: 30"


def test_a_second_job_of_a_session_has_to_wait_and_the_first_can_be_cancelled(app):
    press(app, "Count long")
    press(app, "Refuse")
    assert app.error[0].value.startswith("Another run of yours has not ended, and a session has")
    assert "Cancel" in labels(app)
    until_over(press(app, "Cancel the other run"))
    app.run()
    assert not app.error
    assert app.info[0].value.startswith("Cancelled after ")


def test_a_job_that_the_pool_dropped_is_told_and_not_looked_for_again(app, pool):
    press(app, "Count long")
    pool.forget(app.session_state[jobs.STATE].owner)
    app.run()
    assert app.info[0].value == jobs.LOST.replace(":", r"\:")
    assert app.session_state[jobs.STATE].key is None


def test_a_bad_number_of_workers_is_told_on_the_page(monkeypatch):
    monkeypatch.setenv("POSVIZ_WORKERS", "many")
    app = press(AppTest.from_file(str(APP), default_timeout=30).run(), "Count fast")
    assert app.error[0].value.startswith(r"POSVIZ\_WORKERS\: the number of worker processes must")
    assert "Cancel" not in labels(app)


def test_the_server_has_one_pool_and_a_closed_one_is_replaced(monkeypatch):
    monkeypatch.setenv("POSVIZ_WORKERS", "3")
    workshop_module.workshop.clear()
    first = workshop_module.workshop()
    assert first.limit == 3
    assert workshop_module.workshop() is first
    first.close()
    second = workshop_module.workshop()
    assert second is not first
    workshop_module.workshop.clear()
    assert second.is_closed


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (1, "Place 1 in the queue: yours is the next run."),
        (2, "Place 2 in the queue: 1 run before yours."),
        (3, "Place 3 in the queue: 2 runs before yours."),
    ],
)
def test_a_place_in_the_queue_is_said_in_words(place, text):
    assert watch.place(place) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (185, "3 min 5 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_a_time_is_said_in_words(seconds, text):
    assert watch.duration(seconds) == text


def test_the_bar_tells_what_is_done_and_how_long_it_takes():
    running = Status("running", 0, Progress(1, 4, "chunk *1*"), 12.0, 36.0)
    assert watch._doing(running) == r"chunk \*1\*"
    assert watch._times(running) == "12 s used, about 36 s left; reloading the page ends it"
    cancelling = Status("running", 0, Progress(1, 4), 12.0, is_cancelling=True)
    assert (watch._doing(cancelling), watch._times(cancelling)) == (
        "Cancelling …",
        "12 s used",
    )


# --- figures in place


class Words:
    title, formula, help, limits = "A wave", "y", "It grows.", "Nothing."


def wave(y, panel_id="whole"):
    trace = {"type": "scatter", "name": "wave", "x": np.arange(y.size), "y": y}
    layout = {"xaxis": {"title": {"text": "time"}}, "yaxis": {"title": {"text": "height"}}}
    return Panel(panel_id, Words(), None, FigureSpec([trace], layout), {}, [])


class Board:
    """What a board is given, and what it asks for."""

    def __init__(self, monkeypatch):
        self.request = None
        self.headers = []
        monkeypatch.setattr(figures, "board", self.take)
        monkeypatch.setattr(figures, "last_request", lambda key: self.request)
        monkeypatch.setattr(figures.st, "session_state", {})

    def take(self, packet, key):
        (length,) = struct.unpack_from("<I", packet)
        self.headers.append(json.loads(packet[4 : 4 + length]))

    def show(self, *panels):
        figures.figures_in_place("waves", panels)
        return self.headers[-1]


def test_a_panel_has_a_new_key_just_when_it_shows_something_new(monkeypatch):
    board = Board(monkeypatch)
    first, again, longer = (board.show(wave(np.arange(n) / 2)) for n in (4, 4, 5))
    keys = [header["panels"][0]["key"] for header in (first, again, longer)]
    assert keys[0] == keys[1] != keys[2]
    assert first["display"] is True
    assert first["stamp"] == 0


def test_the_numbers_of_a_panel_are_given_again_while_the_browser_may_have_missed_them(monkeypatch):
    board = Board(monkeypatch)
    both = wave(np.array([0.5, 1.5])), wave(np.array([7.0]), "half")
    assert "download" not in board.show(*both)
    board.request = {"seq": 1, "action": {"csv": "whole"}}
    assert board.show(*both)["download"] == {
        "name": "posviz-whole.csv",
        "mime": "text/csv",
        "text": "series,time,height\nwave,0,0.5\nwave,1,1.5\n",
    }
    # A reply may be replaced before the browser sees it; one that it saw is not saved twice.
    later = [board.show(*both) for _ in range(5)]
    assert [reply.get("download", {}).get("name") for reply in later] == [
        *["posviz-whole.csv"] * 4,
        None,
    ]
    assert {reply["stamp"] for reply in later} == {1}
    board.request = {"seq": 2, "action": {"csv": "whole"}}
    assert "download" in board.show(*both)
    board.request = {"seq": 3, "action": {"csv": "gone"}}
    assert "download" not in board.show(*both)
    board.request = None  # another page was shown meanwhile
    board.show(*both)
    board.request = {"seq": 1, "action": {"csv": "half"}}
    assert board.show(*both)["download"]["name"] == "posviz-half.csv"
