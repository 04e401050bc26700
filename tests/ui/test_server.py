"""The route that answers a moving control, asked over HTTP without a browser or a session."""

import asyncio
import json
import re
import struct
import sys
import threading
import types
import urllib.error
import urllib.request

import numpy as np
import pytest
from local_server import running
from starlette.requests import Request

import posviz
from posviz.parameters import ParameterError
from posviz.ui import exchange, server

ROUTE = "/posviz/context_extension"
QUESTION = {
    "source": "model=yarn-llama-2-7b-64k",
    "layer": "full_attention",
    "values": {"base": 20000.0},
    "seq": 7,
    "epoch": "e",
}


@pytest.fixture(scope="module")
def client():
    """``client(body)`` is the status and the body of the answer, from the app as it is started."""
    with running("app.py") as address:

        def post(body):
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            request = urllib.request.Request(address + ROUTE, data=body, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status, answer.read()
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.status, refused.read()

        yield post


def read(packet):
    size = struct.unpack("<I", packet[:4])[0]
    header = json.loads(packet[4 : 4 + size])
    start = 4 + size + -(4 + size) % 4
    return header, packet[start:]


def test_a_question_gets_the_panels_of_its_values(client):
    status, packet = client(QUESTION)
    assert status == 200
    header, blocks = read(packet)
    assert (header["stamp"], header["epoch"], header["later"]) == (7, "e", True)
    wavelengths = next(one for one in header["panels"] if one["id"] == "wavelengths")
    offset, count = wavelengths["figure"]["data"][1]["y"]["f32"]
    drawn = np.frombuffer(blocks, "<f4", count=count, offset=offset)
    spec = posviz.parse("yarn?base=20000")
    np.testing.assert_allclose(drawn, spec.encode([0.0]).wavelengths, rtol=1e-6)
    assert header["address"] == "base=20000"


def test_panels_and_arrays_that_the_browser_has_are_not_sent_again(client):
    _, first = client(QUESTION)
    header, _ = read(first)
    known = re.findall(r'"id":\s*"([0-9a-f]{12})"', first[4:-1].decode(errors="ignore"))
    have = {one["id"]: one["key"] for one in header["panels"]}
    question = {**QUESTION, "known": known, "have": have}
    same, _ = read(client(question)[1])
    assert all("figure" not in one for one in same["panels"])
    _, moved = client({**question, "values": {"base": 20001.0}})
    assert len(moved) < len(first)


def test_a_value_that_cannot_be_used_is_said_and_every_picture_stays(client):
    values = {"a.beta_fast": 0.5, "base": 10000.0}
    question = {**QUESTION, "values": values, "have": {"wavelengths": "k"}}
    header, _ = read(client(question)[1])
    assert "beta_fast must be at least beta_slow" in header["problems"][0]["text"]
    assert header["panels"] == [{"id": "wavelengths", "key": "k"}]
    assert header["values"] == values


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"[", 400, "This question cannot be answered: "),
        (b"[1]", 400, "a question must be an object"),
        (b'{"source": "model=nope"}', 400, "There is no preset 'nope'"),
        (b'{"source": "config=@@"}', 400, "The configuration in the address is damaged"),
        (b" " * 300_000, 413, "The question is too large."),
    ],
)
def test_what_is_no_question_is_refused_in_words(client, body, status, sentence):
    came, text = client(body)
    assert came == status
    assert sentence in text.decode()


def test_the_answer_does_not_depend_on_what_was_asked_before(client):
    _, first = client(QUESTION)
    client({**QUESTION, "values": {"scaling_factor": 3.0}})
    assert client(QUESTION)[1] == first


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"source": 3}, "source must be text"),
        ({"source": None}, "source must be text"),
        ({"layer": ["x"]}, "layer must be text"),
        ({"epoch": "\ud800"}, "epoch must be text without half characters"),
        ({"values": [1]}, "values must be an object"),
        ({"values": "base=5"}, "values must be an object"),
        ({"values": {"a": ["yarn"]}}, "values.a must be text, a number, true, false or null"),
        ({"values": {"a": {}}}, "values.a must be text, a number, true, false or null"),
        ({"values": {"a": "\udfff"}}, "values.a must be text without half characters"),
        ({"values": {"\ud800": 1}}, "values must have names without half characters"),
        ({"values": {"base": 10**400}}, "values.base must be a finite number"),
        ({"values": {"base": float("nan")}}, "NaN is no number of JSON"),
        ({"have": ["wavelengths"]}, "have must be an object"),
        ({"have": {"wavelengths": [1]}}, "have.wavelengths must be text"),
        ({"known": 3}, "known must be a list of texts"),
        ({"known": [["x"]]}, "known must be a list of texts"),
        ({"seq": "7"}, "seq must be a whole number"),
        ({"seq": True}, "seq must be a whole number"),
        ({"seq": float("inf")}, "Infinity is no number of JSON"),
        ({"controls_key": [1]}, "controls_key must be text"),
        ({"board": 5}, "board must be text"),
        ({"board": "b" * 65}, "board must be text of at most 64 characters"),
        ({"zoom": None}, "zoom must be an object of ranges, got None"),
        ({"zoom": [[1, 2]]}, "zoom must be an object"),
        ({"zoom": {"\ud800": [1, 2]}}, "zoom must have names without half characters"),
    ],
)
def test_a_question_of_the_wrong_shape_is_refused_by_name(client, changed, sentence):
    status, text = client({**QUESTION, **changed})
    assert (status, text.decode()) == (400, f"This question cannot be answered: {sentence}.")


