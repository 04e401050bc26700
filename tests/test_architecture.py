"""What the layers promise beyond what import-linter sees: import time, and pages without maths."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]

# Processor time: what else the machine does, other tests above all, does not count.
LOAD = """
import json, sys, time
started = time.process_time()
import numpy, pydantic
needed = time.process_time()
import posviz
count = len(posviz.catalog())
ratio = (time.process_time() - needed) / (needed - started)
print(json.dumps({"ratio": ratio, "count": count, "modules": list(sys.modules)}))
"""


def load_catalog() -> dict[str, object]:
    # More threads make NumPy's import, and it alone, take longer.
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    output = subprocess.run(
        [sys.executable, "-c", LOAD], check=True, capture_output=True, text=True, cwd=ROOT, env=env
    ).stdout
    return dict(json.loads(output))


def test_the_catalog_loads_soon_and_without_any_heavy_package() -> None:
    loads = [load_catalog() for _ in range(5)]
    heavy = {
        "streamlit",
        "plotly",
        "torch",
        "pandas",
        "transformers",
        "scipy.signal",
        "scipy.stats",
    }
    assert heavy & set(loads[0]["modules"]) == set()
    assert loads[0]["count"] > 0
    # Our own part, in the time of what it stands on: about 3.
    assert min(float(load["ratio"]) for load in loads) < 4.5


def imported_by(path: Path) -> set[str]:
    """Top-level names of the packages that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or ".").partition(".")[0])
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_imports_only_streamlit_and_posviz(page: Path) -> None:
    assert imported_by(page) <= {"streamlit", "posviz", "__future__"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_opens_with_the_call_that_sets_it_up(page: Path) -> None:
    statements = ast.parse(page.read_text(encoding="utf-8")).body
    if isinstance(statements[-1], ast.If):  # app.py is the server, too: its page is one branch
        assert ast.unparse(statements[-1].test) == "__name__ == '__main__'"
        statements = statements[-1].body
    imports = (ast.Import, ast.ImportFrom)
    first = next(
        node
        for node in statements
        if not isinstance(node, imports) and ast.get_docstring(ast.Module([node], [])) is None
    )
    assert ast.unparse(first).startswith("frame.open_page(")


@pytest.mark.parametrize("package", ["streamlit", "plotly", "torch", "transformers"])
def test_each_heavy_package_is_imported_only_in_its_rooms(package: str) -> None:
    rooms = {"streamlit": {"ui"}, "plotly": {"figures", "ui"}}.get(package, {"lab"})
    source = ROOT / "posviz"
    importing = {
        path.relative_to(source).parts[0]
        for path in source.rglob("*.py")
        if package in imported_by(path)
    }
    assert importing <= rooms


def rooms_of_the_lab(*folders: str) -> list[str]:
    """The modules of posviz.lab that are imported somewhere in these folders of posviz."""
    names: set[str] = set()
    for path in [file for folder in folders for file in (ROOT / "posviz" / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
    return sorted(name for name in names if name.startswith("posviz.lab") and is_module(name))


def is_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


HEAVY = """
import sys
print(sorted({"torch", "transformers", "accelerate", "dask"} & set(sys.modules)))
"""

RUN_PAGES = f"""
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=120).run()
assert not app.exception, app.exception
for page in sys.argv[1:]:
    app.switch_page(page).run()
    assert not app.exception, (page, app.exception)
{HEAVY}"""


def test_what_pages_and_figures_import_of_the_lab_is_light() -> None:
    names = rooms_of_the_lab("ui", "figures", "docs")
    assert "posviz.lab.workers" in names
    code = "\n".join(f"import {name}" for name in names) + HEAVY
    assert python(code) == "[]"


def test_no_page_loads_torch_or_transformers_when_it_is_shown() -> None:
    assert python(RUN_PAGES, *(f"pages/{page.name}" for page in PAGES[1:])) == "[]"


def python(code: str, *arguments: str) -> str:
    """What a fresh Python prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ).stdout.strip()
