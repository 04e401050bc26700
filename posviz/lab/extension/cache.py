"""Results and half-finished runs on disk; light.

A run's key is the hash of all that its numbers depend on. What is finished is one JSON file,
``<key>.json``; what is not is a folder, ``<key>.part``, with one file per chunk. Every file is
written beside its place and then moved there, so that a process killed at any moment leaves whole
files only, and the next run goes on after the last of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posviz.parameters import is_finite_number

FOLDER = "POSVIZ_CACHE"
"""Environment variable: where results are kept, in place of the user's cache folder."""
FORMAT = 1
"""Raised whenever the code changes the numbers that come out: older files are then left alone."""
MOST_BYTES = 8 << 30
"""A half-finished run over 12,288 tokens of SmolLM2-135M takes 570 MB, a finished one 200 kB."""
BUSY_SECONDS = 1800
"""A half-finished run with a chunk so young may be going on elsewhere: it is left alone."""
STALE_DAYS = 14
"""A half-finished run that nobody has gone on with for so long is removed by the next one."""
_TEMPORARY = ".new-"


def folder() -> Path:
    """POSVIZ_CACHE, or the user's cache folder."""
    given = os.environ.get(FOLDER, "").strip()
    if given:
        return Path(given).expanduser() / "extension"
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return Path.home() / ".cache" / "posviz" / "extension"
    return user_cache_path("posviz") / "extension"


def key_of(about: Mapping[str, Any]) -> str:
    """The name of a run: the hash of all that its numbers depend on, as JSON."""
    text = json.dumps({"format": FORMAT, **about}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@dataclass
class Cache:
    """A folder of results.

    A folder that cannot be written is no reason to stop: ``problem`` then says so, once, and
    everything goes on without it.
    """

    root: Path = field(default_factory=folder)
    most_bytes: int = MOST_BYTES
    problem: str = ""

    def read(self, key: str) -> dict[str, Any] | None:
        """A finished result, or None. A file that cannot be read is one that is not there."""
        try:
            found = json.loads((self.root / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def write(self, key: str, result: Mapping[str, Any]) -> None:
        """Keep a finished result and remove what is left of its run."""
        text = json.dumps(result, ensure_ascii=False)
        self._put(self.root / f"{key}.json", lambda path: path.write_text(text, encoding="utf-8"))
        shutil.rmtree(self.root / f"{key}.part", ignore_errors=True)

    def parts(self, key: str) -> tuple[Path, ...]:
        """The chunks of a half-finished run, from the first on without a gap."""
        found: list[Path] = []
        while (path := self._part(key, len(found))).is_file():
            found.append(path)
        return tuple(found)

    def write_part(self, key: str, number: int, write: Callable[[Path], Any], size: int) -> None:
        """Keep a chunk that ``write`` puts into a file of about ``size`` bytes."""
        if self.problem:
            return
        if number and not self._part(key, number - 1).is_file():
            self.problem = (
                f"The run cannot be resumed after a kill: its earlier chunks in {self.root} were "
                "removed."
            )
            return
        if not self._make_room(size, but=key):
            self.problem = (
                f"The run cannot be resumed after a kill: its chunks do not fit into the "
                f"{self.most_bytes / 1e9:.3g} GB of {self.root}."
            )
            return
        self._put(self._part(key, number), write)

    def drop(self, path: Path) -> None:
        """Remove a chunk that cannot be read; :meth:`parts` then ends before it."""
        path.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Bytes of all that is kept."""
        return sum(size for _, _, size in self._entries())

    def clear(self) -> int:
        """Remove everything; returns the bytes."""
        freed = self.size
        for path, _, _ in self._entries():
            _remove(path)
        return freed

    def _part(self, key: str, number: int) -> Path:
        return self.root / f"{key}.part" / f"{number:05}.safetensors"

    def _put(self, path: Path, write: Callable[[Path], Any]) -> None:
        """The whole file or none. What cannot be written is said in ``problem``."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY)
            os.close(handle)
            try:
                write(Path(name))
                os.replace(name, path)
            finally:
                Path(name).unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self.problem = f"Nothing can be kept in {self.root}: {reason}. The run goes on without."

    def _entries(self) -> list[tuple[Path, float, int]]:
        """Results and half-finished runs, the oldest first: path, time of change, bytes."""
        try:
            found = [path for path in self.root.iterdir() if path.suffix in (".json", ".part")]
            found += [path for path in self.root.iterdir() if path.name.startswith(_TEMPORARY)]
        except OSError:
            return []
        return sorted((_entry(path) for path in found), key=lambda entry: entry[1])

    def _make_room(self, size: int, *, but: str) -> bool:
        """Remove stale runs, then others until ``size`` more bytes are within the limit.

        Half-finished runs go first, the oldest before the others, and then results: a run is large
        and can be made again. One that seems to go on in another process stays.
        """
        now = time.time()
        for path, changed, _ in self._entries():
            if changed < now - STALE_DAYS * 86400 and path.suffix != ".json" and path.stem != but:
                _remove(path)
        entries = self._entries()
        total = sum(bytes_ for _, _, bytes_ in entries) + size
        for path, changed, bytes_ in sorted(entries, key=lambda one: one[0].suffix == ".json"):
            if total <= self.most_bytes:
                break
            is_going_on = path.suffix != ".json" and changed > now - BUSY_SECONDS
            if path.stem != but and not is_going_on:
                _remove(path)
                total -= bytes_
        return total <= self.most_bytes


def is_row(value: Any, length: int) -> bool:
    """Whether what was read is a list of so many finite numbers."""
    return isinstance(value, list) and len(value) == length and all(map(is_finite_number, value))


def _entry(path: Path) -> tuple[Path, float, int]:
    files = [path, *(path.iterdir() if path.is_dir() else ())]
    found = [_stat(file) for file in files]
    return path, max(changed for changed, _ in found), sum(size for _, size in found)


def _stat(path: Path) -> tuple[float, int]:
    """Time of change and size; another process may have removed the file meanwhile."""
    try:
        found = path.stat()
    except OSError:
        return 0.0, 0
    return found.st_mtime, found.st_size if path.is_file() else 0


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
