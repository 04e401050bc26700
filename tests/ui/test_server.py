"""The route that answers a moving control, asked over HTTP without a browser or a session."""

import json
import re
import struct
import urllib.error
import urllib.request

import numpy as np
import pytest
from local_server import running

import posviz

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
