"""A step without an outcome of the model's gets a count."""

from typing import Any

import pytest

from polycontext.nodes.memory.current_exchange import generic_outcome
from polycontext.nodes.reasoning import StepKind


@pytest.mark.parametrize(
    ("kind", "result", "refs", "said"),
    [
        (StepKind.READ, [1, 2], (), "read 2 recipes"),
        (StepKind.READ, [], ("recipe_1",), "read 0 recipes"),
        (StepKind.READ, (1,), (), "read 1 recipe"),
        (StepKind.WRITE, {"id": 1}, (), "wrote 1 recipe"),
        (StepKind.WRITE, {"id": 1}, ("recipe_1", "recipe_2"), "wrote 2 recipes"),
        (StepKind.ANALYZE, "the second", (), "analyzed recipes"),
        (StepKind.GENERATE, None, (), "generated recipes"),
        (StepKind.GENERATE, None, ("gen_recipe_1",), "generated 1 recipe"),
    ],
)
def test_the_count_is_of_what_there_is(
    kind: StepKind, result: Any, refs: tuple[str, ...], said: str
) -> None:
    """Items of a list count first, then the refs touched; a text is no list of letters."""
    assert generic_outcome(kind, "recipes", result, refs) == said
