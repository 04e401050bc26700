"""Messages between the server and a worker: pickles, each after its length (8 bytes).

To the worker: ("run", number, job as a pickle), ("cancel", number). From it: ("ready",),
("started", number), ("progress" | "done", number, pickle), ("failed", number, sentence, traceback),
("cancelled", number). What a task makes is pickled by itself, so that a message can always be read.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import IO, Any

from posviz.lab.errors import LabError

_LENGTH = struct.Struct("<Q")
_UNREADABLE = (
    *(pickle.UnpicklingError, EOFError, ImportError, AttributeError),
    *(LookupError, TypeError, ValueError),
)
_HEAVY = frozenset({"torch", "transformers", "jax", "cupy"})


def write(stream: IO[bytes], *message: Any) -> None:
    """Send one message."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def read(stream: IO[bytes]) -> tuple[Any, ...] | None:
    """The next message; None where the other side has gone, also in the middle of one."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        return None
    return tuple(pickle.loads(body))


def packed(value: Any, what: str) -> bytes:
    """A value that somebody else made, as a pickle.

    Raises
    ------
    LabError : it cannot be pickled; ``what`` names it.
    """
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise LabError(f"{what} cannot be sent between processes: {error}.") from error


class _Light(pickle.Unpickler):
    """Refuses what would load a heavy package into the process of the pages."""

    def find_class(self, module: str, name: str) -> Any:
        top = module.partition(".")[0]
        if top in _HEAVY:
            raise LabError(f"it holds an object of {top} ({name}), and only plain data may travel")
        return super().find_class(module, name)


def unpacked(data: bytes, what: str) -> Any:
    """The value in a pickle that a worker sent.

    Raises
    ------
    LabError : it cannot be read here; ``what`` names it.
    """
    try:
        return _Light(io.BytesIO(data)).load()
    except _UNREADABLE as error:
        raise LabError(f"{what} cannot be read: {error}.") from error
