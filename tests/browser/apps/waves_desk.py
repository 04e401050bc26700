"""A small page behind a board: waves in six lines, thinned, and four plots in one panel."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from posviz.figures import FigureSpec, theme
from posviz.parameters import ParameterError, is_finite_number
from posviz.ui import exchange
from posviz.ui.panel import Panel

LAST = 2**17
POINTS = 300


@dataclass(frozen=True)
class View:
    frequency: float = 4.0
    ranges: tuple[tuple[str, tuple[float, float]], ...] = ()

    def points(self, panel: str) -> np.ndarray:
        """As many points for the part that is looked at as for the whole."""
        return np.geomspace(*dict(self.ranges).get(panel, (1, LAST)), POINTS)


@dataclass(frozen=True)
class Words:
    title: str
    formula: str = "y"
    help: str = "What is seen."
    limits: str = "All else."


def wave(x: np.ndarray, frequency: float, line: int) -> np.ndarray:
    return np.cos(frequency * np.log(x) + line / 3) + line


def curve(x: np.ndarray, y: np.ndarray, line: int, **more: Any) -> dict[str, Any]:
    drawn = {"type": "scatter", "mode": "lines", "name": f"Line {line}", "line": theme.line(line)}
    return {**drawn, "x": x, "y": y, **more}


def one(view: View, panel_id: str, *, zooms: bool) -> Panel:
    x = view.points(panel_id)
    data = [curve(x, wave(x, view.frequency, line), line) for line in range(6)]
    layout = {
        "xaxis": {"title": {"text": "distance"}, "type": "log", "range": [0.0, np.log10(LAST)]},
        "yaxis": {"title": {"text": "score"}, "range": [-1.5, 6.5]},
    }
    title = f"Wave {panel_id}"
    return Panel(panel_id, Words(title), "distance", FigureSpec(data, layout), {}, [], zooms=zooms)


def four(view: View) -> Panel:
    """Rows and columns of one panel; the column on the right has an axis of its own below."""
    x = np.geomspace(1, LAST, POINTS)
    data, layout = [], {"height": 420}
    for place in range(4):
        number = "" if place == 0 else str(place + 1)
        row, column = divmod(place, 2)
        y = wave(x, view.frequency * (place + 1) / 2, 0)
        more = {"name": f"Head {place}", "xaxis": f"x{number}", "yaxis": f"y{number}"}
        data.append(curve(x, y, place, **more))
        across = [0.0, 0.45] if column == 0 else [0.55, 1.0]
        up = [0.56, 1.0] if row == 0 else [0.0, 0.44]
        layout[f"xaxis{number}"] = {
            "title": {"text": "distance" if row else ""},
            "type": "log", "range": [0.0, np.log10(LAST)], "domain": across, "anchor": f"y{number}",
            **({"matches": "x"} if place in (1, 2) else {}),
        }  # fmt: skip
        layout[f"yaxis{number}"] = {"domain": up, "anchor": f"x{number}", "range": [-1.2, 1.2]}
        layout[f"yaxis{number}"]["title"] = {"text": "" if column else "score"}
    return Panel("four", Words("Four heads"), "distance", FigureSpec(data, layout), {}, [])


class Waves(exchange.Desk[View]):
    route: ClassVar[str] = "posviz/waves"

    def identity(self, view: View) -> object:
        return "waves"

    def reset(self, view: View) -> View:
        return View()

    def take(self, view: View, sent: Mapping[str, Any]) -> View:
        frequency = sent.get("frequency", view.frequency)
        if not is_finite_number(frequency) or frequency <= 0:
            raise ParameterError(f"frequency must be a number above 0; got {frequency}.")
        return replace(view, frequency=float(frequency))

    def zoomed(self, view: View, zoom: Mapping[str, tuple[float, float]]) -> View:
        return replace(view, ranges=tuple(sorted(zoom.items())))

    def values(self, view: View) -> dict[str, Any]:
        return {"frequency": view.frequency}

    def address(self, view: View) -> dict[str, str]:
        return {"frequency": str(view.frequency)}

    def question(self, view: View) -> dict[str, str]:
        return {"source": "waves", "layer": ""}

    def opened(self, question: Mapping[str, Any]) -> View:
        return View()

    def legend(self, view: View) -> list[dict[str, Any]]:
        return [{"name": f"Line {line}", **theme.line(line)} for line in range(6)]

    def panels(self, view: View) -> exchange.Panels:
        ranges = dict(view.ranges)
        return {
            "fine": (
                f"{view.frequency} {ranges.get('fine')}",
                lambda: one(view, "fine", zooms=True),
            ),
            "plain": (str(view.frequency), lambda: one(view, "plain", zooms=False)),
            "four": (str(view.frequency), lambda: four(view)),
        }

    def controls(self, view: View) -> list[dict[str, Any]]:
        frequency = {
            "name": "frequency", "label": "frequency", "kind": "number", "lower": 0, "upper": None,
            "lower_included": False, "upper_included": True, "slider": [1, 10], "step": 0.1,
            "scale": "linear", "unit": "", "help": "", "integer": False, "optional": False,
            "default": 4.0,
        }  # fmt: skip
        return [{"title": "Waves", "note": "", "items": [frequency]}]

    def texts(self, view: View) -> list[dict[str, Any]]:
        return []

    def standing(self, view: View) -> object:
        return "waves"


DESK = Waves()
