"""Reads a file's header from front to back, and never past its end or past the bounds set here."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from posviz.configs.errors import ConfigError

MAX_HEADER_BYTES = 256 << 20
"""Ten times the longest vocabularies in use; a header that claims more is no header."""
MAX_TEXTS = 5_000_000
"""Entries of all text arrays together; the longest vocabularies and merge lists have a million."""
MAX_KEPT_BYTES = 16 << 20
_CHUNK = 1 << 18


class Stream:
    """A position in an open file. Every step is checked against the file's size first."""

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self._file = file
        self.size = size
        self.name = name
        self.position = 0
        self.byte_order = "<"
        self._texts_left = MAX_TEXTS
        self._kept_left = MAX_KEPT_BYTES

    def error(self, reason: str) -> ConfigError:
        return ConfigError(f"{self.name} cannot be read as GGUF: {reason}.")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self._check(count)
        data = self._file.read(count)
        if len(data) != count:
            raise self.error("it became shorter while it was being read")
        self.position += count
        return data

    def skip(self, count: int) -> None:
        self._check(count)
        self._file.seek(count, os.SEEK_CUR)
        self.position += count

    def number(self, code: str) -> Any:
        """The next number, by its letter in :mod:`struct`."""
        layout = struct.Struct(self.byte_order + code)
        return layout.unpack(self.take(layout.size))[0]

    def numbers(self, code: str, count: int) -> list[Any]:
        """The next numbers, which stay in memory."""
        self.keep(32 * count)
        data = self.take(count * struct.calcsize(self.byte_order + code))
        return list(self.unpacked(code, count, data))

    def unpacked(self, code: str, count: int, data: bytes) -> tuple[Any, ...]:
        return struct.unpack(f"{self.byte_order}{count}{code}", data)

    def keep(self, count: int) -> None:
        """Count bytes that stay in memory, and stop before they are too many."""
        self._kept_left -= count
        if self._kept_left < 0:
            raise self.error("its metadata hold more than 16 MB beside the vocabulary")

    def skip_texts(self, count: int) -> None:
        """Pass an array of texts: each is a length of 8 bytes and as many bytes as it says."""
        self._check(8 * count)
        self._texts_left -= count
        if self._texts_left < 0:
            raise self.error(f"its text arrays have more than {MAX_TEXTS:,} entries")
        length_at = struct.Struct(self.byte_order + "Q").unpack_from
        while count:
            chunk = self._file.read(_CHUNK)
            at, last = 0, len(chunk) - 8
            while count and at <= last:
                at += 8 + length_at(chunk, at)[0]
                count -= 1
            if not at:
                raise self._ends()
            self._check(at)
            self.position += at
            self._file.seek(self.position)

    def tensor_bytes(self, position: int, count: int, name: str) -> bytes:
        """Bytes of one small tensor; the place in the header does not change."""
        if position + count > self.size:
            raise self.error(
                f"the tensor {name} would end at byte {position + count}, past the end of the "
                f"file at byte {self.size}"
            )
        self._file.seek(position)
        data = self._file.read(count)
        if len(data) != count:
            raise self.error("it became shorter while it was being read")
        return data

    def _check(self, count: int) -> None:
        if self.position + count > self.size:
            raise self._ends()
        if self.position + count > MAX_HEADER_BYTES:
            raise self.error(f"its header would be longer than {MAX_HEADER_BYTES >> 20} MB")

    def _ends(self) -> ConfigError:
        return self.error(f"it ends inside its header, after {self.size} bytes")


@contextmanager
def open_stream(source: Path | bytes) -> Iterator[Stream]:
    """A stream over a regular file or over bytes.

    Raises
    ------
    ConfigError : no such file, or no regular file: a folder or a pipe is refused, not waited for.
    """
    if isinstance(source, bytes):
        yield Stream(BytesIO(source), len(source), "This file")
        return
    name = f"The file {source}"
    with _opened(source, name) as file:
        try:
            yield Stream(file, os.fstat(file.fileno()).st_size, name)
        except OSError as error:
            raise _unreadable(name, error) from None


def _opened(source: Path, name: str) -> BinaryIO:
    try:
        if stat.S_ISREG(os.stat(source).st_mode):
            return source.open("rb", buffering=_CHUNK)
    except OSError as error:
        raise _unreadable(name, error) from None
    except ValueError:  # a name with a zero character in it
        raise ConfigError(f"{name!r:.80} cannot be read: that is no name of a file.") from None
    raise ConfigError(f"{name} cannot be read as GGUF: it is no regular file.")


def _unreadable(name: str, error: OSError) -> ConfigError:
    return ConfigError(f"{name} cannot be read: {error.strerror or type(error).__name__}.")
