"""Results that ship: written, read back, and made again by the command."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest

from posviz.lab.extension import __main__ as command
from posviz.lab.extension import stored
from posviz.lab.extension.cache import Cache
from posviz.lab.extension.plan import PasskeyPlan, Plan
from posviz.lab.extension.records import MEASURED, Gap, LossCurve, PasskeyGrid
from tests.lab import tiny_extension as tiny

CURVE = LossCurve(
    link="rope",
    applied="rope?base=100000",
    title="RoPE",
    positions=(1.0, 2.5),
    mean=(3.123456789, math.nan),
    low=(3.0, 2.0),
    high=(3.2, 4.0),
    counts=(2, 3),
    mean_window=3,
    trained_window=8192,
    rope_parameters={"rope_type": "default", "rope_theta": 204522.28712025366},
    total=4,
    read=4,
    within=(3.0, 0.1, 3.0),
    notes=("One.",),
    facts={"seed": 0},
)
GAP = Gap(
    link="yarn",
    against="rope",
    positions=(1.0, 2.5),
    mean=(-0.25, 0.5),
    low=(-0.5, 0.25),
    high=(0.0, 0.75),
    counts=(2, 3),
    beyond=(-0.25, 0.125, 3.0),
)
GRID = PasskeyGrid(
    link="yarn",
    applied="yarn?scaling_factor=2",
    title="YaRN",
    lengths=(2048, 4096),
    depths=(0.25, 0.75),
    **dict.fromkeys(MEASURED, ((1.0, 0.8), (math.nan, math.nan))),
    tries=1,
    trained_window=8192,
    rope_parameters={"rope_type": "yarn"},
)


def test_a_set_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    whole = stored.Stored(
        name="one", about={"model": "m"}, curves=(CURVE,), gaps=(GAP,), grids=(GRID,)
    )
    stored.write(path, whole)
    found = stored.read(path)
    (curve,), (grid,) = found.curves, found.grids
    assert curve.mean[0] == 3.12346  # six digits
    assert math.isnan(curve.mean[1])
    assert curve.rope_parameters == CURVE.rope_parameters  # settings are exact
    assert (curve.within, curve.beyond, curve.counts) == (CURVE.within, None, (2, 3))
    assert grid.right[0] == GRID.right[0]
    assert math.isnan(grid.loss[1][0])
    assert found.gaps == (GAP,)
    assert (found.name, found.about) == ("one", {"model": "m"})
    assert stored.names(tmp_path) == ("one",)
    assert [item.name for item in tmp_path.iterdir()] == ["one.json"]
    assert "NaN" not in path.read_text()


def test_a_set_that_is_not_there_is_none() -> None:
    assert stored.stored("nobody_measured_this") is None


def test_the_command_writes_every_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSVIZ_LOCAL_MODELS", "1")
    monkeypatch.setenv("POSVIZ_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text(tiny.TEXT)
    out = tmp_path / "set.json"
    arguments = [
        "--model", str(tiny.folder(tmp_path / "tiny")), "--text", str(tmp_path / "text.txt"),
        "--out", str(out), "--length", "600", "--lengths", "500", "--threads", "1",
        "--links", "rope", "yarn",
    ]  # fmt: skip
    assert command.main(arguments) == 0
    found = stored.read(out)
    assert [one.link for one in found.curves] == [one.link for one in found.grids]
    assert [one.link for one in found.curves] == ["rope", "yarn"]
    assert all(len(one.positions) <= 400 for one in found.curves)
    asked = command.parser().parse_args(shlex.split(found.about["command"])[3:])
    assert (asked.links, asked.length, asked.lengths) == (["rope", "yarn"], 600, [500])
    assert asked.what == ["loss", "passkey"]
    assert {"seed", "versions", "text_hash", "model_hash", "machine"} <= set(found.curves[0].facts)
    (gap,) = found.gaps
    assert (gap.link, gap.against) == ("yarn", "rope")
    plain, scaled = (one.beyond for one in found.curves)
    assert plain is not None
    assert scaled is not None
    assert gap.beyond is not None
    assert gap.beyond[0] == pytest.approx(scaled[0] - plain[0], abs=1e-4)
    assert gap.beyond[2] == 600 - tiny.WINDOW
    # The running mean of the differences is the difference of the running means.
    means = np.subtract(found.curves[1].mean, found.curves[0].mean)
    assert np.abs(means - gap.mean).max() < 1e-4
    printed = capsys.readouterr().out
    assert "yarn: 600 of 600 tokens" in printed
    _each_kind_alone_keeps_the_other(arguments, out)
    capsys.readouterr()
    assert command.main([*arguments[:-2], "rerope"]) == 1
    assert "ReRoPE cannot be written for transformers" in capsys.readouterr().err


def _each_kind_alone_keeps_the_other(arguments: list[str], out: Path) -> None:
    before = stored.read(out)
    for kind in ("passkey", "loss"):
        assert command.main([*arguments, "--what", kind]) == 0
        found = stored.read(out)
        for name in ("curves", "grids"):
            kept = [(one.link, one.facts["plan"]) for one in getattr(found, name)]
            assert kept == [(one.link, one.facts["plan"]) for one in getattr(before, name)]
        assert found.gaps == before.gaps
        assert found.about == before.about
    other = ["501" if one == "500" else one for one in arguments]
    assert command.main([*other, "--what", "loss"]) == 1  # the file holds other lengths
    assert stored.read(out).grids[0].lengths == (500,)


def test_the_command_empties_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSVIZ_CACHE", str(tmp_path))
    Cache().write("done", {"losses": [1.0]})
    assert command.main(["--clear"]) == 0
    assert capsys.readouterr().out == f"removed: 0.0 MB in {tmp_path / 'extension'}\n"
    assert Cache().read("done") is None


@pytest.mark.parametrize("name", stored.names())
def test_what_ships_was_measured_beyond_the_window_with_the_exported_settings(name: str) -> None:
    found = stored.stored(name)
    assert found is not None
    assert len({one.facts["text_hash"] for one in (*found.curves, *found.grids)}) == 1
    assert len({one.facts["model_hash"] for one in (*found.curves, *found.grids)}) == 1
    for curve in found.curves:
        assert curve.is_done
        assert curve.total > curve.trained_window
        assert len(curve.positions) <= 400
        assert curve.facts["settings"]["rope_parameters"] == curve.rope_parameters
    for grid in found.grids:
        assert grid.is_done
        assert max(grid.lengths) > grid.trained_window


def test_the_set_of_the_page_holds_four_methods_of_both_kinds_at_12288_tokens() -> None:
    found = stored.stored()
    assert found is not None
    assert tuple(one.link for one in found.curves) == command.METHODS
    assert tuple(one.link for one in found.grids) == command.METHODS
    assert [one.is_plain for one in found.curves] == [True, False, False, False]
    assert [one.link for one in found.gaps] == list(command.METHODS[1:])
    assert all(one.total >= 12288 and one.trained_window == 8192 for one in found.curves)
    assert all(one.beyond is not None and one.beyond[2] >= 4096 for one in found.gaps)
    assert all(8192 in one.lengths and max(one.lengths) >= 12288 for one in found.grids)
    # Where plain has left what it was trained on, YaRN and NTK-aware lose surely less.
    for gap in found.gaps:
        if gap.link.startswith(("yarn", "ntk_aware")):
            assert gap.last is not None
            assert gap.last[0] < -5 * gap.last[1]


def test_the_stored_command_asks_for_the_very_plans_that_were_stored() -> None:
    found = stored.stored()
    assert found is not None
    words = shlex.split(found.about["command"])
    assert " ".join(words[:3]) == stored.COMMAND
    asked = command.parser().parse_args(words[3:])
    for curve in found.curves:
        plan = Plan(link=curve.link, **command._loss_values(asked))
        assert curve.facts["plan"] == plan.model_dump()
    for grid in found.grids:
        keys = PasskeyPlan(link=grid.link, **command._passkey_values(asked))
        assert grid.facts["plan"] == json.loads(keys.model_dump_json())
