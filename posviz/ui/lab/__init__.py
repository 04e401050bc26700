"""What the pages of the lab share: jobs of a session, their progress, and figures in place.

A page never does the heavy work itself. In one run of its script, in this order::

    if st.button("Measure"):
        run_job("kernels", Job("posviz.lab.kernels.run:measure", {"length": 4096}))
    progress("kernels", draw=lambda status: ..., draw_result=lambda result: ...)

``progress`` looks again every second for as long as the job waits or runs, and at no other time.
When the job ends the whole page runs once more, and ``result_of("kernels")`` gives its result for
as long as the session lasts.
"""

from posviz.ui.lab.figures import figures_in_place
from posviz.ui.lab.jobs import cancel_job, job_status, result_of, run_job
from posviz.ui.lab.watch import progress

__all__ = ["cancel_job", "figures_in_place", "job_status", "progress", "result_of", "run_job"]
