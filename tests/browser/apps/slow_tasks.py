"""What the page lab_jobs.py has done in a worker process."""

import os
import time

import numpy as np

from posviz.lab.errors import LabError
from posviz.lab.workers import Progress


def count(report, steps, pause):
    """Count slowly; the partial result is a curve that grows."""
    for step in range(1, steps + 1):
        curve = np.sin(np.arange(step * 10) / 20)
        report(Progress(step, steps, f"step {step} of process {os.getpid()}", partial=curve))
        time.sleep(pause)
    return np.sin(np.arange(steps * 10) / 20)


def refuse(report):
    raise LabError("slow_tasks: *steps* must be at most 9; got 10.")
