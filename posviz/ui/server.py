"""Routes beside Streamlit's own: numbers for a live board, without running a page.

While a control moves, a board asks here. The answer is a pure function of the question, so no
session is involved, nothing waits for a page to run, and any replica can give it. Streamlit hears
of the new values when the control comes to rest.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
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

_OPTIONAL_TEXTS = ("layer", "epoch", "controls_key", "texts_key")
_slots = asyncio.Semaphore(MOST_AT_ONCE)


_DESKS = {
    "context_extension": "posviz.ui.context_extension.board",
    "explore": "posviz.ui.results_board.explore",
    "compare": "posviz.ui.results_board.compare",
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
    async with _slots:
        return await run_in_threadpool(_answer, page, body)


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


def _answer(page: str, body: bytes) -> Response:
    from posviz.ui.exchange import live_answer
    from posviz.ui.live.packet import pack

    desk = importlib.import_module(_DESKS[page]).DESK
    try:
        question = _question(body)
        reply = live_answer(desk, question)
    except ValueError as error:
        sentence = str(error).rstrip(".")
        return PlainTextResponse(f"This question cannot be answered: {sentence}.", status_code=400)
    packet = pack(reply, known=question.get("known") or ())
    return Response(packet, media_type="application/octet-stream")


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
