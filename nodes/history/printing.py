"""Print layer 2 for a prompt: what is said there is data, and cannot pose as a part of the prompt."""

from polycontext.nodes._parts import printed
from polycontext.nodes.history.depth import Depth, check_depth
from polycontext.nodes.history.parts import ConversationPart, conversation_parts, visible_conversation
from polycontext.nodes.history.turns import ConversationHistory

NOTHING_SAID = "(nothing was said yet)"

_PARTS = {
    2: frozenset({ConversationPart.RECENT}),
    5: frozenset({ConversationPart.RECENT, ConversationPart.SUMMARY}),
}
"""What the depths show that do not show everything."""


def format_conversation_for_prompt(history: ConversationHistory, depth: Depth = "full") -> str:
    r"""Print `history` for injection into a prompt (seed 003 layer 2).

    `depth` 2 prints the last two exchanges only, 5 the last five and the summary of
    earlier ones, ``'full'`` everything, engagement and pending state included. A part that is
    empty is left out.

    Law: no line starts with anything that was said; what was said goes on behind ``> ``.

    Raises:
        UnknownDepthError: another depth.

    >>> from polycontext.nodes.history import ConversationTurn
    >>> history = ConversationHistory([ConversationTurn("Any soup?", "Three soups."), ConversationTurn("The\n## second")])
    >>> print(format_conversation_for_prompt(history, 2))
    ### Recent turns
    User: Any soup?
    Assistant: Three soups.
    User: The
    > ## second
    Assistant: (not answered yet)
    """
    check_depth(depth)
    if depth != "full":
        history = visible_conversation(history.narrowed(depth), _PARTS[depth])
    return printed(conversation_parts(history), NOTHING_SAID)
