"""Jobs in worker processes: their order, their ends, and that nothing stays behind."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tasks_for_workers import Point

from posviz.lab.errors import LabError
from posviz.lab.workers import Job, Pool, Progress
from posviz.lab.workers.limit import sharers
from posviz.lab.workers.run import Run

TASKS = "tasks_for_workers"
PATIENCE = 30.0


def task(name, **arguments):
    return Job(f"{TASKS}:{name}", arguments)


def until(condition, what="it"):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{what} did not come")


def ended(pool, owner):
    def over():
        status = pool.status(owner)
        assert status is not None
        return None if status.is_active else status

    return until(over, f"the end of {owner}'s job")


def ran(pool, name, **arguments):
    """Run a task to its end."""
    pool.submit("someone", task(name, **arguments))
    return ended(pool, "someone")


def running(pool, owner):
    return until(lambda: (status := pool.status(owner)).progress is not None and status, "a report")


def pids(pool):
    return [worker.process.pid for worker in pool._crew.workers]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            state = stat.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # a zombie, for which nobody has waited, is dead


@pytest.fixture(scope="module")
def warm():
    """One worker for the tests that leave it alive."""
    with Pool(limit=1) as pool:
        yield pool


@pytest.fixture
def make():
    pools = []

    def start(**options):
        pools.append(Pool(**{"limit": 1, **options}))
        return pools[-1]

    yield start
    for pool in pools:
        pool.close()


# --- results


def test_a_result_comes_back_and_is_kept_until_it_is_forgotten(warm):
    done = ran(warm, "add", a=2, b=3)
    assert (done.phase, done.result, done.problem, done.place) == ("done", 5, "", 0)
    assert done.progress == Progress(1, 1)
    assert warm.status("someone") == done
    warm.forget("someone")
    assert warm.status("someone") is None


def test_twenty_megabytes_and_a_dataclass_come_back_as_they_were(warm):
    array = ran(warm, "big", megabytes=20).result
    assert array.nbytes == 20 * 2**20
    assert np.array_equal(array, np.arange(array.size, dtype=float))
    assert ran(warm, "data").result == Point(2.5)


def test_what_a_task_prints_does_not_disturb_the_messages(warm, capfd):
    assert ran(warm, "prints").result == "clean"
    assert ran(warm, "add", a=1, b=1).result == 2


def test_a_worker_keeps_what_it_has_loaded(warm):
    first = ran(warm, "who").result
    assert [ran(warm, "load").result for _ in range(3)] == [1, 2, 3]
    assert ran(warm, "who").result == first


def test_large_arguments_do_not_hold_anybody_up(make):
    pool = make()
    began = time.monotonic()
    pool.submit("a", task("add", a="x" * 5_000_000, b="y"))
    assert pool.status("a").phase in ("queued", "starting")
    assert time.monotonic() - began < 0.5  # the worker has not even started to listen
    assert len(ended(pool, "a").result) == 5_000_001


def test_a_worker_has_its_share_of_the_cores_and_no_network_for_models(make, monkeypatch):
    monkeypatch.setattr("posviz.lab.workers.crew.cores", lambda: 7)
    assert ran(make(limit=2), "settings").result == {
        "OMP_NUM_THREADS": "3",
        "MKL_NUM_THREADS": "3",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


# --- failures


@pytest.mark.parametrize("kind", ["lab", "parameter"])
def test_what_a_task_refuses_is_told_in_its_own_words(warm, kind):
    failed = ran(warm, "refuses", kind=kind)
    assert (failed.phase, failed.problem) == ("failed", "kernels: length must be at most 9.")


def test_any_other_error_is_named_and_its_traceback_is_in_the_log(warm, caplog):
    failed = ran(warm, "fails")
    assert (failed.phase, failed.problem) == ("failed", "The run failed with KeyError: 'a name'.")
    assert failed.progress == Progress(4, 10, "on the way", "four")  # the newest report
    assert 'raise KeyError("a name")' in caplog.text


def test_lack_of_memory_is_told_with_what_may_help(warm):
    problem = ran(warm, "out_of_memory").problem
    assert problem == "Memory ran out (MemoryError); a smaller run may fit."


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_module_of_this_name:run", "ModuleNotFoundError: No module named 'no_module_of_this_"),
        (f"{TASKS}:nothing", "AttributeError: module 'tasks_for_workers' has no attribute"),
        (f"{TASKS}:NO_FUNCTION", "NO_FUNCTION is no function."),
    ],
)
def test_a_task_that_cannot_be_loaded_is_named(warm, name, reason):
    warm.submit("someone", Job(name))
    failed = ended(warm, "someone")
    assert failed.phase == "failed"
    assert failed.problem.startswith(f"The task {name} cannot be loaded: ")
    assert reason in failed.problem


@pytest.mark.parametrize("text", ["", "module", "module:", "a b:c", "module:f()", ":f"])
def test_a_task_is_a_module_and_a_function(text):
    with pytest.raises(LabError, match=r'task must be written "dotted\.module:function"; got'):
        Job(text)


def test_what_cannot_be_sent_is_told(warm):
    failed = ran(warm, "unsendable")
    assert failed.phase == "failed"
    assert failed.problem.startswith(f"The result of {TASKS}:unsendable cannot be sent between")
    assert ran(warm, "unsendable_partial").problem.startswith("A partial result cannot be sent")
    with pytest.raises(LabError, match=r"The arguments of .*:add cannot be sent between processes"):
        warm.submit("someone", task("add", a=lambda: None, b=1))


@pytest.mark.parametrize(
    ("name", "what"), [("heavy_result", "The result"), ("heavy_partial", "A report")]
)
def test_what_would_load_torch_into_the_pages_is_refused(make, name, what):
    pool = make()
    failed = ran(pool, name)
    assert (failed.phase, failed.problem) == (
        "failed",
        f"{what} cannot be read: it holds an object of torch (device), "
        "and only plain data may travel.",
    )
    assert ran(pool, "add", a=1, b=1).result == 2  # nothing of the refused one is in its way


# --- crashes


def test_a_killed_worker_gives_a_sentence_at_once_and_the_next_run_works(make):
    pool = make()
    pool.submit("a", task("count"))
    running(pool, "a")
    (pid,) = pids(pool)
    os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()
    failed = ended(pool, "a")
    assert time.monotonic() - killed < 2
    assert failed.phase == "failed"
    assert failed.problem.startswith(
        "The worker was ended by the system (signal 9), most likely for lack of memory; "
    )
    assert failed.progress.note.startswith("step ")  # how far it had come
    pool.submit("a", task("add", a=1, b=1))
    assert ended(pool, "a").result == 2
    assert pids(pool) != [pid]


@pytest.mark.parametrize(
    ("name", "arguments", "start"),
    [
        ("die", {"status": 3}, "The worker ended without an answer (exit status 3); "),
        ("kill_itself", {"number": 11}, "The worker crashed (SIGSEGV, signal 11); "),
    ],
)
def test_other_ends_are_told_apart(make, name, arguments, start):
    failed = ran(make(), name, **arguments)
    assert failed.phase == "failed"
    assert failed.problem.startswith(start)


def test_a_worker_that_cannot_be_started_fails_the_run_and_not_the_pool(make, monkeypatch):
    pool = make()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        assert ran(pool, "who").problem == "No worker could be started: No such file or directory."
    assert ran(pool, "add", a=1, b=1).result == 2


def test_an_idle_worker_that_dies_takes_no_run_with_it(make):
    pool = make()
    pid = ran(pool, "who").result
    os.kill(pid, signal.SIGKILL)
    status = ran(pool, "who")  # before anybody has heard of it
    assert status.phase == "done"
    assert status.result != pid


# --- as long as a job may take


def test_a_run_that_takes_too_long_is_ended_and_keeps_what_it_has_reported(make):
    pool = make(most_seconds=0.8)
    failed = ran(pool, "count")
    assert failed.phase == "failed"
    assert failed.problem.startswith("The run was ended after 1 s, the longest that this server ")
    assert "(POSVIZ_JOB_SECONDS); what was finished by then is kept." in failed.problem
    assert len(failed.progress.partial) > 2
    (pid,) = pids(pool)
    assert ran(pool, "who").result == pid  # it listened, so its worker lives on


def test_a_run_that_takes_too_long_and_does_not_listen_is_killed(make):
    pool = make(most_seconds=0.8, grace=0.2)
    failed = ran(pool, "deaf")
    assert failed.phase == "failed"
    assert "nothing was finished by then" in failed.problem
    assert ran(pool, "add", a=1, b=1).result == 2


def test_the_longest_time_comes_from_the_environment(monkeypatch):
    monkeypatch.delenv("POSVIZ_JOB_SECONDS", raising=False)
    assert Pool(limit=1).most_seconds == 1800
    monkeypatch.setenv("POSVIZ_JOB_SECONDS", "90.5")
    assert Pool(limit=1).most_seconds == 90.5
    for text in ("0", "-1", "long", "nan", "inf"):
        monkeypatch.setenv("POSVIZ_JOB_SECONDS", text)
        with pytest.raises(LabError) as refused:
            Pool(limit=1)
        assert str(refused.value) == (
            "POSVIZ_JOB_SECONDS: the seconds that one run may take must be a number from 1; "
            f"got {text!r}."
        )


@pytest.mark.skipif(not os.path.exists("/proc/self/oom_score_adj"), reason="Linux alone has it")
def test_the_system_ends_a_worker_before_the_server_when_memory_runs_out(make):
    pool = make(limit=3)
    theirs = ran(pool, "reads", path="/proc/self/oom_score_adj").result
    with open("/proc/self/oom_score_adj") as ours:
        assert int(theirs) == 1000 >= int(ours.read())
    assert ran(pool, "share").result == 3
    assert sharers() == 1


# --- the queue


def test_the_queue_is_first_come_first_served_and_tells_each_its_place(make, tmp_path):
    pool = make()
    pool.submit("a", task("wait_for", path=str(tmp_path / "a")))
    running(pool, "a")
    for owner in "bcd":
        pool.submit(owner, task("wait_for", path=str(tmp_path / owner)))
    places = [(pool.status(owner).phase, pool.status(owner).place) for owner in "abcd"]
    assert places == [("running", 0), ("queued", 1), ("queued", 2), ("queued", 3)]
    pool.cancel("c")
    assert pool.status("c").phase == "cancelled"
    assert pool.status("d").place == 2
    for owner in "abd":
        (tmp_path / owner).touch()
        assert ended(pool, owner).phase == "done"
    assert len(pids(pool)) == 1


def test_no_more_workers_than_the_limit_and_none_of_fifty_starves(make):
    pool = make(limit=2)
    owners = [f"session {number}" for number in range(50)]
    for owner in owners:
        pool.submit(owner, task("who"))
    results = [ended(pool, owner).result for owner in owners]
    assert set(results) == set(pids(pool))
    assert len(set(results)) <= 2


def test_two_run_at_once_where_two_may(make, tmp_path):
    pool = make(limit=2)
    for owner in "abc":
        pool.submit(owner, task("wait_for", path=str(tmp_path / "go")))
    for owner in "ab":
        running(pool, owner)
    assert (pool.status("c").phase, pool.status("c").place) == ("queued", 1)
    (tmp_path / "go").touch()
    assert ended(pool, "c").phase == "done"


def test_an_owner_has_one_run_at_a_time_and_a_new_one_replaces_the_old_result(make, tmp_path):
    pool = make()
    pool.submit("a", task("wait_for", path=str(tmp_path / "go")))
    with pytest.raises(LabError, match="One run at a time: your last one has not ended"):
        pool.submit("a", task("who"))
    (tmp_path / "go").touch()
    assert ended(pool, "a").result == str(tmp_path / "go")
    pool.submit("a", task("add", a=1, b=2))
    assert ended(pool, "a").result == 3


# --- cancelled


def test_a_cancelled_run_ends_at_its_next_report_and_its_worker_lives_on(make):
    pool = make()
    pool.submit("a", task("count"))
    running(pool, "a")
    before = pids(pool)
    pool.cancel("a")
    status = ended(pool, "a")
    assert (status.phase, status.problem, status.result) == ("cancelled", "", None)
    assert status.progress.partial is not None
    pool.cancel("a")  # once more changes nothing
    assert ran(pool, "add", a=1, b=1).result == 2
    assert pids(pool) == before


def test_a_run_that_does_not_listen_is_killed_with_all_that_it_started(make):
    pool = make(grace=0.3)
    pool.submit("a", task("deaf"))
    child = int(running(pool, "a").progress.note)
    (pid,) = pids(pool)
    assert is_alive(child)
    pool.cancel("a")
    assert pool.status("a").is_cancelling
    assert pool.status("a").phase == "running"
    status = ended(pool, "a")
    assert (status.phase, status.problem) == ("cancelled", "")
    until(lambda: not is_alive(pid) and not is_alive(child), "the end of both processes")


def test_a_run_whose_owner_has_gone_is_cancelled_and_forgotten(make):
    pool = make(unwanted_seconds=0.6)
    is_here = {"a": True, "b": True}
    pool.submit("a", task("count"), lambda: is_here["a"])
    pool.submit("b", task("count", steps=2), lambda: is_here["b"])
    running(pool, "a")
    is_here["a"] = False
    assert pool.status("a").phase == "running"  # it may be back in a moment
    until(lambda: pool.status("a") is None, "the end of the watch")
    assert ended(pool, "b").phase == "done"
    is_here["b"] = False
    until(lambda: pool.status("b") is None, "the end of the result")


def test_an_owner_that_cannot_be_asked_has_gone(make, caplog):
    def gone():
        raise RuntimeError("no session")

    pool = make(unwanted_seconds=0.0)
    pool.submit("a", task("count"), gone)
    until(lambda: pool.status("a") is None)
    assert "no session" in caplog.text


def test_a_short_absence_is_forgiven(make):
    pool = make(unwanted_seconds=0.5)
    is_here = itertools.cycle([False, True])
    pool.submit("a", task("count", steps=20), lambda: next(is_here))
    assert ended(pool, "a").phase == "done"


# --- ends


def test_an_idle_worker_ends(make):
    pool = make(idle_seconds=0.2)
    pid = ran(pool, "who").result
    until(lambda: not is_alive(pid), "the end of the worker")
    until(lambda: not pool._crew.workers)
    assert pool.status("someone").result == pid


def test_close_leaves_no_process_no_thread_and_no_open_file():
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    pool = Pool(limit=2)
    for owner in "abc":
        pool.submit(owner, task("deaf"))
    children = [int(running(pool, owner).progress.note) for owner in "ab"]
    workers = pids(pool)
    pool.close()
    assert [pid for pid in workers if is_alive(pid)] == []
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == files
    until(lambda: not any(map(is_alive, children)), "the end of what they had started")
    assert pool.status("a") is None
    with pytest.raises(LabError, match="closed"):
        pool.submit("a", task("who"))
    pool.close()


PARENT = """
import sys, time
from posviz.lab.workers import Job, Pool
pool = Pool(limit=1)
pool.submit("a", Job("tasks_for_workers:deaf"))
while not (status := pool.status("a")).progress:
    time.sleep(0.01)
