"""One reply to the browser as bytes: a JSON header, then the arrays it speaks of.

Layout: length of the header (uint32, little endian), header (UTF-8 JSON), zeros up to a multiple
of 4, then the arrays one after the other. In the header an array stands as ``{"f32": [offset,
count]}`` or ``{"i32": [offset, count]}``, with ``"shape"`` when it has several axes; offsets are
bytes from the end of the padding.

The values ``z`` of a trace of the type "heatmap" travel as one byte for each cell, 0 for a blank
(NaN) one and 1 … 255 for ``zmin`` … ``zmax``, row by row, deflated: ``{"heat": [offset, bytes,
rows, columns]}``. The bytes of the block end at a multiple of 4.

What is long carries an ``"id"``, a hash of its content. The browser says which ids it still holds,
and what it holds is sent as ``{"ref": id}``: curves and texts that did not change travel once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Below these sizes an id costs more than it saves.
_LONG_ARRAY = 24
_LONG_TEXT = 160
_HEAT_STEPS = 254
_INT32 = np.iinfo(np.int32)


def pack(header: Mapping[str, Any], known: Collection[str] = ()) -> bytes:
    """Write a header and every array inside it as one packet.

    Floating arrays become float32 (NaN and infinities survive), whole numbers int32, anything else
    a list. Plotly's own ``{"dtype", "bdata"}`` form counts as an array. A heat map's ``z`` is
    rounded to 255 levels; what lies outside ``zmin`` … ``zmax`` has the colour of the end, as in
    plotly.

    Parameters
    ----------
    header : mapping
        What :func:`posviz.ui.live.board` draws; dicts, lists, text, numbers and NumPy arrays.
    known : collection of str
        Ids that the browser holds (``known`` of its request); sent as references.

    Raises
    ------
    ValueError
        When a number outside an array is NaN or infinite: JSON has no word for it. When a heat map
        is not a matrix of len(y) × len(x) cells between a finite ``zmin`` and a larger ``zmax``.
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
            if value.get("type") == "heatmap" and "z" in value:
                value = {**value, "z": self._heat(value)}
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

    def _heat(self, trace: Mapping[str, Any]) -> dict[str, Any]:
        levels = _levels(trace)

        def write() -> dict[str, Any]:
            packed = zlib.compress(levels.tobytes(), 1)
            entry = {"heat": [self.size, len(packed), *levels.shape]}
            self._append(packed + b"\0" * (-len(packed) % 4))
            return entry

        return self._once(_digest(f"heat{levels.shape}".encode(), levels.tobytes()), write)

    def _once(self, digest: str, write: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if digest in self.known:
            return {"ref": digest}
        if digest not in self.sent:
            self.sent[digest] = {**write(), "id": digest}
        return self.sent[digest]

    def _block(self, name: str, block: NDArray[Any]) -> dict[str, Any]:
        entry = {name: [self.size, int(block.size)]}
        self._append(block.tobytes())
        return entry

    def _append(self, block: bytes) -> None:
        self.blocks.append(block)
        self.size += len(block)


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


def _levels(trace: Mapping[str, Any]) -> NDArray[np.uint8]:
    """A byte for each cell of a heat map: 0 where it is NaN, else its place from zmin to zmax."""
    lacking = [name for name in ("x", "y", "zmin", "zmax") if name not in trace]
    if lacking:
        raise ValueError(f"a heat map needs {' and '.join(lacking)}")
    x, y, z = (_as_array(trace[name]) for name in "xyz")
    low, high = trace["zmin"], trace["zmax"]
    if z.shape != (y.size, x.size) or not z.size:
        raise ValueError(f"a heat map needs z of shape {(y.size, x.size)}, got {z.shape}")
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"a heat map needs a finite zmin below zmax, got {low} and {high}")
    # In place and in float32, which is exact to far less than a level: this runs for every update.
    step = _HEAT_STEPS / (high - low)
    places = np.multiply(z, step, dtype=np.float32)
    places += np.float32(1.5 - low * step)
    np.minimum(places, np.float32(_HEAT_STEPS + 1), out=places)
    np.maximum(places, np.float32(1), out=places)  # keeps NaN
    np.fmax(places, np.float32(0), out=places)  # makes NaN 0
    levels: NDArray[np.uint8] = places.astype(np.uint8)
    return levels


def _as_array(value: Any) -> NDArray[Any]:
    """Numbers that a trace may give as an array, a list, or in plotly's own form."""
    if isinstance(value, Mapping):
        return _plotly_array(value)
    return np.asarray(value, dtype=float)


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