@pytest.mark.parametrize("body", [b"[" * 90_000, b'{"a":' * 30_000])
def test_a_question_that_is_nested_without_end_is_refused(client, body):
    status, text = client(body)
    assert (status, text.decode()) == (
        400,
        "This question cannot be answered: it is nested too deep.",
    )


def test_a_number_beyond_floating_point_is_refused(client):
    body = json.dumps(QUESTION).replace("20000.0", "1e999").encode()
    status, text = client(body)
    assert (status, text.decode()) == (
        400,
        "This question cannot be answered: values.base must be a finite number.",
    )


FORGED = [
    ("wide", "got 'wide'"),
    (None, "got None"),
    ({}, "got {}"),
    ([1], "got [1]"),
    ([1, 2, 3], "got [1, 2, 3]"),
    ([1, "2"], "got [1, '2']"),
    ([False, True], "got [False, True]"),
    ([2, 1], "got [2, 1]"),
    ([3.5, 3.5], "got [3.5, 3.5]"),
    ([2**53, 2**53 + 1], "got [9007199254740992, 9007199254740993]"),
]
RANGE = "zoom of 'wavelengths' must be two finite numbers, the smaller one first, "


@pytest.mark.parametrize(("ends", "got"), [*FORGED, ([0, 10**400], "got [0, 1")])
def test_a_zoom_that_is_no_range_is_refused_in_words(client, ends, got):
    status, text = client({**QUESTION, "zoom": {"wavelengths": ends}})
    assert status == 400
    assert text.decode().startswith(f"This question cannot be answered: {RANGE}{got}")


def test_a_page_without_finer_points_answers_a_zoom_as_it_answers_without(client):
    zoomed = client({**QUESTION, "zoom": {"wavelengths": [-3, 5.5], "gone": [0, 1]}})
    assert zoomed == client(QUESTION)


class Notes(exchange.Desk):
    """A page that writes down what is worked out, and waits in between where it is told to."""

    route = "posviz/notes"

    def __init__(self):
        self.worked = []
        self.began = threading.Semaphore(0)
        self.go_on = threading.Event()

    def reset(self, view):
        return {"x": 0.0}

    def take(self, view, sent):
        if sent.get("x", 0) < 0:
            raise ParameterError("x must be at least 0.")
        return {"x": sent.get("x", view["x"])}

    def zoomed(self, view, zoom):
        return {**view, "zoom": zoom} if zoom else view

    def values(self, view):
        return {"x": view["x"]}

    def question(self, view):
        return {"source": "", "layer": ""}

    def opened(self, question):
        return {"x": 0.0}

    def panels(self, view):
        self.began.release()
        assert self.go_on.wait(20)
        self.worked.append(view)
        return {}

    def nothing(self, view):
        return {}

    identity = address = legend = controls = texts = standing = nothing


def answered(session, request):
    desk = Notes()
    desk.go_on.set()
    return exchange.answer(desk, session, request)


def test_a_session_keeps_the_zoom_until_a_request_comes_without():
    session = exchange.Session({"x": 0.0})
    request = {"seq": 1, "values": {"x": 2.0}, "zoom": {"a": [1, 10.5]}}
    assert answered(session, request)["zoom"] == {"a": (1.0, 10.5)}
    assert session.view == {"x": 2.0, "zoom": {"a": (1.0, 10.5)}}
    assert answered(session, request)["zoom"] == {"a": (1.0, 10.5)}
    assert "zoom" not in answered(session, {"seq": 2, "values": {"x": 2.0}})
    assert session.view == {"x": 2.0}


def test_a_reset_and_a_view_of_the_page_forget_the_zoom():
    session = exchange.Session({"x": 0.0})
    zoom = {"a": [1, 10.5]}
    answered(session, {"seq": 1, "zoom": zoom})
    assert "zoom" not in answered(session, {"seq": 2, "zoom": zoom, "action": "reset"})
    answered(session, {"seq": 3, "zoom": zoom})
    session.open({"x": 1.0})
    assert "zoom" not in answered(session, None)