print(pool._crew.workers[0].process.pid, flush=True)
sys.stdin.read()
"""


def test_a_worker_ends_by_itself_when_the_server_is_killed():
    path = os.pathsep.join(sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as server:
        pid = int(server.stdout.readline())
        assert is_alive(pid)
        server.kill()
    until(lambda: not is_alive(pid), "the end of the orphan")


# --- time left, and the limit


def seconds_left(reports, now, monkeypatch):
    clock = iter([0.0, *(at for at, _ in reports), now])
    monkeypatch.setattr("posviz.lab.workers.run.time.monotonic", lambda: next(clock))
    run = Run(0, "a", task("who"), b"", lambda: True, since=next(clock))
    for _, progress in reports:
        run.take(progress)
    return run.seconds_left()


def test_the_time_left_follows_from_the_reports(monkeypatch):
    at = [(10.0, Progress(0, 100)), (20.0, Progress(25, 100))]
    assert seconds_left(at, 24.0, monkeypatch) == pytest.approx(75 * 10 / 25 - 4)
    resumed = [(10.0, Progress(80, 100)), (20.0, Progress(90, 100))]
    assert seconds_left(resumed, 20.0, monkeypatch) == pytest.approx(10)
    late = [(0.0, Progress(0, 100)), (10.0, Progress(50, 100))]
    assert seconds_left(late, 30.0, monkeypatch) == 0


@pytest.mark.parametrize(
    "reports",
    [
        [],
        [(10.0, Progress(5, 100))],
        [(10.0, Progress(5, 100)), (10.5, Progress(6, 100))],
        [(10.0, Progress(0, 10)), (20.0, Progress(5, 500))],
    ],
    ids=["none", "one", "too early", "another scale"],
)
def test_no_time_left_is_made_up(reports, monkeypatch):
    assert seconds_left(reports, 60.0, monkeypatch) is None


def test_the_limit_is_half_of_the_cores_or_what_the_environment_says(monkeypatch):
    monkeypatch.setattr("posviz.lab.workers.limit.cores", lambda: 9)
    monkeypatch.delenv("POSVIZ_WORKERS", raising=False)
    assert Pool().limit == 4
    monkeypatch.setenv("POSVIZ_WORKERS", "6")
    assert Pool().limit == 6
    for text in ("0", "-1", "two", "1.5", " "):
        monkeypatch.setenv("POSVIZ_WORKERS", text)
        with pytest.raises(LabError) as refused:
            Pool()
        assert str(refused.value) == (
            "POSVIZ_WORKERS: the number of worker processes must be a whole number from 1; "
            f"got {text!r}."
        )
    with pytest.raises(LabError, match="limit must be a whole number from 1; got 0"):
        Pool(limit=0)


def test_a_report_without_a_result_so_far_leaves_the_last_one_standing():
    run = Run(1, "a", task("count"), b"", lambda: True)
    run.take(Progress(1, 3, "one", "a curve"))
    run.take(Progress(1, 3, "looking"))
    assert (run.progress.note, run.progress.partial) == ("looking", "a curve")
    run.take(Progress(2, 3, "two", "a longer curve"))
    assert run.progress.partial == "a longer curve"
