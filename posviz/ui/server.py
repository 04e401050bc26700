"""Routes beside Streamlit's own: numbers for a live board, without running a page.

While a control moves, a board asks here. The answer is a pure function of the question, so no
session is involved, nothing waits for a page to run, and any replica can give it. Streamlit hears
of the new values when the control comes to rest.

A question waits for a slot when many are asked at once. A board that asks again meanwhile no
longer needs the answer, so a question that is not its board's newest when it gets its slot is
answered at once with status 204, without a body and without being worked out.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from posviz.parameters import is_finite_number

LARGEST_QUESTION = 200_000
"""Bytes; a question holds the values of all controls and, at most, a packed configuration."""

MOST_AT_ONCE = 4
"""Answers worked out at a time: at the longest target each takes some 400 MB until it is sent."""

MOST_BOARDS = 4096
"""Boards whose newest question is remembered, those that asked last."""

LONGEST_BOARD_NAME = 64

_OPTIONAL_TEXTS = (
    *("layer", "compared", "runtime", "wanted"),
    *("epoch", "controls_key", "texts_key", "board"),
)
_slots = asyncio.Semaphore(MOST_AT_ONCE)


class Newest:
    """The number of the newest question of each board; of the boards that asked last."""

    def __init__(self, most: int = MOST_BOARDS) -> None:
        self._most = most
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def note(self, question: Mapping[str, Any]) -> None:
        """A question has come."""
        if board := question.get("board"):
            number: int = question.get("seq", 0)
            self._numbers[board] = max(number, self._numbers.get(board, number))
            self._numbers.move_to_end(board)
            if len(self._numbers) > self._most:
                self._numbers.popitem(last=False)

    def overtakes(self, question: Mapping[str, Any]) -> bool:
        """Whether a newer question of the same board has come since."""
        number: int = question.get("seq", 0)
        return self._numbers.get(question.get("board", ""), number) > number


_newest = Newest()


_DESKS = {
    "context_extension": "posviz.ui.context_extension.board",
    "explore": "posviz.ui.results_board.explore",
    "compare": "posviz.ui.results_board.compare",
    "attention": "posviz.ui.attention.desk",
}
"""Page to the module whose DESK answers for it, read when the first question comes: the server
listens before the parts of the pages are imported, and nobody asks before a page was shown."""


def routes() -> list[Route]:
    """What the app adds to Streamlit's routes."""
    return [Route("/posviz/{page}", _asked, methods=["POST"])]


async def _asked(request: Request) -> Response:
    page = request.path_params["page"]
    if page not in _DESKS:
        return PlainTextResponse("There is no such page.", status_code=404)
    _send_without_delay(request)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_QUESTION:
            return PlainTextResponse("The question is too large.", status_code=413)
    try:
        question = _question(body)
    except ValueError as error:
        return _refusal(error)
    _newest.note(question)
    async with _slots:
        if _newest.overtakes(question):
            return Response(status_code=204)
        return await run_in_threadpool(_answer, page, question)


def _send_without_delay(request: Request) -> None:
    """Switch Nagle's algorithm off for this connection, where the server lets us reach it.

    The head and the body of an answer are two writes. Streamlit opens its listening socket in a way
    that asyncio does not recognise as TCP, so Nagle's algorithm stays on and holds the second write
    until the first is acknowledged: 40 ms for an answer that took 15.
    """
    transport = getattr(getattr(request.receive, "__self__", None), "transport", None)
    connection = transport.get_extra_info("socket") if transport is not None else None
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _answer(page: str, question: Mapping[str, Any]) -> Response:
    from posviz.ui.exchange import live_answer
    from posviz.ui.live.packet import pack

    desk = importlib.import_module(_DESKS[page]).DESK
    try:
        reply = live_answer(desk, question)
    except ValueError as error:
        return _refusal(error)
    packet = pack(reply, known=question.get("known") or ())
    return Response(packet, media_type="application/octet-stream")


def _refusal(error: ValueError) -> Response:
    sentence = str(error).rstrip(".")
    return PlainTextResponse(f"This question cannot be answered: {sentence}.", status_code=400)


def _question(body: bytes) -> Mapping[str, Any]:
    """The question in a body, every field of the type that the answer relies on."""
    try:
        question = json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(question, dict):
        raise ValueError("a question must be an object")
    _check_text(question.get("source"), "source")
    for name in _OPTIONAL_TEXTS:
        _check_text(question.get(name, ""), name)
    if type(question.get("seq", 0)) is not int:
        raise ValueError("seq must be a whole number")
    for name, value in _object(question, "values").items():
        _check_value(value, f"values.{name}")
    for name, value in _object(question, "have").items():
        _check_text(value, f"have.{name}")
    _object(question, "zoom")  # its ranges are checked where they are used
    if len(question.get("board", "")) > LONGEST_BOARD_NAME:
        raise ValueError(f"board must be text of at most {LONGEST_BOARD_NAME} characters")
    known = question.get("known") or []
    if not isinstance(known, list) or not all(isinstance(one, str) for one in known):
        raise ValueError("known must be a list of texts")
    return question


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _object(question: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = question.get(name) or {}
    if not isinstance(found, dict):
        raise ValueError(f"{name} must be an object")
    if not all(_can_be_sent(key) for key in found):
        raise ValueError(f"{name} must have names without half characters")
    return found


def _check_value(value: Any, name: str) -> None:
    if isinstance(value, str):
        _check_text(value, name)
    elif value is None or isinstance(value, bool):
        return
    elif not isinstance(value, int | float):
        raise ValueError(f"{name} must be text, a number, true, false or null")
    elif not is_finite_number(value):
        raise ValueError(f"{name} must be a finite number")


def _check_text(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text")
    if not _can_be_sent(value):
        raise ValueError(f"{name} must be text without half characters")


def _can_be_sent(text: str) -> bool:
    """Whether UTF-8 can write it: JSON can hold one half of a surrogate pair, an answer cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
