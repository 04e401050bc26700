"""One reply to the browser as bytes: a JSON header, then the arrays it speaks of.

Layout: length of the header (uint32, little endian), header (UTF-8 JSON), zeros up to a multiple
of 4, then the arrays one after the other. In the header an array stands as ``{"f32": [offset,
count]}`` or ``{"i32": [offset, count]}``, with ``"shape"`` when it has several axes; offsets are
bytes from the end of the padding.

What is long carries an ``"id"``, a hash of its content. The browser says which ids it still holds,
and what it holds is sent as ``{"ref": id}``: curves and texts that did not change travel once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Below these sizes an id costs more than it saves.
_LONG_ARRAY = 24
_LONG_TEXT = 160
_INT32 = np.iinfo(np.int32)


def pack(header: Mapping[str, Any], known: Collection[str] = ()) -> bytes:
    """Write a header and every array inside it as one packet.

    Floating arrays become float32 (NaN and infinities survive), whole numbers int32, anything else
    a list. Plotly's own ``{"dtype", "bdata"}`` form counts as an array.

    Parameters
    ----------
    header : mapping
        What :func:`posviz.ui.live.board` draws; dicts, lists, text, numbers and NumPy arrays.
    known : collection of str
        Ids that the browser holds (``known`` of its request); sent as references.

    Raises
    ------
    ValueError
        When a number outside an array is NaN or infinite: JSON has no word for it.
    TypeError
        When a value is none of the above.
    """
    writer = _Writer(known)
    text = json.dumps(
        writer.plain(header), allow_nan=False, ensure_ascii=False, separators=(",", ":")
    ).encode()
    padding = b"\0" * (-len(text) % 4)
    return b"".join([struct.pack("<I", len(text)), text, padding, *writer.blocks])


class _Writer:
    def __init__(self, known: Collection[str]) -> None:
        self.known = frozenset(known)
        self.blocks: list[bytes] = []
        self.size = 0
        self.sent: dict[str, dict[str, Any]] = {}

    def plain(self, value: Any) -> Any:
        """The value with arrays and long texts replaced by what stands for them."""
        if isinstance(value, str):
            return self._text(value) if len(value) >= _LONG_TEXT else value
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            if value.keys() >= {"dtype", "bdata"}:
                return self._array(_plotly_array(value))
            return {str(key): self.plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(item) for item in value]
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return self.plain(value.item())
        raise TypeError(f"a packet cannot hold {type(value).__name__}")

    def _text(self, text: str) -> dict[str, Any]:
        return self._once(_digest(b"s", text.encode()), lambda: {"s": text})

    def _array(self, array: NDArray[Any]) -> Any:
        form = _form(array)
        if form is None:
            return self.plain(array.tolist())
        name, block = form
        shape = {"shape": list(array.shape)} if array.ndim != 1 else {}
        if array.size < _LONG_ARRAY:
            return {**self._block(name, block), **shape}
        return self._once(
            _digest(f"{name}{array.shape}".encode(), block.tobytes()),
            lambda: {**self._block(name, block), **shape},
        )

    def _once(self, digest: str, write: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if digest in self.known:
            return {"ref": digest}
        if digest not in self.sent:
            self.sent[digest] = {**write(), "id": digest}
        return self.sent[digest]

    def _block(self, name: str, block: NDArray[Any]) -> dict[str, Any]:
        entry = {name: [self.size, int(block.size)]}
        self.blocks.append(block.tobytes())
        self.size += block.nbytes
        return entry


def _form(array: NDArray[Any]) -> tuple[str, NDArray[Any]] | None:
    if array.dtype.kind in "iu":
        fits = array.size == 0 or (array.min() >= _INT32.min and array.max() <= _INT32.max)
        if fits:
            return "i32", np.ascontiguousarray(array, dtype="<i4")
    elif array.dtype.kind != "f":
        return None
    # A picture cannot show a number beyond float32's range; it is drawn as infinite, a gap.
    with np.errstate(over="ignore", under="ignore"):
        return "f32", np.ascontiguousarray(array, dtype="<f4")


def _plotly_array(value: Mapping[str, Any]) -> NDArray[Any]:
    array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
    shape = value.get("shape")
    if shape is None:
        return array
    sizes = shape.split(",") if isinstance(shape, str) else shape
    return array.reshape([int(size) for size in sizes])


def _digest(kind: bytes, data: bytes) -> str:
    digest = hashlib.blake2b(kind, digest_size=6)
    digest.update(data)
    return digest.hexdigest()
