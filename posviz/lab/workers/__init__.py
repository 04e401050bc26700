"""Long work in processes of its own: a few for the whole machine, one job at a time per person.

A page starts a :class:`Job`, looks at its :class:`Status` as often as it likes and may cancel it;
the work itself is a function ``task(report, **arguments)`` in a module that only the worker
process imports. Nothing here imports torch.
"""

from posviz.lab.workers.job import Cancelled, Job, Progress, Report, Status
from posviz.lab.workers.pool import Pool

__all__ = ["Cancelled", "Job", "Pool", "Progress", "Report", "Status"]
