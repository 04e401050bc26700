"""``posviz check`` and ``posviz fix``: exit codes, what is printed, what is changed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf

from posviz import configs
from posviz.cli import main

HEAD = {"hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 1000000.0}
FINE = {**HEAD, "max_position_embeddings": 32768}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
WARNED = {**HEAD, "max_position_embeddings": 40960, "rope_scaling": YARN}
WRONG = {**FINE, "rope_scaling": {"rope_type": "linear", "factor": 0.5}}


def test_exit_codes_tell_fine_warnings_errors_and_unreadable_apart(run, config_file) -> None:
    codes = [
        run("check", config_file(config)).exit_code for config in (FINE, WARNED, WRONG, "{", "[1]")
    ]
    assert codes == [0, 1, 2, 3, 3]


def test_the_gravest_file_gives_the_exit_code(run, config_file) -> None:
    names = [
        config_file(WARNED, "a.json"),
        config_file(WRONG, "b.json"),
        config_file(FINE, "c.json"),
    ]
    result = run("check", *names)
    assert result.exit_code == 2
    heads = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert [f"{name}: " in result.stdout for name in names] == [True] * 3
    assert any(line.endswith("b.json: error") for line in heads)


def test_a_diagnosis_is_printed_whole_with_its_code_and_its_change(run, config_file) -> None:
    result = run("check", config_file(WRONG))
    printed = " ".join(result.stdout.split())
    assert "error PV113 rope_scaling.factor must be at least 1; got 0.5." in printed
    assert "Suggested: set rope_scaling.factor to 2.0." in printed


def test_standard_input_and_presets_are_read_like_files(run) -> None:
    assert "standard input: warn" in run("check", "-", stdin=json.dumps(WARNED)).stdout
    assert run("check", "preset:llama-3.1-8b").exit_code == 0
    missing = run("check", "preset:llama-3.1")
    assert missing.exit_code == 3
    assert "There is no preset 'llama-3.1'; closest: llama-3.2-1b, llama-3.1-8b" in missing.stderr


def test_json_holds_the_whole_report(run, config_file) -> None:
    result = run("check", config_file(WARNED), "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["severity"] == "warn"
    found = next(each for each in report["diagnoses"] if each["code"] == "PV121")
    assert found["values"]["effective_factor"] == 4.0
    assert report["values"]["extended_context"] == 131072
    two = run("check", config_file(FINE, "a.json"), config_file("{", "b.json"), "--json")
    first, second = json.loads(two.stdout)
    assert first["severity"] in ("ok", "info")
    assert second["unreadable"].startswith("This is not JSON: ")


def test_numbers_are_printed_with_their_origin(run, config_file) -> None:
    printed = " ".join(run("check", config_file(FINE), "--numbers").stdout.split())
    assert "base 1000000 rope_theta" in printed
    assert "head_dim 128 hidden_size / num_attention_heads = 4096 / 32" in printed


def test_a_runtime_that_does_not_exist_is_named_with_the_closest(run, config_file) -> None:
    result = run("check", config_file(FINE), "--runtime", "vlm")
    assert "there is no runtime 'vlm'; closest: vllm" in result.stderr


def test_a_missing_file_is_one_sentence(run, tmp_path: Path) -> None:
    result = run("check", str(tmp_path / "none.json"))
    assert result.exit_code == 3
    assert result.stderr.strip().endswith("cannot be read: No such file or directory.")
    assert "Traceback" not in result.stderr


def test_fix_prints_a_configuration_that_no_longer_has_the_diagnosis(run, config_file) -> None:
    result = run("fix", config_file(WRONG), "--code", "PV113")
    assert result.exit_code == 0
    changed = json.loads(result.stdout)
    assert changed == {**WRONG, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    assert not configs.check(changed).of("PV113")
    assert "PV113: set rope_scaling.factor to 2.0." in result.stderr


def test_fix_without_a_suggestion_gives_the_file_back(run, config_file) -> None:
    result = run("fix", config_file(FINE))
    assert json.loads(result.stdout) == FINE
    assert "No diagnosis suggests a change" in result.stderr
    unknown = run("fix", config_file(WRONG), "--code", "PV999")
    assert "This report has no diagnosis 'PV999'; " in unknown.stderr


def test_a_wrong_option_has_an_exit_code_of_its_own() -> None:
    command = [sys.executable, "-c", "from posviz.cli import main; main()", "check", "--nonsense"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 64
    assert "No such option" in result.stderr
    assert "Traceback" not in result.stderr


def test_every_command_has_examples_in_its_help(run) -> None:
    listed = run("--help").stdout
    commands = [line.split()[0] for line in listed.partition("Commands:")[2].splitlines() if line]
    assert {"check", "fix", "export", "solve", "table", "plot", "list", "serve"} <= set(commands)
    for command in commands:
        shown = run(command, "--help").stdout
        assert f"posviz {command}" in shown.partition("Examples:")[2], command


def test_loading_the_command_loads_no_plotly_streamlit_or_torch() -> None:
    code = (
        "import sys, posviz.cli.commands; "
        "print([n for n in ('plotly.graph_objects', 'streamlit', 'torch', 'gguf', 'kaleido') "
        "if n in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
    assert callable(main)


def in_a_process(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    code = "from posviz.cli import main; main()"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def test_a_full_disk_is_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        code = "from posviz.cli import main; main()"
        command = [sys.executable, "-c", code, "list"]
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 74
    assert result.stderr == "posviz: The output cannot be written: No space left on device.\n"


def test_a_terminal_without_greek_shows_code_points() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = in_a_process("solve", "attention-factor", "4", env=environment)
    assert result.returncode == 0
    assert r"m\xb2, gain of the logits: 1.296476993" in result.stdout


def test_a_terminal_that_says_it_is_0_wide_is_written_to() -> None:
    result = in_a_process("list", "runtimes", env={**os.environ, "COLUMNS": "0"})
    assert "llama.cpp" in result.stdout


def test_a_closed_standard_input_is_a_sentence(run) -> None:
    code = "from posviz.cli import main; main()"
    words = shlex.join([sys.executable, "-c", code, "check", "-"])
    result = subprocess.run(
        ["sh", "-c", f"{words} <&-"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 3
    assert "There is no standard input to read from." in result.stderr
    assert "The name of a file is empty." in run("check", "").stderr


def test_errors_say_that_more_is_looked_at_once_they_are_gone(run, config_file) -> None:
    printed = run("check", config_file(WRONG)).stdout
    assert "| posviz check -" in printed


def test_a_gguf_file_is_told_about_with_its_own_keys(run, tmp_path: Path) -> None:
    from tests.configs.gguf_files import sizes, write

    def fill(writer: Any) -> None:
        sizes(writer, width=4096, heads=32, window=40960, base=1e6, rotated=128)
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(4.0)
        writer.add_rope_scaling_orig_ctx_len(32768)

    path = write(tmp_path / "model.gguf", "qwen2", fill)
    result = run("check", str(path))
    assert result.exit_code == 1
    assert "set qwen2.context_length to 131072" in " ".join(result.stdout.split())
    fixed = run("fix", str(path))
    assert fixed.exit_code == 2
    assert "PV121: set qwen2.context_length to 131072." in fixed.stderr
    assert "This is a GGUF file, whose metadata this command does not write" in fixed.stderr
    assert fixed.stdout == ""


def test_ctrl_c_while_the_command_loads_ends_it_without_a_traceback() -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'posviz.cli.sweep': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from posviz.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "sweep", "rope"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
