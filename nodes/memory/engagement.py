"""What a conversation is about as a whole, kept up turn by turn without a model."""

from attrs import field, frozen

from polycontext.nodes._quoting import one_line
from polycontext.nodes._values import are_texts, is_text, texts
from polycontext.nodes.history import condense
from polycontext.nodes.reasoning import TurnExecutionSummary
from polycontext.window import TokenCounter

MAX_GOALS = 3
MAX_EXPRESSED = 5
ITEM_TOKENS = 30
"""How many tokens one goal, or one thing that the user expressed, may take."""
STATED_TOKENS = 120


@frozen
class Engagement:
    """Hold a conversation's last goals and what the user expressed; each oldest first.

    `stated` is a summary in somebody's own words, such as a model's; it stands in
    place of the derived one until the next turn is closed.

    >>> summary = TurnExecutionSummary(1, "plan_direct", "Find a soup", user_expressed="wants quick meals")
    >>> Engagement().after(summary).text
    'Goals: Find a soup. The user: wants quick meals.'
    """

    goals: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    expressed: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    stated: str = field(default="", validator=is_text)

    def after(self, summary: TurnExecutionSummary, stated: str = "", *, counter: TokenCounter | None = None) -> "Engagement":
        """Return the engagement after a closed turn; what is repeated moves to the end instead of standing twice."""
        return Engagement(
            _with(self.goals, condense(one_line(summary.think_goal), ITEM_TOKENS, counter=counter))[-MAX_GOALS:],
            _with(self.expressed, condense(one_line(summary.user_expressed), ITEM_TOKENS, counter=counter))[-MAX_EXPRESSED:],
            condense(stated, STATED_TOKENS, counter=counter),
        )

    @property
    def text(self) -> str:
        """Return the summary as one line; empty before anything is known."""
        parts = (("Goals", "; ".join(self.goals)), ("The user", "; ".join(self.expressed)))
        return self.stated or " ".join(f"{label}: {said}." for label, said in parts if said)


def _with(items: tuple[str, ...], item: str) -> tuple[str, ...]:
    return (*(other for other in items if other != item), item) if item else items
