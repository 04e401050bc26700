"""A new encoding is one new file and its references: nothing else is edited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ENCODING = '''
"""A made-up bias: minus the square root of the distance."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from annotated_types import Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias import BiasEncoding
from posviz.parameters import Parameter
from posviz.results import Array


class MadeUp(BiasEncoding):
    """Minus strength times the square root of the distance, alike in every head."""

    title: ClassVar[str] = "Made-up root"
    year: ClassVar[int] = 1999
    sources: ClassVar[tuple[Source, ...]] = (
        Source(title="A paper that is not", authors="Nobody", year=1999, place="equation 1"),
    )
    formula: ClassVar[str] = r"B(\\delta) = -c \\sqrt{|\\delta|}"
    shows: ClassVar[str] = "A curve that falls fast at first and ever slower afterwards."
    limits: ClassVar[str] = "Nobody ever trained a model with it, so nothing is known of it."
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
distance = np.abs(positions[:, None] - positions[None, :])
matrix = np.broadcast_to(-$strength * np.sqrt(distance), ($heads, *distance.shape))
"""
    snippet_gives: ClassVar[str] = "matrix"

    strength: Annotated[
        float,
        Gt(0),
        Le(100),
        Parameter(help="How much a root of distance costs.", symbol="c", slider=(0.1, 10)),
    ] = 0.5

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        xp = array_namespace(distance)
        one = -self.strength * xp.sqrt(xp.abs(distance))
        return xp.broadcast_to(one, (self.heads, *one.shape)) + xp.zeros_like(one)
'''
REFERENCE = """{"schema": 1, "topic": "made_up", "made_with": {}, "cases": [
{"id": "made-up-by-hand", "spec": "made_up?strength=2&heads=1",
"source": {"library": "hand calculation", "version": "", "object": "-2 √δ"}, "dtype": "float64",
"params": {"positions": [0, 4, 9]}, "outputs": {"matrix": [[[0, -4, -6], [-4, 0, -4.4721359550],
[-6, -4.4721359550, 0]]]}, "tol": {"rtol": 1e-9, "atol": 0}}
]}
"""
PAGES = """
from pathlib import Path
from streamlit.testing.v1 import AppTest

def opened(page, **address):
    app = AppTest.from_file("app.py", default_timeout=120).run()
    for name, value in address.items():
        app.query_params[name] = value
    app.switch_page(page).run()
    assert not app.exception, app.exception
    assert not app.error and not app.warning
    return app

explore = opened("pages/explore.py", encoding="made_up", strength="3")
view = explore.session_state["explore"].view
assert view.values["encoding"] == "made_up" and view.values["strength"] == 3.0
assert any("Made-up root" in option for option in explore.selectbox[0].options)
assert len(explore.get("bidi_component")) == 1
compare = opened("pages/compare.py", a="made_up", b="alibi")
specs = compare.session_state["compare"].view.specs
assert [spec.title for spec in specs.values()] == ["Made-up root", "ALiBi"]
catalog = opened("pages/catalog.py")
assert any("Made-up root" in one.proto.body for one in catalog.get("html"))
from posviz import docs
texts = docs.generated(Path.cwd())
assert any(path.name == "encodings.md" and "Made-up root" in text for path, text in texts.items())
assert any(path.name == "README.md" and "Made-up root" in text for path, text in texts.items())
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with one more encoding, added by the rule and by nothing else."""
    target = tmp_path_factory.mktemp("repository")
    for name in ("posviz", "pages", "tests", "docs", "benchmarks", "scripts", ".streamlit"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("app.py", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, target / name)
    (target / "posviz/encodings/bias/made_up.py").write_text(ENCODING.lstrip())
    (target / "tests/references/made_up.json").write_text(REFERENCE)
    return target


def run(copy: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_copy_is_what_runs(copy: Path) -> None:
    found = run(copy, "-c", "import posviz; print(posviz.__file__, posviz.get('made_up').title)")
    assert found.split() == [str(copy / "posviz" / "__init__.py"), "Made-up", "root"]


def test_the_battery_runs_over_it(copy: Path) -> None:
    batteries = ("contract", "backends", "references")
    files = [f"tests/test_{name}.py" for name in batteries]
    said = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "made", *files)
    assert "test_references" not in said  # only failures name a file
    assert int(said.rpartition(" passed")[0].split()[-1]) >= 15


def test_pages_and_documentation_show_it(copy: Path) -> None:
    run(copy, "-c", PAGES)
