"""``posviz export``, ``table``, ``plot``, ``list``, ``serve``: what they print and write."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import chromium
import numpy as np
import pytest

import posviz
from posviz import configs

QWEN = {
    "model_type": "qwen2",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_export_prints_what_python_gives_and_notes_apart(run, config_file) -> None:
    result = run("export", config_file(QWEN), "--to", "vllm", "--target-length", "32768")
    expected = configs.export(configs.read(QWEN), "vllm", target_length=32768)
    assert result.stdout.strip() == expected.text
    assert [f"posviz: {note}" for note in expected.notes] == result.stderr.strip().splitlines()


def test_export_of_another_encoding_keeps_the_model_s_own_numbers(run, config_file) -> None:
    result = run(
        "export", config_file(QWEN), "--to", "transformers", "--link", "yarn?scaling_factor=4"
    )
    written = json.loads(result.stdout)["rope_parameters"]
    assert written == {
        "rope_type": "yarn",
        "rope_theta": 1000000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 32768,
    }


def test_export_refusals_and_mistakes_are_sentences(run, config_file) -> None:
    refused = run("export", config_file(QWEN), "--to", "llama_cpp", "--link", "dynamic_ntk")
    assert refused.exit_code == 2
    assert "no dynamic NTK at run time" in refused.stderr
    unknown = run("export", config_file(QWEN), "--to", "llamacpp")
    assert "there is no runtime 'llamacpp'; closest: llama_cpp" in unknown.stderr
    bad = run("export", config_file(QWEN), "--to", "vllm", "--link", "yarn?scaling_factor=0.5")
    assert "scaling_factor" in bad.stderr
    assert bad.exit_code == 2


def test_table_of_a_rotation_has_one_row_per_pair(run) -> None:
    result = rows(run("table", "yarn?scaling_factor=8&head_dim=64").stdout)
    spec = posviz.parse("yarn?scaling_factor=8&head_dim=64")
    assert [int(row["pair"]) for row in result] == list(range(32))
    assert [float(row["inv_freq"]) for row in result] == spec.frequencies(1).tolist()
    last = float(result[-1]["wavelength"])
    assert last == pytest.approx(2 * np.pi / spec.frequencies(1)[-1], rel=1e-15)


def test_table_of_a_bias_has_one_column_per_head(run) -> None:
    result = rows(run("table", "alibi?heads=2", "--length", "3").stdout)
    by_distance = {float(row["distance"]): row for row in result}
    # Slopes of two heads are 2^-4 and 2^-8.
    assert float(by_distance[2.0]["head 1"]) == -2 / 16
    assert float(by_distance[2.0]["head 2"]) == -2 / 256
    assert by_distance[0.0]["head 1"] == "0.0"
    assert set(by_distance) == {-2.0, -1.0, 0.0, 1.0, 2.0}


def test_table_of_a_position_table_and_of_logits(run) -> None:
    result = rows(run("table", "sinusoidal?model_dim=4", "--length", "2").stdout)
    assert float(result[1]["dimension 0"]) == pytest.approx(np.sin(1), rel=1e-15)
    assert run("table", "shaw", "--length", "4").exit_code == 0


@pytest.mark.parametrize("encoding", [each.id for each in posviz.catalog()])
def test_every_encoding_has_a_table_and_a_figure(run, encoding: str, tmp_path: Path) -> None:
    table = run("table", encoding, "--length", "16")
    assert table.exit_code == 0, table.stderr
    assert len(rows(table.stdout)) > 1
    figures = run("plot", encoding, "--positions", "16", "--list").stdout.split()
    assert figures


def test_json_and_npz_hold_every_array(run, tmp_path: Path) -> None:
    held = json.loads(run("table", "rope?head_dim=8", "--format", "json").stdout)
    assert held["link"] == "rope?head_dim=8"
    assert held["inv_freq"] == pytest.approx([1.0, 0.1, 0.01, 0.001], rel=1e-15)
    file = tmp_path / "rope.npz"
    assert run("table", "rope?head_dim=8", "--length", "5", "-o", str(file)).exit_code == 0
    with np.load(file) as arrays:
        assert arrays["positions"].tolist() == [0, 1, 2, 3, 4]
        assert str(arrays["link"]) == "rope?head_dim=8"


def test_one_array_can_be_asked_for(run) -> None:
    result = rows(run("table", "rope?head_dim=4", "--array", "cos", "--length", "3").stdout)
    assert float(result[2]["cos 0"]) == pytest.approx(np.cos(2), rel=1e-15)
    missing = run("table", "rope", "--array", "cosine")
    assert missing.exit_code == 2
    assert (
        "There is no array 'cosine' in this result; closest: sin, cos, positions. It"
        in missing.stderr
    )


def test_infinite_wavelengths_are_null_in_json(run) -> None:
    text = run("table", "p_rope?head_dim=8&partial_rotary_factor=0.5", "--format", "json").stdout
    assert json.loads(text)["wavelengths"][-1] is None


def test_tables_that_cannot_be_made_are_sentences(run, tmp_path: Path) -> None:
    assert "There is no table format 'xlsx'" in run("table", "rope", "--format", "xlsx").stderr
    assert "no encoding 'yarm'; closest: yarn" in run("table", "yarm").stderr
    nowhere = run("table", "rope", "-o", str(tmp_path / "none" / "a.csv"))
    assert nowhere.stderr.strip().endswith("cannot be written: No such file or directory.")


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_plot_writes_pictures(run, tmp_path: Path, monkeypatch, kind: str) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(chromium.find()))
    file = tmp_path / f"three.{kind}"
    result = run(
        "plot", "rope", "linear?scaling_factor=4", "yarn?scaling_factor=4", "-o", str(file)
    )
    assert result.exit_code == 0, result.stderr
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    assert file.read_bytes().startswith(starts[kind])
    if kind == "svg":
        assert "linear?scaling_factor=4" in file.read_text()


def test_without_a_browser_a_picture_is_refused_in_words(run, tmp_path: Path, monkeypatch) -> None:
    def no_browser(figure: Any, file: str, **more: Any) -> None:
        raise RuntimeError("Kaleido requires Google Chrome to be installed.")

    monkeypatch.setattr("plotly.graph_objects.Figure.write_image", no_browser)
    result = run("plot", "rope", "-o", str(tmp_path / "a.svg"))
    assert result.exit_code == 2
    assert "SVG files are drawn by Chrome or Chromium, and none works here" in result.stderr


def test_an_html_file_works_offline(run, tmp_path: Path) -> None:
    file = tmp_path / "alibi.html"
    assert run("plot", "alibi", "--figure", "slopes", "-o", str(file)).exit_code == 0
    text = file.read_text()
    assert "Plotly.newPlot" in text
    assert not re.search(r"<script[^>]+src=", text)


def test_plots_that_cannot_be_made_are_sentences(run, tmp_path: Path) -> None:
    assert "Name a file with -o" in run("plot", "rope").stderr
    assert "must end in svg, png, pdf, html" in run("plot", "rope", "-o", "a.jpg").stderr
    file = str(tmp_path / "a.html")
    assert (
        "There is no figure 'slopes'"
        in run("plot", "rope", "--figure", "slopes", "-o", file).stderr
    )
    assert "only be drawn together when all of them are rotary" in (
        run("plot", "rope", "alibi", "-o", file).stderr
    )


def test_list_names_encodings_presets_runtimes_and_codes(run) -> None:
    encodings = json.loads(run("list", "--json").stdout)
    assert [each["id"] for each in encodings] == [each.id for each in posviz.catalog()]
    assert "preset:llama-3.1-8b" in run("list", "presets").stdout
    assert set(run("list", "runtimes").stdout.split()) >= set(configs.RUNTIMES)
    assert "PV113" in run("list", "codes").stdout
    assert "There is no family 'bia'; closest: bias" in run("list", "--family", "bia").stderr


def test_a_length_beyond_what_the_settings_reach_is_said_and_ends_with_1(run, config_file) -> None:
    result = run("export", config_file(QWEN), "--to", "vllm", "--target-length", "100000")
    assert result.exit_code == 1
    assert "Nothing here extends the rotation: 100000 tokens lie beyond" in result.stderr
    assert "warn PV204: 100000 tokens are wanted, but" in result.stderr


def test_a_method_without_a_factor_gets_the_one_that_covers_the_target(run, config_file) -> None:
    words = ("--to", "transformers", "--link", "yarn", "--target-length", "131072")
    result = run("export", config_file(QWEN), *words)
    assert json.loads(result.stdout)["rope_parameters"]["factor"] == 4.0
    own = run("export", config_file(QWEN), *words[:3], "yarn?scaling_factor=8", *words[4:])
    assert json.loads(own.stdout)["rope_parameters"]["factor"] == 8.0


@pytest.mark.parametrize("name", ["vLLM", "llama.cpp", "LLAMA-CPP", "Transformers"])
def test_runtimes_are_understood_as_people_write_them(run, config_file, name: str) -> None:
    assert run("export", config_file(QWEN), "--to", name).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("table", "alibi", "--length", "1048576", "--array", "matrix"),
        ("table", "shaw", "--length", "8192"),
        ("table", "rope", "--length", "1048576", "--array", "cos"),
        ("table", "sinusoidal", "--length", "1048576"),
    ],
)
def test_tables_too_large_to_make_are_refused_before(run, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert "a table holds at most 16,777,216" in result.stderr


USAGE = [
    ("check", "FILE", "--runtime", "vlm"),
    ("check", "FILE", "--target-length", "0"),
    ("check", "-", "-"),
    ("fix", "FILE", "--code", "PV999"),
    ("compare", "FILE", "FILE", "--length", "0"),
    ("compare", "FILE", "FILE", "--layer-type", "nope"),
    ("export", "FILE", "--to", "nope"),
    ("export", "FILE", "--to", "vllm", "--layer-type", "full_attention"),
    ("list", "presets", "--family", "bias"),
    ("plot", "rope", "-o", "a.html", "--size", "0", "0"),
]


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_a_wrong_question_ends_with_64(run, config_file, words: tuple[str, ...]) -> None:
    file = config_file(QWEN)
    result = run(*(file if word == "FILE" else word for word in words))
    assert result.exit_code == 64
    assert "Traceback" not in result.stderr
