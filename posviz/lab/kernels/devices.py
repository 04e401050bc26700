"""What this machine has: devices, number formats, free memory, and a compiler for FlexAttention."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import shutil
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from posviz.lab.errors import LabError

SHARE_OF_FREE = 0.8
_CLEAR = Path("/proc/self/clear_refs")
_STAT = Path("/proc/stat")
_M_MMAP_THRESHOLD = -3
"""malloc.h"""
_SMALLEST_MAPPED = 1 << 20


@dataclass(frozen=True)
class DeviceFacts:
    """One device that torch can use here.

    Attributes
    ----------
    kind : cpu, cuda or mps.
    name : what its maker calls it.
    dtypes : number formats that attention runs in.
    free_bytes : memory that is free now, or None where nobody tells.
    no_flex : why FlexAttention is not compiled here; empty where it is.
    """

    kind: str
    name: str
    dtypes: tuple[str, ...]
    free_bytes: int | None
    no_flex: str


def devices() -> tuple[DeviceFacts, ...]:
    """Every device that is here, the CPU first."""
    kinds = ["cpu"]
    kinds += ["cuda"] if torch.cuda.is_available() else []
    kinds += ["mps"] if torch.backends.mps.is_available() else []
    return tuple(_facts(kind) for kind in kinds)


def chosen_device(kind: str, dtype: str) -> DeviceFacts:
    """The device that was asked for; LabError where it is not here or lacks the number format."""
    here = {one.kind: one for one in devices()}
    if kind not in here:
        raise LabError(
            f"Kernels: device must be one that torch finds here, {' or '.join(here)}; got '{kind}'."
        )
    if dtype not in here[kind].dtypes:
        raise LabError(
            f"Kernels: dtype must be {', '.join(here[kind].dtypes)} on {kind}; got '{dtype}'."
        )
    return here[kind]


def free_memory(kind: str) -> int | None:
    """Bytes that are free on the device now, or None where nobody tells."""
    if kind == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    if kind == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return _free_on_the_machine()


def _facts(kind: str) -> DeviceFacts:
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16", "float64")
    if kind == "mps":
        dtypes = dtypes[:3]
    if kind == "cuda" and not torch.cuda.is_bf16_supported():
        dtypes = ("float32", "float16", "float64")
    name = torch.cuda.get_device_name() if kind == "cuda" else processor()
    return DeviceFacts(kind, name, dtypes, free_memory(kind), _no_flex(kind))


def _no_flex(kind: str) -> str:
    if kind == "mps":
        return "FlexAttention is not compiled for MPS by this torch."
    if kind == "cuda":
        if importlib.util.find_spec("triton") is None:
            return "FlexAttention on CUDA needs Triton, which is not installed here."
        if torch.cuda.get_device_capability() < (7, 0):
            return "FlexAttention needs a GPU of compute capability 7.0 or above."
        return ""
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "cl")), "")
    if not compiler or not shutil.which(compiler):
        return "FlexAttention on a CPU needs a C++ compiler (g++ or clang++), and none is here."
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        return "FlexAttention on a CPU needs Python's headers (Python.h), and they are not here."
    return ""


def processor() -> str:
    """The processor as the machine names it, with the cores that this process may use."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = named[0] if named else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"


def _free_on_the_machine() -> int | None:
    """What the system can give, or a container's limit where that is less."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return None
    fields = dict(line.split(":", 1) for line in info.read_text(encoding="ascii").splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and (most := limit.read_text().strip()) != "max":
        free = min(free, max(0, int(most) - int(used.read_text())))
    return free


class PeakMemory:
    """Most memory during a call, beyond what was held before it.

    CUDA's allocator keeps that number itself. On Linux the peak of the process's resident set is
    set back and read again. From the first time on, tensors are given pages of their own, since
    memory that the C library keeps after use would hide what is used anew. Elsewhere nobody tells.
    (The profiler of torch 2.13 told it too, and crashed in a thread now and then.)
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @property
    def how(self) -> str:
        """What the number is, in words."""
        if self._kind == "cuda":
            return "Memory: peak of torch's CUDA allocator beyond what was allocated before."
        if self._is_resident:
            return (
                "Memory: peak of the process's resident set during one call beyond what it held "
                "before (VmHWM of Linux, set back for each point); steps below about 1 MB are not "
                "told apart. Every tensor of 1 MB or more has pages of its own, whose making is "
                "part of the time."
            )
        return "Memory: not measured, since this system does not tell the peak of a call."

    @property
    def _is_resident(self) -> bool:
        return self._kind == "cpu" and _CLEAR.exists()

    def during(self, call: Callable[[], Any]) -> tuple[Any, int | None]:
        """The call's result and its peak in bytes; None where nobody tells."""
        if self._kind == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            result = call()
            torch.cuda.synchronize()
            return result, int(torch.cuda.max_memory_allocated()) - before
        if not self._is_resident:
            return call(), None
        _give_back()
        _CLEAR.write_text("5")  # proc(5): sets VmHWM to VmRSS
        before = _status("VmRSS")
        result = call()
        return result, max(0, _status("VmHWM") - before)


def _give_back() -> None:
    """Hand freed memory back to the system, and let large tensors be handed back when freed."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # glibc; others map large ones anyway
        library.mallopt(_M_MMAP_THRESHOLD, _SMALLEST_MAPPED)
        library.malloc_trim(0)


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LabError(f"Kernels: /proc/self/status does not tell {name}.")


def warm(kind: str, dtype: torch.dtype) -> None:
    """Have the device get ready, so that the first point is not charged with it.

    The libraries of a GPU load their code and take a workspace with the first product; on a CPU the
    threads are started.
    """
    one = torch.ones(2, 2, 64, 64, dtype=dtype, device=kind)
    torch.softmax(one @ one, -1)
    torch.nn.functional.scaled_dot_product_attention(one, one, one)
    synchronize(kind)


def load() -> float | None:
    """Processes that ran or waited in the last minute, in the mean, or None where nobody tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


class Others:
    """How busy other processes keep the machine, from the making of the object on."""

    def __init__(self) -> None:
        self._before = self._now()

    def cores(self) -> float | None:
        """Cores that they have used, in the mean; None where nobody tells."""
        now = self._now()
        if now is None or self._before is None:
            return None
        passed, busy = now[0] - self._before[0], now[1] - self._before[1]
        return round(max(0.0, busy / passed), 2) if passed > 0 else None

    @staticmethod
    def _now() -> tuple[float, float] | None:
        """The time, and the seconds of all cores that were not this process's."""
        if not _STAT.exists():
            return None
        ticks = [int(part) for part in _STAT.read_text(encoding="ascii").split()[1:9]]
        idle = ticks[3] + ticks[4]
        of_all = (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")
        own = os.times()
        own_seconds = own.user + own.system + own.children_user + own.children_system
        return time.monotonic(), of_all - own_seconds


def synchronize(kind: str) -> None:
    """Wait until the device has done what it was given."""
    if kind == "cuda":
        torch.cuda.synchronize()
    elif kind == "mps":
        torch.mps.synchronize()
