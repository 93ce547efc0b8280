"""Print layer 3 for a prompt, each node its own part of it (seed 003 layer 3, "Who Consumes What")."""

from typing import Literal, get_args

from attrs import define

from polycontext.linearity import CallerError
from polycontext.nodes._parts import printed
from polycontext.nodes.reasoning.parts import NODE_PARTS, reasoning_parts, visible_reasoning
from polycontext.nodes.reasoning.summaries import ReasoningTrace

ReasoningNode = Literal["understand", "think", "act", "reply"]

NOTHING_HAPPENED = "(nothing happened yet)"


@define(slots=False, eq=False)
class UnknownNodeError(CallerError, ValueError):
    """Refuse a node for which no part of the reasoning is chosen."""

    node: object

    def __str__(self) -> str:
        return f"reasoning for node {self.node!r:.60}; legal: {', '.join(get_args(ReasoningNode))}"


def format_reasoning_for_prompt(trace: ReasoningTrace, node: ReasoningNode) -> str:
    """Print what `node` may see of `trace` (seed 003 layer 3).

    ``understand``: its own decisions about entities, turn by turn. ``think``: the last
    turns in full, their curation, the phase, what the user expressed. ``act``: the steps of
    the turn under way with their notes. ``reply``: the outcomes, the phase, what the user expressed. Why
    a turn was blocked stands wherever the turn does.

    Law: no line starts with anything that a model or a user said.

    Raises:
        UnknownNodeError: another node.

    >>> from polycontext.nodes.reasoning import StepSummary, TurnExecutionSummary
    >>> step = StepSummary(1, "read", "recipes", "Find soups", "read 3 recipes", ["recipe_1"], "the second is vegan")
    >>> trace = ReasoningTrace(current=TurnExecutionSummary(4, "plan_direct", "Find a soup", [step]))
    >>> print(format_reasoning_for_prompt(trace, "act"))
    ### This turn (turn 4)
    - Step 1 (read recipes): Find soups
      Outcome: read 3 recipes
      Note: the second is vegan
    >>> print(format_reasoning_for_prompt(trace, "reply"))
    ### This turn (turn 4)
    - read 3 recipes
    """
    if node not in NODE_PARTS:
        raise UnknownNodeError(node)
    return printed(reasoning_parts(visible_reasoning(trace, NODE_PARTS[node])), NOTHING_HAPPENED)
