"""What Markdown shows of sentences: other people's text as it is, and our own commands as code."""

from __future__ import annotations

import pytest

from posviz.ui.literal import literal, with_code


@pytest.mark.parametrize(
    ("sentence", "markdown"),
    [
        ("`make models` gets it.", "`make models` gets it."),
        ("Get it (with pip: a[b]): `make a_b`.", r"Get it \(with pip\: a\[b\]\)\: `make a_b`."),
        ("No code, a `lone backtick.", r"No code, a \`lone backtick."),
        ("", ""),
    ],
)
def test_of_our_own_sentence_only_code_is_markdown(sentence: str, markdown: str) -> None:
    assert with_code(sentence) == markdown


def test_backticks_of_other_people_stay_backticks() -> None:
    assert literal("x`y`") == r"x\`y\`"
