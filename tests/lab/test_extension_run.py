"""Loss against position: chunks equal one pass, means equal a hand calculation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from posviz.lab.errors import LabError
from posviz.lab.extension.applied import applied
from posviz.lab.extension.cache import Cache
from posviz.lab.extension.curves import finished
from posviz.lab.extension.means import difference, mean_and_error, windowed
from posviz.lab.extension.plan import PasskeyPlan, Plan
from posviz.lab.extension.reading import Kept, Reading, extended
from posviz.lab.extension.run import measure
from posviz.lab.language_model.load import decoder
from posviz.lab.workers import Cancelled, Progress
from posviz.parameters import ParameterError
from tests.lab import tiny_extension as tiny

LENGTH = 300
SHORT: dict[str, Any] = {"length": LENGTH, "chunk": 64, "mean_window": 40}
STATIC = [name for name in tiny.links() if name not in ("dynamic_ntk", "longrope")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSVIZ_LOCAL_MODELS", "1")
        patch.setenv("POSVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield str(tiny.folder(tmp_path_factory.mktemp("tiny")))


def _one_pass(folder: str, link: str, dtype: str = "float32") -> tuple[np.ndarray, int]:
    """Losses of all tokens in one forward pass, without a cache; and the trained window."""
    loaded = decoder(folder, tiny.Told())
    settings = applied(link, loaded.reading, length=LENGTH)
    model = extended(loaded, settings, dtype)
    ids = loaded.tokenizer(tiny.TEXT, return_tensors="pt")["input_ids"][:, :LENGTH]
    with torch.inference_mode():
        logits = model(ids, use_cache=False).logits[0, :-1].float()
    chances = torch.log_softmax(logits, -1)
    return -chances[torch.arange(LENGTH - 1), ids[0, 1:]].numpy(), settings.trained_window


@pytest.mark.parametrize("method", STATIC)
def test_chunks_with_cached_keys_give_the_losses_of_one_pass(method: str, folder: str) -> None:
    link = tiny.links()[method]
    told = tiny.Told()
    curve = measure(told, model=folder, link=link, text=tiny.TEXT, **SHORT)
    losses, window = _one_pass(folder, link)
    expected = windowed(losses, 40)
    assert curve.mean == pytest.approx(expected["mean"], abs=1e-5)
    assert curve.positions == expected["positions"]
    assert curve.within is not None
    assert curve.within[0] == pytest.approx(losses[: window - 1].mean(), abs=1e-5)
    assert curve.beyond is not None
    assert curve.beyond[0] == pytest.approx(losses[window - 1 :].mean(), abs=1e-5)
    assert curve.within[2] + curve.beyond[2] == LENGTH - 1
    assert curve.is_done
    shown = [one.done for one in told.progress if one.partial is not None]
    assert list(dict.fromkeys(shown)) == [
        0, 64, 128, 192, 256, 300,
    ]  # fmt: skip
    assert "300 of 300 tokens, " in told.progress[-1].note
    assert told.progress[-1].note.endswith(" tokens/s")


def test_methods_that_change_with_every_call_depend_on_the_chunk(folder: str) -> None:
    link = tiny.links()["dynamic_ntk"]
    whole = measure(
        tiny.Told(), model=folder, link=link, text=tiny.TEXT, **SHORT | {"chunk": LENGTH}
    )
    parts = measure(tiny.Told(), model=folder, link=link, text=tiny.TEXT, **SHORT)
    losses, _ = _one_pass(folder, link)
    assert whole.mean == pytest.approx(windowed(losses, 40)["mean"], abs=1e-5)
    assert parts.beyond is not None
    assert whole.beyond is not None
    assert abs(parts.beyond[0] - whole.beyond[0]) > 1e-4
    assert any("depends on the chunk" in note for note in parts.notes)


def test_bfloat16_is_near_float32(folder: str) -> None:
    coarse = measure(
        tiny.Told(), model=folder, link="linear", text=tiny.TEXT, dtype="bfloat16", **SHORT
    )
    fine = measure(tiny.Told(), model=folder, link="linear", text=tiny.TEXT, **SHORT)
    assert coarse.mean != fine.mean
    assert coarse.mean == pytest.approx(fine.mean, abs=0.05)


def test_a_curve_says_where_it_comes_from(folder: str) -> None:
    curve = measure(tiny.Told(), model=folder, link="linear", text=tiny.TEXT, **SHORT)
    facts = curve.facts
    assert set(facts["versions"]) == {
        "posviz", "torch", "transformers", "tokenizers", "gguf", "safetensors", "numpy",
    }  # fmt: skip
    assert len(facts["model_hash"]) == len(facts["text_hash"]) == 64
    assert facts["settings"]["rope_parameters"] == dict(curve.rope_parameters)
    assert facts["check"]["severity"] in ("ok", "info", "warn")
    assert facts["plan"]["chunk"] == 64


def test_a_finished_run_is_not_made_again(folder: str) -> None:
    arguments = {"model": folder, "link": "yarn", "text": tiny.TEXT, **SHORT}
    first = measure(tiny.Told(), **arguments)
    told = tiny.Told()
    second = measure(told, **arguments)
    assert told.progress == []
    assert (second.mean, second.low, second.seconds) == (first.mean, first.low, first.seconds)
    assert second.facts["from_cache"]
    wider = finished(folder, tiny.TEXT, Plan(link="yarn", **SHORT | {"mean_window": 80}))
    assert wider is not None
    assert max(wider.counts) == 80
    assert finished(folder, tiny.TEXT + " ", Plan(link="yarn", **SHORT)) is None


def test_a_cancelled_run_goes_on_after_its_last_chunk(folder: str, tmp_path: Path) -> None:
    arguments = {"model": folder, "link": "llama3", "text": tiny.TEXT, **SHORT}

    def cancel(progress: Progress) -> None:
        if progress.done >= 128:
            raise Cancelled

    with pytest.raises(Cancelled):
        measure(cancel, cache_folder=str(tmp_path), **arguments)
    resumed = measure(tiny.Told(), cache_folder=str(tmp_path), **arguments)
    whole = measure(tiny.Told(), cache_folder=str(tmp_path / "other"), **arguments)
    assert resumed.facts["resumed_at"] == 128
    assert whole.facts["resumed_at"] == 0
    assert resumed.mean == whole.mean


@pytest.mark.parametrize("method", ["yarn", "dynamic_ntk", "longrope"])
def test_resuming_restores_the_very_losses(method: str, folder: str, tmp_path: Path) -> None:
    loaded = decoder(folder, tiny.Told())
    settings = applied(tiny.links()[method], loaded.reading, length=LENGTH)
    ids = loaded.tokenizer(tiny.TEXT, return_tensors="pt")["input_ids"][0, :LENGTH]

    def reading(stop: int, name: str) -> Reading:
        model = extended(loaded, settings, "float32")
        kept = Kept(Cache(tmp_path), name)
        found = Reading(model, ids, 64, kept=kept, with_losses=True)

        def report(progress: Progress) -> None:
            if progress.done >= stop:
                raise Cancelled

        try:
            found.run(report, lambda now: Progress(now.read, LENGTH))
        except Cancelled:
            assert found.read >= stop
        return found

    whole = reading(LENGTH + 1, "whole")
    reading(192, "broken")
    again = reading(LENGTH + 1, "broken")
    assert again.resumed == 192
    assert np.array_equal(again.losses, whole.losses)


def test_a_broken_chunk_is_read_again(folder: str, tmp_path: Path) -> None:
    arguments = {"model": folder, "link": "linear", "text": tiny.TEXT, **SHORT}

    def cancel(progress: Progress) -> None:
        if progress.done >= 192:
            raise Cancelled

    with pytest.raises(Cancelled):
        measure(cancel, cache_folder=str(tmp_path), **arguments)
    (part,) = tmp_path.glob("*.part")
    (part / "00001.safetensors").write_bytes(b"cut off")
    resumed = measure(tiny.Told(), cache_folder=str(tmp_path), **arguments)
    whole = measure(tiny.Told(), **arguments)
    assert resumed.facts["resumed_at"] == 64
    assert resumed.mean == whole.mean


def test_a_folder_that_cannot_be_written_is_said_and_the_run_goes_on(
    folder: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    curve = measure(
        tiny.Told(),
        model=folder,
        link="linear",
        text=tiny.TEXT,
        cache_folder=str(tmp_path / "file"),
        **SHORT,
    )
    assert curve.is_done
    assert curve.notes[-1].startswith(f"Nothing can be kept in {tmp_path / 'file'}: ")
    assert curve.notes[-1].endswith(" The run goes on without.")


def test_a_text_that_is_too_short_is_refused(folder: str) -> None:
    with pytest.raises(LabError, match=r"text must have at least 300 tokens for .*; it has 5\."):
        measure(tiny.Told(), model=folder, link="rope", text="a cat", **SHORT)


def test_a_method_that_cannot_be_exported_is_refused_before_the_model_is_read(
    folder: str,
) -> None:
    told = tiny.Told()
    with pytest.raises(LabError, match="ReRoPE cannot be written for transformers"):
        measure(told, model=folder, link="rerope", text=tiny.TEXT, **SHORT)
    assert told.progress == []


def test_the_running_mean_and_its_band_against_a_hand_calculation() -> None:
    # Losses of tokens 1 … 5; windows of 3 around tokens 1 … 5, cut off at both ends.
    found = windowed([1.0, 2.0, 6.0, 3.0, 3.0], 3)
    assert found["positions"] == (1, 2, 3, 4, 5)
    assert found["counts"] == (2, 3, 3, 3, 2)
    assert found["mean"] == pytest.approx([1.5, 3, 11 / 3, 4, 3])
    # s² of (1, 2, 6) is (4 + 1 + 9)/2 = 7, of (1, 2) it is 1/2; errors are √(s²/n).
    assert found["high"][1] - found["mean"][1] == pytest.approx((7 / 3) ** 0.5)
    assert found["mean"][0] - found["low"][0] == pytest.approx(0.5)
    assert found["high"][4] == found["low"][4] == 3


def test_a_long_curve_is_thinned_with_both_ends() -> None:
    found = windowed(np.arange(5000.0), 101, most=50)
    assert len(found["positions"]) == 50
    assert (found["positions"][0], found["positions"][-1]) == (1, 5000)
    # The mean of a straight line is its middle, where the window is whole.
    whole = [
        (p, m) for p, m, n in zip(found["positions"], found["mean"], found["counts"], strict=True)
        if n == 101
    ]  # fmt: skip
    assert len(whole) > 40
    assert all(mean == pytest.approx(place - 1) for place, mean in whole)


def test_means_of_hardly_any_losses_are_none() -> None:
    assert windowed([], 8)["mean"] == windowed([1.0], 8)["mean"] == ()
    assert windowed([1.0, 3.0], 64)["mean"] == (2.0,)
    assert mean_and_error([1.0]) is None
    assert mean_and_error([1.0, 3.0]) == pytest.approx((2, 1, 2))


def test_the_difference_of_two_runs_is_taken_token_by_token() -> None:
    # Window 3: tokens 1 and 2 are within it, 3 to 5 beyond; gaps 1, 3 and 0, 2, 4.
    found = difference([2.0, 5.0, 1.0, 4.0, 9.0], [1.0, 2.0, 1.0, 2.0, 5.0], 3, 3)
    assert found["within"] == pytest.approx((2, 1, 2))
    assert found["beyond"] == pytest.approx((2, 2 / 3**0.5, 3))
    # Means of three: (1, 3), (1, 3, 0), (3, 0, 2), (0, 2, 4), (2, 4); the last quarter is 2, 4.
    assert found["mean"] == pytest.approx([2, 4 / 3, 5 / 3, 2, 3])
    assert found["last"] == pytest.approx((3, 1, 2))


def test_plans_refuse_what_cannot_be_measured() -> None:
    with pytest.raises(ParameterError, match="chunk must be a whole number of at least 8 and at"):
        Plan(chunk=4)
    with pytest.raises(ParameterError, match="mean_window must be less than length"):
        Plan(length=64, mean_window=64)
    with pytest.raises(ParameterError, match="lengths must be a list of whole numbers"):
        PasskeyPlan(lengths=(200.5,))
    with pytest.raises(ParameterError, match=r"there is no parameter 'steps'"):
        Plan(steps=3)
    assert all(one.parameter.help for one in (*Plan.declarations(), *PasskeyPlan.declarations()))
