"""Say what came out of a step where the model did not."""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.nodes.entities.naming import singular
from polycontext.nodes.reasoning.summaries import StepKind

_DONE = {StepKind.READ: "read", StepKind.ANALYZE: "analyzed", StepKind.GENERATE: "generated", StepKind.WRITE: "wrote"}


def generic_outcome(kind: StepKind, subdomain: str, result: Any = None, entities_involved: Sequence[str] = ()) -> str:
    """Return the outcome of a step as a count (seed 003 layer 3); of its result's items, else of the refs it touched.

    >>> generic_outcome(StepKind.READ, "recipes", [{"name": "soup"}] * 5)
    'read 5 recipes'
    >>> generic_outcome(StepKind.WRITE, "recipes", {"saved": True}, ["recipe_1"])
    'wrote 1 recipe'
    >>> generic_outcome(StepKind.ANALYZE, "recipes")
    'analyzed recipes'
    """
    count = len(result) if isinstance(result, Sequence) and not isinstance(result, str) else len(entities_involved) or None
    if count is None and isinstance(result, Mapping):
        count = 1
    if count is None:
        return f"{_DONE[kind]} {subdomain}"
    return f"{_DONE[kind]} {count} {singular(subdomain) if count == 1 else subdomain}"
