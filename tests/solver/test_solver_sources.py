"""What the solver says about its rules: ranges and origins as they can be worked out again."""

from __future__ import annotations

import pytest

from posviz.measures import fitted_lower_bound
from posviz.solver import advise, convert
from posviz.solver.rules import RULES

# Men et al. 2024, arXiv:2405.14591: lower bounds of the base for 1k … 1M tokens, rotary_dim 128
BOUNDS = (4.3e3, 1.6e4, 2.7e4, 8.4e4, 3.1e5, 6.4e5, 2.1e6, 7.8e6, 3.6e7, 6.4e7, 5.1e8)
SEARCHED = {1024 << power: bound for power, bound in enumerate(BOUNDS)}


def rule(rule_id: str) -> str:
    (found,) = [one for one in RULES if one.id == rule_id]
    return f"{found.source} {found.caveat}"


def test_men_s_line_lies_below_the_bound_at_one_million_tokens() -> None:
    ratios = {length: bound / fitted_lower_bound(length) for length, bound in SEARCHED.items()}
    assert ratios[1 << 20] == pytest.approx(1.89, abs=0.01)
    assert min(ratios.values()) == pytest.approx(0.67, abs=0.01)
    assert max(ratios.values()) == ratios[1 << 20]
    assert "0.67 to 1.9 times the line" in rule("men_fitted")


def test_no_equation_is_cited_that_was_not_looked_up() -> None:
    assert "equation" not in rule("critical_dimension")
    assert "2310.05209 (critical base)" in rule("unfinished_pairs")


def test_the_base_that_keeps_the_crossing_is_the_published_critical_base() -> None:
    # Liu et al. 2023 print 71738 for Llama 2 (10000, 4096 tokens) at 16384 tokens
    found = advise(base=10000.0, rotary_dim=128, original=4096, target=16384)
    (about,) = [one for one in found.rules if one.id == "unfinished_pairs"]
    assert about.sets["rope_theta"] == pytest.approx(71738, abs=1)


@pytest.mark.parametrize("name", ["factor", "--rope-scale", "compress_pos_emb"])
def test_factor_names_its_other_meaning(name: str) -> None:
    notes = " ".join(convert(name, 2.0).notes)
    assert "factor_dynamic_transformers" in notes
