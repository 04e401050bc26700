"""Several methods as one run: overall progress, and a refusal that stops nothing."""

from __future__ import annotations

import pytest

from posviz.lab.extension import several
from posviz.lab.workers import Cancelled, Progress
from posviz.parameters import ParameterError


def test_a_method_that_cannot_be_run_is_said_and_the_others_are_measured(monkeypatch):
    def measure(report, *, link, length):
        if link == "nonsense":
            raise ParameterError("There is no encoding 'nonsense'.")
        report(Progress(0, length, "begun"))
        report(Progress(length, length, "read", f"half of {link}"))
        return f"{link} to {length}"

    monkeypatch.setattr(several, "measure", measure)
    told = []
    found, problems = several.measure_all(
        told.append, links=["rope", "nonsense", "yarn"], length=10
    )
    assert found == ("rope to 10", "yarn to 10")
    assert problems == {"nonsense": "There is no encoding 'nonsense'."}
    assert [(one.done, one.total) for one in told] == [(0, 30), (10, 30), (20, 30), (30, 30)]
    assert told[-1].note == "yarn, 3 of 3: read"
    assert [one.partial for one in told] == [
        (),
        ("half of rope",),
        ("rope to 10",),
        ("rope to 10", "half of yarn"),
    ]


def test_a_cancelled_run_ends(monkeypatch):
    def grid(report, *, link):
        report(Progress(1, 2))

    def report(progress):
        raise Cancelled

    monkeypatch.setattr(several, "grid", grid)
    with pytest.raises(Cancelled):
        several.grid_all(report, links=["rope", "yarn"])
