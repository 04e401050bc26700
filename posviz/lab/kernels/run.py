"""The comparison: every kernel at every length, within a budget of time and memory."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import posviz
from posviz.encodings.base import Encoding
from posviz.lab.kernels import devices, flex, naive, reference, sdpa
from posviz.lab.kernels.budget import GIB, Budget, Sizes, predicted_bytes
from posviz.lab.kernels.prepare import Prepared, inputs, kind_of, positions_for, prepare, shaped
from posviz.lab.kernels.records import KernelRun, Point
from posviz.lab.kernels.shape import KERNELS, KernelPlan
from posviz.lab.kernels.watched import Watch, measured, timed
from posviz.lab.workers import Progress, Report
from posviz.lab.workers.limit import sharers
from posviz.parameters import ParameterError
from posviz.results import AttentionTerms, MatrixBias, PositionTable, RelativeRotation

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
ENCODING = "encoding"
"""The name under which the budget keeps what the encoding itself takes."""


def measure(report: Report, **plan: Any) -> KernelRun:
    """Run a :class:`KernelPlan`, given by its fields; each point is reported when it is there.

    Raises
    ------
    ParameterError, LabError : a plan, a link or a device that cannot be used, a result that says
        nothing about attention.
    """
    return _Comparison(KernelPlan(**plan), report).run()


@dataclass(frozen=True)
class _Kernel:
    """One variant: why it cannot run, what it makes once, and the call that is timed."""

    why_not: Callable[[Prepared], str]
    make: Callable[[Prepared], Any]
    call: Callable[[Prepared, Any], torch.Tensor]


def _nothing(prepared: Prepared) -> None:
    return None


def _matrix(prepared: Prepared) -> torch.Tensor | None:
    """What SDPA with a matrix is given, so that the naive kernel is timed for the same."""
    return None if prepared.is_own or not sdpa.has_matrix(prepared) else sdpa.matrix(prepared)


def _flex_made(prepared: Prepared) -> tuple[flex.Flex, Callable[..., Any]]:
    return flex.made(prepared), flex.compiled()


class _Comparison:
    """The state of one run."""

    def __init__(self, plan: KernelPlan, report: Report) -> None:
        self.plan = plan
        self._report = report
        self.device = devices.chosen_device(plan.device, plan.dtype)
        spec, heads, head_dim = shaped(posviz.parse(plan.link), plan.heads, plan.head_dim)
        self.spec: Encoding = spec
        self.dtype = DTYPES[plan.dtype]
        self.sizes = Sizes(plan.batch, heads, head_dim, self.dtype.itemsize)
        self.budget = Budget(
            plan.most_seconds,
            int(plan.most_memory * GIB),
            lambda: devices.free_memory(plan.device),
            devices.SHARE_OF_FREE,
            sharers(),
        )
        self.load = devices.load()
        self.others = devices.Others()
        self.points: list[Point] = []
        self.watch = Watch(lambda: None)
        self.encoding_seconds: list[tuple[int, float]] = []
        self.total = len(plan.all_lengths) * len(plan.kernel_names)
        self.kernels = {
            "naive": _Kernel(lambda _: "", _matrix, naive.naive),
            "naive_blocks": _Kernel(_not_in_blocks, _nothing, lambda p, _: self._in_blocks(p)),
            "sdpa": _Kernel(sdpa.why_not_plain, _nothing, lambda p, _: sdpa.plain(p)),
            "sdpa_matrix": _Kernel(sdpa.why_not_matrix, sdpa.matrix, sdpa.with_matrix),
            "flex": _Kernel(
                self._not_flex, _flex_made, lambda p, made: flex.run(p, made[0], made[1])
            ),
        }

    def run(self) -> KernelRun:
        # What is compiled comes last, so that a slow compiler takes no time from the others.
        names = self.plan.kernel_names
        devices.warm(self.plan.device, self.dtype)
        for group in ([name for name in names if name != "flex"], ["flex"] * ("flex" in names)):
            for length in self.plan.all_lengths if group else ():
                self._at(length, group)
        return self.record()

    def record(self) -> KernelRun:
        """What is there so far."""
        sizes = self.sizes
        return KernelRun(
            plan=self.plan.arguments,
            title=self.spec.title,
            shape={"batch": sizes.batch, "heads": sizes.heads, "head_dim": sizes.head_dim},
            device=self.device.name,
            encoding_seconds=tuple(self.encoding_seconds),
            points=tuple(self.points),
            notes=tuple(_notes(self.spec)),
            facts={**facts(self.plan), "load": self.load, "others": self.others.cores()},
        )

    def _look(self, note: str) -> None:
        self._report(Progress(len(self.points), self.total, note))

    def _watch(self, note: str) -> Watch:
        self.watch = Watch(lambda: self._look(note))
        return self.watch

    def _at(self, length: int, names: Sequence[str]) -> None:
        refusal = self._refused_encoding(length)
        if not refusal:
            try:
                prepared, compared = self._prepared(length)
            except ParameterError as error:
                refusal = str(error)
        for name in names:
            label = f"{KERNELS[name]}, {length:,} tokens"
            self._look(label)
            point = (
                Point(name, length, refused=refusal)
                if refusal
                else self._point(name, length, prepared, compared, label)
            )
            self.points.append(point)
            self._report(Progress(len(self.points), self.total, label, self.record()))

    def _refused_encoding(self, length: int) -> str:
        """Why the encoding itself, or the tensors, may not be made at this length."""
        sizes = self.sizes
        tensors = 8 * sizes.batch * sizes.heads * length * sizes.head_dim * 8
        pairs = _pairs(self.spec, length)
        power = 2 if pairs else 1
        return self.budget.refusal(ENCODING, length, tensors + 8 * pairs, power=power)

    def _prepared(self, length: int) -> tuple[Prepared, reference.Reference | str]:
        note = f"The encoding, {length:,} tokens"
        plan, sizes = self.plan, self.sizes
        work = torch.float32 if plan.device == "mps" else torch.float64
        positions = positions_for(self.spec, length)
        shape = (sizes.batch, sizes.heads, length, sizes.head_dim)
        made = inputs(self.spec, positions, shape, plan.seed)
        queries, keys, values = (one.to(plan.device, self.dtype) for one in made)
        given = (queries, keys, values)
        done = measured(
            lambda: prepare(self.spec, positions, given, is_causal=plan.is_causal, work=work),
            self._watch(note),
            plan.device,
        )
        self.budget.learn(ENCODING, length, done.seconds, done.peak_bytes)
        if length not in dict(self.encoding_seconds):
            self.encoding_seconds.append((length, done.seconds))
        prepared: Prepared = done.result
        self.sizes = replace(sizes, has_bias=prepared.has_bias)
        return prepared, self._compared(positions, given, prepared)

    def _compared(
        self, positions: np.ndarray, given: Any, prepared: Prepared
    ) -> reference.Reference | str:
        if problem := reference.why_not(self.spec, positions):
            return problem
        note = f"The core's attention in float64, {len(positions):,} tokens"
        found: reference.Reference = measured(
            lambda: reference.reference(self.spec, positions, given, is_causal=prepared.is_causal),
            self._watch(note),
            "cpu",
        ).result
        return found

    def _point(
        self,
        name: str,
        length: int,
        prepared: Prepared,
        compared: reference.Reference | str,
        label: str,
    ) -> Point:
        kernel = self.kernels[name]
        if problem := kernel.why_not(prepared):
            return Point(name, length, refused=problem)
        compiling = max((one.compile_seconds for one in self.points), default=0.0)
        needed = predicted_bytes(name, length, self.sizes)
        extra = compiling if name == "flex" else 0.0
        if problem := self.budget.refusal(name, length, needed, extra):
            return Point(name, length, refused=problem)
        try:
            return self._measured(name, length, prepared, compared, label)
        except (torch.OutOfMemoryError, MemoryError) as error:
            return Point(name, length, refused=f"Memory ran out: {_first_line(error)}")
        except _COMPILER_ERRORS as error:
            if name != "flex":
                raise
            return Point(name, length, refused=f"It did not compile: {_first_line(error)}")

    def _measured(
        self,
        name: str,
        length: int,
        prepared: Prepared,
        compared: reference.Reference | str,
        label: str,
    ) -> Point:
        kernel, device = self.kernels[name], self.plan.device
        watch = self._watch(label)

        def first() -> tuple[Any, torch.Tensor, float]:
            begun = time.perf_counter()
            made = kernel.make(prepared)
            devices.synchronize(device)
            making = time.perf_counter() - begun
            return made, kernel.call(prepared, made), making

        whole = measured(first, watch, device)
        made, found, making = whole.result
        left = self.budget.most_seconds - self.budget.elapsed
        seconds, count = timed(lambda: kernel.call(prepared, made), watch, device, max(left, 1e-3))
        peak = whole.peak_bytes
        if name == "flex" and peak is not None:
            # The compiler's memory is not the kernel's: what a second call takes is.
            peak = measured(lambda: kernel.call(prepared, made), watch, device).peak_bytes
        self.budget.learn(name, length, seconds, peak)
        point = Point(
            name,
            length,
            seconds=seconds,
            repetitions=count,
            peak_bytes=peak,
            made_seconds=0.0 if made is None else making,
            compile_seconds=max(0.0, whole.seconds - making - seconds) if name == "flex" else 0.0,
        )
        if isinstance(compared, str):
            return replace(point, note=compared)
        furthest = compared.compared(found)
        if not math.isfinite(furthest.error):
            return replace(point, note="The output holds numbers that are not finite.")
        return replace(
            point,
            error=furthest.error,
            tolerance=furthest.tolerance,
            control=compared.control(self.dtype),
            rows_compared=len(compared.rows),
        )

    def _in_blocks(self, prepared: Prepared) -> torch.Tensor:
        return naive.in_blocks(prepared, tick=self.watch.go_on)

    def _not_flex(self, prepared: Prepared) -> str:
        if problem := flex.why_not(prepared) or self.device.no_flex:
            return problem
        if self.dtype == torch.float64:
            return "FlexAttention is not compiled for float64."
        return ""


def _not_in_blocks(prepared: Prepared) -> str:
    if prepared.is_own:
        return f"{prepared.spec.title} makes the logits of a whole sequence at once."
    return ""


_COMPILER_ERRORS = (
    torch._dynamo.exc.TorchDynamoException,
    torch._inductor.exc.InductorError,
    NotImplementedError,
)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


def _pairs(spec: Encoding, length: int) -> int:
    """Numbers over all pairs that the core makes; a remapped rotation makes them by blocks."""
    kind = kind_of(spec, positions_for(spec, 1))
    return 0 if issubclass(kind, RelativeRotation) else spec.matrix_numbers(length)


def _notes(spec: Encoding) -> list[str]:
    """What is true of the whole run, by the kind of the result."""
    kind = kind_of(spec, positions_for(spec, 1))
    found = [reference.TOLERANCE_REASON]
    if issubclass(kind, PositionTable):
        found.append(
            f"{spec.title} meets the input before the projections: what runs is plain attention on "
            "queries, keys and values that were projected from inputs that hold it."
        )
    if issubclass(kind, AttentionTerms):
        found.append(
            f"{spec.title} makes its logits from the content: what runs is the core's own "
            "attention on torch tensors, whole, as far as the memory allows."
        )
    if issubclass(kind, RelativeRotation):
        found.append(
            f"{spec.title} changes the distance itself: the products are the core's, a block of "
            "queries against all keys, pair of dimensions by pair."
        )
    if issubclass(kind, MatrixBias):
        found.append(
            f"The bias of {spec.title} depends on more than the distance: the core makes it whole, "
            "and every kernel reads it from there."
        )
    caution = spec.caution()
    return found + ([caution] if caution else [])


def facts(plan: KernelPlan) -> dict[str, Any]:
    """Versions and settings that the numbers depend on."""
    return {
        "posviz": posviz.__version__,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda or "",
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": devices.processor(),
        "threads": torch.get_num_threads(),
        "seed": plan.seed,
        "memory": devices.PeakMemory(plan.device).how,
    }
