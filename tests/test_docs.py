"""The documentation: generated parts are fresh, commands exist, examples run, links lead on."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
from pathlib import Path

import pytest

from posviz import docs
from posviz.catalog import catalog
from posviz.overview import rows

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    path for folder in (".", "docs", "benchmarks") for path in sorted((ROOT / folder).glob("*.md"))
]
# Found by their text: a component of Streamlit can be imported only inside a server.
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "posviz").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the documents that have generated parts, all of them fresh."""
    for path in docs.generated(ROOT):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        target.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for path in [*(ROOT / "benchmarks").glob("*.md"), *(ROOT / "benchmarks").glob("*.json")]:
        (tmp_path / "benchmarks" / path.name).write_text(path.read_text(encoding="utf-8"))
    docs.main([], root=tmp_path)
    return tmp_path


def test_the_check_names_each_stale_file_and_a_new_writing_mends_it(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = copy / "docs" / "encodings.md"
    page.write_text("old")
    readme = copy / "README.md"
    readme.write_text(docs.fill(readme.read_text(encoding="utf-8"), "encodings", "old"))
    assert docs.main(["--check"], root=copy) == 1
    assert capsys.readouterr().out == (
        "docs/encodings.md is stale: run `make docs`.\nREADME.md is stale: run `make docs`.\n"
    )
    docs.main([], root=copy)
    assert docs.main(["--check"], root=copy) == 0


def test_text_outside_the_markers_stays() -> None:
    text = "a<!-- begin: x -->1<!-- end: x -->b<!-- begin: y -->2<!-- end: y -->c"
    assert docs.fill(text, "x", "3") == (
        "a<!-- begin: x -->\n3\n<!-- end: x -->b<!-- begin: y -->2<!-- end: y -->c"
    )


def test_missing_markers_are_an_error() -> None:
    with pytest.raises(ValueError, match="the markers of x must stand once; found 0"):
        docs.fill("text", "x", "")


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """Encoding id to its section of the page."""
    parts = docs.encodings_page(rows()).split('<a id="')[1:]
    return {part.partition('"')[0]: part for part in parts}


def test_the_page_has_every_parameter_with_its_default_and_domain(
    sections: dict[str, str],
) -> None:
    assert list(sections) == [each.id for each in catalog()]
    for encoding, section in zip(catalog(), sections.values(), strict=True):
        cells = re.findall(r"^\| `(\w+)` \|.*$", section, re.MULTILINE)
        assert cells == [declaration.name for declaration in encoding.declarations()]
    row = next(line for line in sections["rope"].splitlines() if line.startswith("| `base` |"))
    assert "`10000`" in row
    assert "a number" in row


def test_a_section_says_what_was_misread_who_uses_it_and_how_to_compute_it(
    sections: dict[str, str],
) -> None:
    alibi = sections["alibi"]
    assert "You may have read that the slopes are 1/2, 1/4, 1/8, …: that holds for 8" in alibi
    assert "\n\nUsed in: BLOOM, MPT, Falcon-RW.\n\n" in alibi
    assert "```python\nimport numpy as np\npositions = np.arange(16.0)\n" in alibi
    assert "depends on the distance only: yes; " in alibi
    assert "Used in" not in sections["tisa"]
    for encoding in catalog():
        assert all(sentence in sections[encoding.id] for sentence in encoding.misread)


def test_the_page_starts_with_the_catalog_s_own_table() -> None:
    everything = rows()
    lines = docs.encodings_page(everything).split("\n\n")[2].splitlines()
    assert lines[0] == "| " + " | ".join(everything[0].cells) + " |"
    assert len(lines) == 2 + len(catalog())
    yarn = next(line for line in lines if "(#yarn)" in line)
    assert yarn.startswith("| [YaRN](#yarn) | extension | 2023 | rotation | designed | yes |")
    assert yarn.endswith(" | Peng et al. 2023, arXiv:2309.00071 |")


def test_the_readme_s_table_names_every_encoding_once_with_its_year() -> None:
    lines = docs.families_table(rows()).splitlines()[2:]
    named = [name for line in lines for name in line.strip("| ").split(" | ")[1].split(" · ")]
    assert sorted(named) == sorted(f"{each.title} {each.year}" for each in catalog())


def test_ratios_come_from_every_measurement_that_has_some(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"ratios": [{"what": "w", "ratio": 0.25, "asked": "≤ 1"}]}')
    (tmp_path / "b.json").write_text('{"other": 1}')
    assert docs.ratios_table(tmp_path).splitlines()[2:] == ["| w | 0.25 | ≤ 1 |"]
    assert docs.ratios_table(tmp_path / "none") == ""


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_examples_run(path: Path) -> None:
    names: dict[str, object] = {}
    for block in python_blocks(path):
        exec(compile(block, path.name, "exec"), names)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_make_targets_that_a_document_names_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    for target in sorted(
        {found for each in code for found in re.findall(r"\bmake ([a-z]+)", each)}
    ):
        result = subprocess.run(
            ["make", "--dry-run", target], cwd=ROOT, check=False, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr


def test_the_readme_starts_with_the_two_commands() -> None:
    first = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert first is not None
    commands = [line.partition("#")[0].strip() for line in first[1].splitlines()]
    assert commands == ["make run", "make test"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (path.parent / target).exists()] == []
