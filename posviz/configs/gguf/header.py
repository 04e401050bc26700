"""A GGUF file's header: metadata and tensor names, and of the weights only what sets rotation.

The value types, the magic number and the names of keys and tensors are those of the ``gguf``
library. Its ``GGUFReader`` is not used: it makes an array of every entry of the vocabulary (seconds
and hundreds of MB for a large one), maps the whole file, and does not check lengths against the
file's size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posviz.configs.gguf.stream import Stream, open_stream
from posviz.configs.gguf.values import Value, read_key, read_value

MAX_ENTRIES = 100_000
"""Of metadata keys, and of tensors; the largest models have some thousand tensors."""
_MAX_DIMENSIONS = 4
_MAX_PAIRS = 8192


@dataclass(frozen=True)
class Header:
    """What stands in front of the weights.

    Attributes
    ----------
    architecture : general.architecture; empty where the file has none.
    metadata : values by key; long arrays and texts only as their length.
    tensors : shapes by name, as in the file: the fastest dimension first.
    divisors : values of the tensors that llama.cpp divides the rotary frequencies by, by name.
    """

    architecture: str
    version: int
    byte_order: Literal["little", "big"]
    metadata: Mapping[str, Value]
    tensors: Mapping[str, tuple[int, ...]]
    divisors: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class _Place:
    shape: tuple[int, ...]
    type_number: int
    offset: int


def rotary_tensor_names() -> tuple[str, str, str]:
    """Names of the tensors with divisors: for every length, for long and for short contexts."""
    from gguf.constants import MODEL_TENSOR, TENSOR_NAMES

    tensors = (
        MODEL_TENSOR.ROPE_FREQS,
        MODEL_TENSOR.ROPE_FACTORS_LONG,
        MODEL_TENSOR.ROPE_FACTORS_SHORT,
    )
    every, long, short = (TENSOR_NAMES[tensor] + ".weight" for tensor in tensors)
    return every, long, short


def read_header(source: Path | bytes) -> Header:
    """Read the header of a GGUF file, or of the first bytes of one.

    Raises
    ------
    ConfigError : no GGUF file of version 2 or 3, one that ends too early, or one whose header
        breaks the format or the bounds of this reader.
    """
    with open_stream(source) as stream:
        version = _version(stream)
        tensor_count, key_count = stream.number("Q"), stream.number("Q")
        for count, what in ((key_count, "metadata keys"), (tensor_count, "tensors")):
            if count > MAX_ENTRIES:
                raise stream.error(f"it claims {count} {what}; at most {MAX_ENTRIES} are read")
        metadata = _metadata(stream, key_count)
        places = _places(stream, tensor_count)
        architecture = metadata.get(_architecture_key(), "")
        return Header(
            architecture=architecture if isinstance(architecture, str) else "",
            version=version,
            byte_order="little" if stream.byte_order == "<" else "big",
            metadata=metadata,
            tensors={name: place.shape for name, place in places.items()},
            divisors=_divisors(stream, metadata, places),
        )


def _architecture_key() -> str:
    from gguf.constants import Keys

    return Keys.General.ARCHITECTURE


def _version(stream: Stream) -> int:
    from gguf.constants import GGUF_MAGIC
    from gguf.gguf_reader import READER_SUPPORTED_VERSIONS

    if not stream.size:
        raise stream.error("it is empty")
    start = stream.take(min(4, stream.size))
    magic = GGUF_MAGIC.to_bytes(4, "little")
    if not magic.startswith(start):
        raise stream.error(f"it starts with {start!r} instead of {magic!r}")
    if start != magic:
        raise stream.error(f"it ends inside its header, after {stream.size} bytes")
    number: int = stream.number("I")
    if number & 0xFFFF == 0:  # the other byte order: a version is a small number
        stream.byte_order = ">"
        number = int.from_bytes(number.to_bytes(4, "little"), "big")
    if number not in READER_SUPPORTED_VERSIONS:
        known = " and ".join(str(version) for version in READER_SUPPORTED_VERSIONS)
        raise stream.error(f"its version is {number}; versions {known} can be read")
    return number


def _metadata(stream: Stream, count: int) -> dict[str, Value]:
    result: dict[str, Value] = {}
    for index in range(count):
        key = read_key(stream, f"the name of metadata key {index + 1}")
        if key in result:
            raise stream.error(f"the key {key[:80]!r} stands in it twice")
        result[key] = read_value(stream, key)
    return result


def _places(stream: Stream, count: int) -> dict[str, _Place]:
    result: dict[str, _Place] = {}
    for index in range(count):
        name = read_key(stream, f"the name of tensor {index + 1}")
        if name in result:
            raise stream.error(f"the tensor {name[:80]!r} stands in it twice")
        dimensions = stream.number("I")
        if dimensions > _MAX_DIMENSIONS:
            raise stream.error(
                f"the tensor {name[:80]!r} has {dimensions} dimensions; at most {_MAX_DIMENSIONS} "
                "are allowed"
            )
        shape = tuple(stream.number("Q") for _ in range(dimensions))
        result[name] = _Place(shape, stream.number("I"), stream.number("Q"))
    return result


def _divisors(
    stream: Stream, metadata: Mapping[str, Value], places: Mapping[str, _Place]
) -> dict[str, tuple[float, ...]]:
    names = [name for name in rotary_tensor_names() if name in places]
    if not names:
        return {}
    alignment = _alignment(stream, metadata)
    start = -(-stream.position // alignment) * alignment
    return {name: _divisor_values(stream, start, name, places[name]) for name in names}


def _divisor_values(stream: Stream, start: int, name: str, place: _Place) -> tuple[float, ...]:
    from gguf.constants import GGMLQuantizationType

    count = math.prod(place.shape)
    if not place.shape or count != max(place.shape) or not 0 < count <= _MAX_PAIRS:
        raise stream.error(
            f"the tensor {name} must be one list of at most {_MAX_PAIRS} numbers; its shape is "
            f"{list(place.shape)}"
        )
    if place.type_number != GGMLQuantizationType.F32:
        raise stream.error(f"the tensor {name} must be F32; its type number is {place.type_number}")
    data = stream.tensor_bytes(start + place.offset, 4 * count, name)
    values = stream.unpacked("f", count, data)
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise stream.error(f"the tensor {name} must hold finite numbers above 0")
    return values


def _alignment(stream: Stream, metadata: Mapping[str, Value]) -> int:
    from gguf.constants import GGUF_DEFAULT_ALIGNMENT, Keys

    value = metadata.get(Keys.General.ALIGNMENT, GGUF_DEFAULT_ALIGNMENT)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or value & (value - 1):
        raise stream.error(f"general.alignment must be a power of two; got {value!r:.60}")
    return value
