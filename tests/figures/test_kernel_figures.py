"""Figures of a kernel comparison."""

import numpy as np
import pytest

from posviz.figures import Series
from posviz.figures.lab.kernel_memory import kernel_memory

LENGTHS = np.array([512.0, 1024.0])


def test_points_on_the_floor_lie_around_each_other_and_none_hides_another():
    lines = [
        Series("low", 2, (LENGTHS, np.array([0.2, 3.0]))),
        Series("lower", 4, (LENGTHS, np.array([0.1, 0.4]))),
        Series("high", 0, (LENGTHS, np.array([5.0, 50.0]))),
    ]
    drawn = kernel_memory.build(lines, floor=1.0).data
    floor = [one for one in drawn if one.get("marker", {}).get("symbol") == "triangle-down-open"]
    assert [(one["name"], list(one["x"])) for one in floor] == [
        ("low", [512]),
        ("lower", [512, 1024]),
    ]
    assert all((one["y"] == pytest.approx(1.0)) for one in floor)
    small, large = (one["marker"]["size"] for one in floor)
    assert large - small >= 4
