"""A released model tuned to any other method: the text over its own file rotates as tuned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from posviz import ParameterError, configs, get
from tests.spec_strategies import specs

METHODS = (
    "rope",
    "abf",
    "ntk_aware",
    "linear",
    "dynamic_ntk",
    "yarn",
    "longrope",
    "llama3",
    "ntk_by_parts",
    "p_rope",
    "self_extend",
)
ONE_SCHEDULE = [
    preset for preset in configs.presets() if len(configs.read(preset.config).layer_types) == 1
]
REACHED = ("transformers", "transformers_v4", "vllm", "vllm_old", "sglang", "llama_cpp", "mlx")


@pytest.mark.parametrize("runtime", REACHED)
@given(data=st.data())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_text_over_the_model_s_own_file(runtime: str, data: st.DataObject) -> None:
    preset = data.draw(st.sampled_from(ONE_SCHEDULE))
    model = configs.read(preset.config)
    drawn: Any = data.draw(specs(get(data.draw(st.sampled_from(METHODS)))))
    tuned = model.with_spec(with_head_of(model.spec(), drawn))
    try:
        written = configs.export(tuned, runtime)
    except configs.ExportError:
        reject()
    again: Any = configs.read_export(written.text, runtime, preset.config).spec()
    spec: Any = tuned.spec()
    for length in (1, 4096, 1 << 20):
        ours, theirs = spec.encode([0.0], length=length), again.encode([0.0], length=length)
        if spec.id != "longrope" or runtime.startswith(("transformers", "mlx")):
            np.testing.assert_allclose(theirs.inv_freq, ours.inv_freq, rtol=1e-12)
            assert theirs.attention_factor == pytest.approx(ours.attention_factor, rel=1e-12)
        assert theirs.softmax_factor == pytest.approx(ours.softmax_factor, rel=1e-12)


def with_head_of(own: Any, drawn: Any) -> Any:
    """The drawn method on this model's heads."""
    head = {name: getattr(own, name) for name in ("head_dim", "layout")}
    head["partial_rotary_factor"] = own.partial_rotary_factor
    if drawn.id == "longrope":
        head |= type(drawn).starting_values(**head, scaling_factor=4.0)
    if drawn.id == "yarn":
        head["softmax_correction"] = own.id == "yarn" and own.softmax_correction
    try:
        return drawn.with_values(**head)
    except ParameterError:
        reject()
