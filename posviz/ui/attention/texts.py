"""Code that reproduces what is shown, as texts of the board."""

from __future__ import annotations

from typing import Any

from posviz.catalog import link
from posviz.measures import Content
from posviz.ui.attention import curves
from posviz.ui.attention.view import View
from posviz.ui.code_block import code_block


def texts(view: View) -> list[dict[str, Any]]:
    """The calls that give the numbers of the plots, and the link of every encoding."""
    group = "Code"
    blocks = [code_block("python", group, "posviz", code(view))]
    links = "\n".join(link(item.spec) for item in view.shown)
    return [*blocks, code_block("links", group, "links", links)]


def code(view: View) -> str:
    """Python that prints the numbers behind the plots of the first encoding."""
    at, spec = view.reading, view.shown[0].spec
    default = Content()
    given = {
        name: value
        for name, value in view.content.model_dump().items()
        if value != getattr(default, name)
    }
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    head = f", head={at.head}" if at.head else ""
    length = view.shown[0].within(at.length)
    scores = _scores(view, length, head)
    numpy = "import numpy as np\n" if "np." in scores else ""
    return (
        f"{numpy}import posviz\n"
        "from posviz import measures\n\n"
        f'spec = posviz.parse("{link(spec)}")\n'
        f"content = measures.Content({arguments})\n"
        f"lengths = measures.context_lengths({length})\n"
        f"curves = measures.context_curves(spec, lengths, content=content{head})\n"
        "print(curves.entropy, curves.reach, curves.needle)\n"
        f"profile = measures.weight_profile(spec, {length}, content=content{head})\n"
        "print(profile.weights, profile.half_life)\n"
        f"{scores}\n"
    )


def _scores(view: View, length: int, head: str) -> str:
    """The lines that give the score against distance, for the question that is asked."""
    at, item = view.reading, view.shown[0]
    if at.question == "equal":
        return f"print(measures.equal_scores(spec, length={length}, match={at.match!r}{head}))"
    if at.question == "independent":
        return (
            f"scores = measures.independent_scores(\n"
            f"    spec, lengths - 1, length={length}, sigma={at.sigma!r}, seed={at.seed}{head}\n)\n"
            "print(scores.mean, scores.spread)"
        )
    pair = (at.correlation, at.seed, at.typed_query, at.typed_key)
    within = view.zooms.get("decay")
    drawn = curves.given_scores(link(item.spec), length, pair, at.head, at.distance, within)
    if isinstance(drawn, str):
        return "# a given query and key have no place in this encoding"
    lines = [
        "size = measures.logit_row(spec, 1).head_dim or measures.HEAD_DIM",
        f"query, key = measures.correlated_pair(size, {at.correlation!r}, {at.seed})",
    ]
    for name, typed in (("query", at.typed_query), ("key", at.typed_key)):
        if typed:
            lines.append(f"{name} = np.resize({typed!r}, size)")
    return "\n".join(
        [*lines, f"print(measures.given_scores(spec, query, key, length={length}{head}))"]
    )
