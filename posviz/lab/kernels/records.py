"""What a comparison of kernels gives, as plain data that can be stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from posviz.lab.json_files import write_whole

FORMAT = 1
STORED = Path(__file__).resolve().parent / "stored"


@dataclass(frozen=True)
class Point:
    """One kernel at one length.

    Attributes
    ----------
    kernel : its name in :data:`posviz.lab.kernels.shape.KERNELS`.
    length : tokens.
    refused : why it was not run, in a sentence; empty where it was.
    seconds : median of the repetitions, the rotation of q and k not counted.
    repetitions : how often it was timed.
    made_seconds : what is made once before the calls and is not in ``seconds``: the matrix of bias,
        window and causal mask that the naive kernel and SDPA are given, or FlexAttention's mask of
        blocks.
    compile_seconds : what the first call of a kernel that is compiled takes beyond the others.
    peak_bytes : most memory beyond what was held before, matrices made for it counted in; None
        where this device does not tell.
    error : difference from the core's float64 attention, of the output that uses most of its
        tolerance; None where it was not compared.
    tolerance : what the number format allows that output, see ``posviz.lab.kernels.reference``.
    control : the largest difference over tolerance that leaving the encoding out would make; None
        where it cannot be left out, or where it changes nothing.
    rows_compared : queries whose outputs were compared, of each head.
    note : what else a reader must know of this point.
    """

    kernel: str
    length: int
    refused: str = ""
    seconds: float | None = None
    repetitions: int = 0
    made_seconds: float = 0.0
    compile_seconds: float = 0.0
    peak_bytes: int | None = None
    error: float | None = None
    tolerance: float | None = None
    control: float | None = None
    rows_compared: int = 0
    note: str = ""

    @property
    def share(self) -> float | None:
        """The part of its tolerance that the output which is furthest uses."""
        if self.error is None or not self.tolerance:
            return None
        return self.error / self.tolerance

    @property
    def is_within(self) -> bool | None:
        """Whether the error is at most the tolerance; None where it was not compared."""
        if self.error is None or self.tolerance is None:
            return None
        return self.error <= self.tolerance


@dataclass(frozen=True)
class KernelRun:
    """All points of one comparison, and the facts that are needed to read them.

    Attributes
    ----------
    plan : the arguments of :class:`posviz.lab.kernels.KernelPlan`, defaults left out.
    title : of the encoding.
    shape : batch, heads and head_dim that were run.
    device : its name.
    encoding_seconds : length to the seconds that the core took to rotate q and k or to make the
        bias by distance, as [length, seconds].
    points : in the order in which they were run.
    notes : what is true of the whole run, in sentences.
    facts : versions, threads, processor, what the memory number is, and more.
    """

    plan: Mapping[str, Any]
    title: str
    shape: Mapping[str, int]
    device: str
    encoding_seconds: tuple[tuple[int, float], ...] = ()
    points: tuple[Point, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def link(self) -> str:
        return str(self.plan["link"])

    def of(self, kernel: str) -> tuple[Point, ...]:
        """The points of one kernel that were run, by length."""
        chosen = [one for one in self.points if one.kernel == kernel and not one.refused]
        return tuple(sorted(chosen, key=lambda one: one.length))

    @property
    def refused(self) -> tuple[Point, ...]:
        return tuple(one for one in self.points if one.refused)

    def to_plain(self) -> dict[str, Any]:
        """Plain data that JSON can hold; :meth:`from_plain` reads it back."""
        return {**asdict(self), "plan": dict(self.plan), "facts": dict(self.facts)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> KernelRun:
        return cls(
            plan=dict(plain["plan"]),
            title=plain["title"],
            shape=dict(plain["shape"]),
            device=plain["device"],
            encoding_seconds=tuple((int(at), float(s)) for at, s in plain["encoding_seconds"]),
            points=tuple(Point(**point) for point in plain["points"]),
            notes=tuple(plain["notes"]),
            facts=dict(plain["facts"]),
        )


def write_runs(path: Path, runs: list[KernelRun], command: str) -> None:
    """Store comparisons with the command that makes them again."""
    plain = {"format": FORMAT, "command": command, "runs": [run.to_plain() for run in runs]}
    write_whole(path, plain, allow_nan=False)


def read_runs(path: Path) -> tuple[str, tuple[KernelRun, ...]]:
    """The command and the comparisons of a stored file."""
    plain = json.loads(path.read_text(encoding="utf-8"))
    return plain["command"], tuple(KernelRun.from_plain(one) for one in plain["runs"])
