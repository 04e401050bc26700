"""Routes beside Streamlit's own: numbers for a live board, without running a page.

While a control moves, a board asks here. The answer is a pure function of the question, so no
session is involved, nothing waits for a page to run, and any replica can give it. Streamlit hears
of the new values when the control comes to rest.
"""

from __future__ import annotations

import json
import socket

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from posviz.ui.context_extension.live_answer import live_answer
from posviz.ui.live.packet import pack

LARGEST_QUESTION = 200_000
"""Bytes; a question holds the values of all controls and, at most, a packed configuration."""


def routes() -> list[Route]:
    """What the app adds to Streamlit's routes."""
    return [Route("/posviz/context_extension", _context_extension, methods=["POST"])]


async def _context_extension(request: Request) -> Response:
    _send_without_delay(request)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_QUESTION:
            return PlainTextResponse("The question is too large.", status_code=413)
    return await run_in_threadpool(_answer, body)


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


def _answer(body: bytes) -> Response:
    try:
        question = json.loads(body)
        if not isinstance(question, dict):
            raise ValueError("a question must be an object")
        reply = live_answer(question)
    except ValueError as error:
        return PlainTextResponse(f"This question cannot be answered: {error}", status_code=400)
    packet = pack(reply, known=question.get("known") or ())
    return Response(packet, media_type="application/octet-stream")
