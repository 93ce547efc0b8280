"""What a list brings back: gists and attachments that a request handed out once, and that stand again for what they are.

On the wire both are user messages. They are known by their form, in lists alone: what somebody adds as the user's words is the user's words.
"""

from collections.abc import Iterable, Iterator

from attrs import evolve

from polycontext.pressure import is_gist_text
from polycontext.window import Role, Turn
from polycontext.window.opening import is_opening
from polycontext.window.turn import GIST


def known_again(turns: Iterable[Turn], *, has_task: bool) -> Iterator[Turn]:
    r"""Yield `turns` as what they were when they were handed out.

    A text that is framed as a gist is nobody's words, and one that looks like an attached item is that item. What the user says
    first is the task, whatever it looks like, unless the conversation `has_task`.

    Law: no word of a turn changes.

    >>> gist = Turn("user", "[Summary of earlier messages]\nuser: two soups")
    >>> [turn.is_gist for turn in known_again([Turn("user", "Soup?"), gist], has_task=False)]
    [False, True]
    """
    for turn in turns:
        if turn.role is Role.TOOL or (turn.role is Role.USER and has_task):
            yield _known(turn)
        else:
            yield turn
        has_task = has_task or (turn.role is Role.USER and not is_opening(turn))


def _known(turn: Turn) -> Turn:
    if is_gist_text(turn.text, turn.role):
        return evolve(turn, metadata={**turn.metadata, GIST: True})
    if turn.role is Role.USER and turn.text.startswith("### "):
        from polycontext.window.items.attachment import attached_metadata  # noqa: PLC0415 - for texts that look like one

        found = attached_metadata(turn.text)
        return turn if found is None else evolve(turn, metadata={**turn.metadata, **found})
    return turn
