"""Writes the generated parts of the documentation; ``--check`` says which are stale.

``docs/encodings.md`` and ``docs/checks.md`` are generated whole. In other files only the text
between two markers is:
``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posviz.catalog import get
from posviz.docs.checks import checks_page
from posviz.docs.markdown import table
from posviz.encodings.base import Encoding
from posviz.overview import Row, rows
from posviz.parameters import Declaration, number_text

ROOT = Path(__file__).resolve().parents[2]


def encodings_page(everything: Sequence[Row]) -> str:
    """Every encoding with its parameters and sources, as ``docs/encodings.md`` shows them."""
    summary = table(
        [*everything[0].cells],
        ({**row.cells, "encoding": f"[{row.title}](#{row.id})"}.values() for row in everything),
    )
    sections = "\n\n".join(_section(row, get(row.id)) for row in everything)
    return (
        "# Encodings\n\n"
        "Written by `make docs` from the classes in `posviz/encodings`; edits here are lost. "
        "Properties are computed from each one's own result at its default parameters.\n\n"
        f"{summary}\n\n{sections}\n"
    )


def _section(row: Row, encoding: type[Encoding]) -> str:
    parameters = table(
        ["parameter", "symbol", "unit", "default", "must be", "what it is"],
        (_parameter_row(each) for each in encoding.declarations()),
    )
    properties = "; ".join(f"{each.name}: {each.value}" for each in row.properties)
    parts = [
        f'## <a id="{encoding.id}"></a>{encoding.title}',
        f"The link of its defaults is `{encoding.id}`. {properties[:1].upper()}{properties[1:]}.",
        f"$${encoding.formula}$$",
        encoding.shows,
        f"What this does not show: {encoding.limits}",
        *encoding.misread,
        f"Used in: {', '.join(encoding.used_in)}." if encoding.used_in else "",
        parameters,
        f"In NumPy, with the defaults:\n\n```python\n{encoding().code()}```",
        "Sources:\n\n" + "\n".join(f"- {source.text}" for source in encoding.sources),
    ]
    return "\n\n".join(filter(None, parts))


def _parameter_row(declaration: Declaration) -> list[str]:
    parameter = declaration.parameter
    return [
        f"`{declaration.name}`",
        f"${parameter.symbol}$" if parameter.symbol else "",
        parameter.unit,
        _default(declaration),
        declaration.domain,
        parameter.help,
    ]


def _default(declaration: Declaration) -> str:
    text = declaration.format(declaration.default)
    return {"none": "left out", "": "empty"}.get(text, f"`{text}`")


def families_table(everything: Sequence[Row]) -> str:
    """The encodings of each family with their years, for the README."""
    members: dict[str, list[str]] = {}
    for row in everything:
        members.setdefault(row.family, []).append(f"{row.title} {row.year}")
    return table(
        ["family", "encodings"], ([family, " · ".join(each)] for family, each in members.items())
    )


def ratios_table(folder: Path) -> str:
    """The ratios of every measurement that ``make bench`` left in ``folder``; empty without any.

    A benchmark's JSON holds them as ``"ratios": [{"what", "ratio", "asked"}, ...]``.
    """
    lines = [
        [each["what"], number_text(each["ratio"]), each["asked"]]
        for path in sorted(folder.glob("*.json"))
        for each in _ratios(json.loads(path.read_text(encoding="utf-8")))
    ]
    return table(["what", "measured", "asked for"], lines) if lines else ""


def _ratios(measurement: Any) -> list[dict[str, Any]]:
    return list(measurement.get("ratios", [])) if isinstance(measurement, dict) else []


def fill(text: str, name: str, content: str) -> str:
    """``text`` with what stands between the markers of ``name`` replaced.

    >>> fill("<!-- begin: a -->old<!-- end: a -->", "a", "new")
    '<!-- begin: a -->\\nnew\\n<!-- end: a -->'
    """
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"the markers of {name} must stand once; found {text.count(begin)}")
    return pattern.sub(lambda _: "\n".join(filter(None, [begin, content, end])), text)


def measured(folder: Path, name: str) -> str:
    """The table that a benchmark left in ``folder``, under its name; empty before it ever ran."""
    file = folder / f"{name}.md"
    return f"## {name}\n\n{file.read_text(encoding='utf-8').strip()}" if file.exists() else ""


def generated(root: Path) -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    benchmarks = root / "benchmarks"
    readme = (root / "README.md").read_text(encoding="utf-8")
    everything = rows()
    readme = fill(readme, "encodings", families_table(everything))
    readme = fill(readme, "ratios", ratios_table(benchmarks))
    report = (benchmarks / "README.md").read_text(encoding="utf-8")
    for name in re.findall("<!-- begin: (.+?) -->", report):
        report = fill(report, name, measured(benchmarks, name))
    return {
        root / "docs" / "encodings.md": encodings_page(everything),
        root / "docs" / "checks.md": checks_page(),
        root / "README.md": readme,
        benchmarks / "README.md": report,
    }


def stale(root: Path) -> list[str]:
    """Names of the generated files whose text is not the one that would be written now."""
    return [
        path.relative_to(root).as_posix()
        for path, text in generated(root).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write the files, or check them; 1 when one is stale."""
    parser = argparse.ArgumentParser(prog="posviz.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on stale files")
    if parser.parse_args(arguments).check:
        names = stale(root)
        for name in names:
            print(f"{name} is stale: run `make docs`.")
        return int(bool(names))
    for path, text in generated(root).items():
        path.write_text(text, encoding="utf-8")
    return 0
