"""Small tasks, imported by the worker processes of the tests."""

import functools
import os
import subprocess
import sys
import time
import types
from dataclasses import dataclass

import numpy as np

from posviz.lab.errors import LabError
from posviz.lab.workers import Progress
from posviz.lab.workers.limit import sharers
from posviz.parameters import ParameterError


@dataclass(frozen=True)
class Point:
    x: float


def add(report, a, b):
    report(Progress(1, 1))
    return a + b


def who(report):
    return os.getpid()


@functools.lru_cache
def _loaded():
    return {"times": 0}


def load(report):
    _loaded()["times"] += 1
    return _loaded()["times"]


def settings(report):
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return {name: os.environ.get(name) for name in names}


def reads(report, path):
    with open(path) as file:
        return file.read()


def share(report):
    return sharers()


def count(report, steps=200, pause=0.05, start=0, sign=None):
    """Count slowly; the partial result is what was counted."""
    for step in range(start, steps):
        report(Progress(step, steps, f"step {step}", partial=list(range(step))[-20:]))
        time.sleep(pause)
    return list(range(start, steps))


def wait_for(report, path):
    """Until a file is there."""
    while not os.path.exists(path):
        report(Progress(0, 1))
        time.sleep(0.02)
    return path


def deaf(report, seconds=60.0):
    """Never hears that it was cancelled, and has a child that would outlive it."""
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])
    report(Progress(0, 1, str(child.pid)))
    time.sleep(seconds)


def die(report, status):
    os._exit(status)


def kill_itself(report, number):
    os.kill(os.getpid(), number)
    time.sleep(10)


def prints(report):
    """What libraries do: on Python's streams, and below them."""
    print("to the standard output")
    os.write(1, b"to the number 1\n")
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return "clean"


def big(report, megabytes):
    return np.arange(megabytes * 131072, dtype=np.float64)


def data(report):
    return Point(2.5)


def unsendable(report):
    return lambda: None


def unsendable_partial(report):
    report(Progress(0, 1, partial=lambda: None))


def heavy_result(report):
    sys.modules["torch"] = _sham_torch()
    return Sham()


class Sham:
    """Looks like an object of torch to whoever reads it."""

    def __reduce__(self):
        return sys.modules["torch"].device, ("cpu",)


def _sham_torch():
    def device(name):
        return name

    device.__module__ = "torch"
    device.__qualname__ = "device"
    module = types.ModuleType("torch")
    module.device = device
    return module


def heavy_partial(report):
    sys.modules["torch"] = _sham_torch()
    report(Progress(0, 1, partial=Sham()))
    time.sleep(60)


def refuses(report, kind):
    raise {"lab": LabError, "parameter": ParameterError}[kind]("kernels: length must be at most 9.")


def fails(report):
    report(Progress(3, 10, "on the way", partial="three"))
    report(Progress(4, 10, "on the way", partial="four"))
    raise KeyError("a name")


def out_of_memory(report):
    raise MemoryError


NO_FUNCTION = 3
