"""The names that the package promises, in an interpreter that has read nothing else."""

import subprocess
import sys

import pytest


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("print(posviz.measures.score_decay(posviz.parse('rope'), length=8).scores[0])", "1.0"),
        (
            "print(posviz.configs.read({'rope_theta': 1e4, 'head_dim': 64,"
            " 'max_position_embeddings': 9}).spec().id)",
            "rope",
        ),
        ("print(posviz.figures.clock.title)", "The rotating pair"),
        ("print(posviz.get('yarn').title)", "YaRN"),
    ],
)
def test_parts_are_there_after_a_plain_import(code, printed):
    done = run(f"import posviz; {code}")
    assert (done.stderr, done.stdout.strip()) == ("", printed)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    done = run("import posviz; posviz.nothing")
    assert "module 'posviz' has no attribute 'nothing'" in done.stderr
