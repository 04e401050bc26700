"""``posviz solve``: the numbers of the solver, with and without a configuration."""

from __future__ import annotations

import json

import pytest

MODEL = ("--original", "32768", "--base", "1000000", "--rotary-dim", "128")
QWEN = {"head_dim": 128, "rope_theta": 1000000.0, "max_position_embeddings": 32768}


def test_lengths_show_every_rule_with_its_source(run) -> None:
    advice = json.loads(run("solve", "lengths", *MODEL, "--target", "131072", "--json").stdout)
    by_id = {rule["id"]: rule for rule in advice["rules"]}
    assert by_id["yarn"]["sets"]["factor"] == 4.0
    # b·s^(d/(d-2)) = 1e6·4^(128/126)
    assert by_id["ntk_aware"]["sets"]["rope_theta"] == pytest.approx(1e6 * 4 ** (128 / 126))
    assert all(rule["source"] for rule in advice["rules"])
    printed = run("solve", "lengths", *MODEL, "--target", "131072").stdout
    assert "NTK-aware base" in printed
    assert "Use the smallest factor that covers the need" in printed


def test_a_configuration_gives_window_base_and_dimension(run, config_file) -> None:
    by_file = run("solve", "lengths", "--config", config_file(QWEN), "--target", "65536", "--json")
    by_hand = run("solve", "lengths", *MODEL, "--target", "65536", "--json")
    assert json.loads(by_file.stdout) == json.loads(by_hand.stdout)
    missing = run("solve", "lengths", "--target", "65536")
    assert missing.exit_code == 2
    assert "This needs --original and --base and --rotary-dim, or --config FILE." in missing.stderr


def test_convert_reads_an_ambiguous_name_under_every_meaning(run) -> None:
    result = run("solve", "convert", "alpha", "20", "--base", "10000", "--rotary-dim", "128",
                 "--rotary-dim", "44", "--json")  # fmt: skip
    found = json.loads(result.stdout)
    bases = {
        (row["read_as"], row["rotary_dim"]): row["value"]
        for row in found["rows"]
        if row["quantity"] == "ntk_base"
    }
    assert found["severity"] == "info"
    assert bases["alpha_ntk", 128] == pytest.approx(209740.0009, rel=1e-9)
    assert bases["alpha_ntk", 44] == pytest.approx(230666.1171, rel=1e-9)
    assert bases["alpha_product", None] == pytest.approx(200000)


def test_reach_goes_the_other_way(run) -> None:
    result = run("solve", "reach", "rope_freq_scale", "0.25", *MODEL, "--json")
    (reached,) = json.loads(result.stdout)
    lengths = {rule["id"]: rule["length"] for rule in reached["rules"]}
    assert lengths["linear"] == lengths["yarn"] == 131072


def test_attention_factor_tells_m_from_its_square(run) -> None:
    printed = run("solve", "attention-factor", "4").stdout
    assert "1.138629436" in printed
    assert "1.296476993" in printed
    assert "applied to both q and k" in printed


def test_betas_and_the_pairs_of_the_ramp(run) -> None:
    found = json.loads(run("solve", "betas", *MODEL, "--json").stdout)
    assert (found["low"], found["high"]) == (23, 40)
    back = json.loads(run("solve", "betas", *MODEL, "--pairs", "23", "40", "--json").stdout)
    assert (back["exact_low"], back["exact_high"]) == pytest.approx((23, 40))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("convert", "alpah", "4"), "there is no quantity 'alpah'"),
        (("convert", "factor", "0"), "factor must be"),
        (("attention-factor", "-1"), "factor must be"),
        (("lengths", *MODEL, "--target", "0"), "target must be"),
        (("betas", *MODEL, "--beta-fast", "0.5"), "beta_fast must be at least beta_slow"),
    ],
)
def test_what_cannot_be_solved_is_a_sentence(run, words: tuple[str, ...], sentence: str) -> None:
    words = tuple("--" if word == "-1" else word for word in words) if "-1" in words else words
    words = (*words, "-1") if words[-1] == "--" else words
    result = run("solve", *words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_zero_beside_a_configuration_is_not_replaced(run, config_file) -> None:
    for option in ("--base", "--original", "--rotary-dim"):
        result = run(
            "solve", "lengths", "--config", config_file(QWEN), option, "0", "--target", "9"
        )
        assert result.exit_code == 2
        assert "got 0" in result.stderr


def test_json_is_strict(run) -> None:
    result = run("solve", "lengths", "--original", "8", "--target", "16", "--base", "1e15",
                 "--rotary-dim", "8", "--json")  # fmt: skip
    json.loads(result.stdout, parse_constant=pytest.fail)