@pytest.mark.parametrize(("ends", "got"), FORGED)
def test_a_session_refuses_a_forged_zoom_in_words_and_keeps_its_view(ends, got):
    session = exchange.Session({"x": 5.0})
    reply = answered(session, {"seq": 1, "values": {"x": 2.0}, "zoom": {"wavelengths": ends}})
    assert [one["text"] for one in reply["problems"]] == [
        f"{RANGE}{got}. The plots still show the settings before."
    ]
    assert session.view == {"x": 5.0}


@pytest.mark.parametrize("zoom", [None, 3, "a", [], [["a", [1, 2]]]])
def test_a_session_refuses_a_zoom_that_is_no_object(zoom):
    session = exchange.Session({"x": 5.0})
    (problem,) = answered(session, {"seq": 1, "zoom": zoom})["problems"]
    assert problem["text"].startswith("zoom must be an object of ranges, got ")


@pytest.fixture
def desk(monkeypatch):
    """A page of this process, whose route is asked without a server."""
    page = types.ModuleType("notes_page")
    page.DESK = Notes()
    monkeypatch.setitem(sys.modules, "notes_page", page)
    monkeypatch.setitem(server._DESKS, "notes", "notes_page")
    monkeypatch.setattr(server, "_slots", asyncio.Semaphore(server.MOST_AT_ONCE))
    monkeypatch.setattr(server, "_newest", server.Newest())
    return page.DESK


async def ask(x, **more):
    """The status of the answer to one question, as the route gives it."""
    body = json.dumps({"source": "", "values": {"x": x}, **more}).encode()

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {"type": "http", "method": "POST", "path_params": {"page": "notes"}, "headers": []}
    return (await server._asked(Request(scope, receive))).status_code


async def while_busy(desk, *questions):
    """The status of each question, asked in this order while all slots are taken."""
    busy = [asyncio.create_task(ask(0)) for _ in range(server.MOST_AT_ONCE)]
    for _ in busy:
        await asyncio.to_thread(desk.began.acquire)
    asked = []
    for question in questions:
        asked.append(asyncio.create_task(question))
        await asyncio.sleep(0)
    await asyncio.sleep(0.1)
    desk.go_on.set()
    assert await asyncio.gather(*busy) == [200] * server.MOST_AT_ONCE
    statuses = await asyncio.gather(*asked)
    return statuses, sorted(view["x"] for view in desk.worked if view["x"])


def test_of_the_questions_that_a_board_asks_while_slots_are_busy_the_newest_is_worked_out(desk):
    questions = [ask(n, seq=n, board="one") for n in range(1, 6)]
    other = ask(20, seq=1, board="two")
    statuses, worked = asyncio.run(while_busy(desk, *questions[:3], other, *questions[3:]))
    assert statuses == [204, 204, 204, 200, 204, 200]
    assert worked == [5, 20]


def test_a_question_that_was_overtaken_on_its_way_is_not_worked_out(desk):
    questions = [ask(n, seq=n, board="one") for n in (5, 3)]
    assert asyncio.run(while_busy(desk, *questions)) == ([200, 204], [5])


def test_of_five_questions_at_once_the_running_ones_and_the_newest_are_worked_out(desk):
    async def five():
        first = [asyncio.create_task(ask(n, seq=n, board="one")) for n in (1, 2)]
        for _ in first:
            await asyncio.to_thread(desk.began.acquire)
        others = [asyncio.create_task(ask(10, board="two")) for _ in range(2)]
        for _ in others:
            await asyncio.to_thread(desk.began.acquire)
        rest = [asyncio.create_task(ask(n, seq=n, board="one")) for n in (3, 4, 5)]
        await asyncio.sleep(0.1)
        desk.go_on.set()
        return await asyncio.gather(*first, *others, *rest)

    assert asyncio.run(five()) == [200, 200, 200, 200, 204, 204, 200]
    assert sorted(view["x"] for view in desk.worked) == [1, 2, 5, 10, 10]


def test_questions_without_a_board_are_all_worked_out(desk):
    questions = [ask(n, seq=n) for n in (1, 2, 3)]
    assert asyncio.run(while_busy(desk, *questions)) == ([200] * 3, [1, 2, 3])


def test_the_numbers_of_few_boards_are_kept_and_of_those_that_asked_last():
    newest = server.Newest(most=2)
    for board, number in (("a", 5), ("b", 5), ("a", 4), ("c", 5)):
        newest.note({"board": board, "seq": number})
    assert newest.overtakes({"board": "a", "seq": 4})
    assert not newest.overtakes({"board": "a", "seq": 5})
    assert not newest.overtakes({"board": "b", "seq": 4})
    assert newest.overtakes({"board": "c", "seq": 4})
