"""The laws of a session's history."""

import re
from collections.abc import Iterable, Sequence

from attrs import evolve

from polycontext.base.law import agree, holds, law
from polycontext.window import Role, Turn

from ..context_session import ContextSession
from ..journal.events import TurnEvent, is_erased

_WORD = re.compile(r"\b(?=\w*\d)(?=\w*[^\W\d])\w{6,}")
"""A word with letters and digits: it identifies its turn, and no frame or title of ours has one."""


@law('docs/history.md, "Forget a turn"')
def forgotten_words_are_nowhere(session: ContextSession, choices: Sequence[int]) -> None:
    """After a turn is forgotten, words that it alone said are in no event and at no revision.

    All other turns have the same text as before, and the view has the same turns.
    """
    came = [event.turn for event in session.history.events() if isinstance(event, TurnEvent)]
    if not came:
        return
    chosen = came[sum(choices) % len(came)].resource_id
    gone = _words(turn for turn in came if turn.resource_id == chosen)
    gone -= _words(turn for turn in came if turn.resource_id != chosen)
    # Names of fields and roles are no words of a turn.
    empty = session.history.at(0).conversation
    gone.difference_update(_WORD.findall(repr([empty, *Role, *map(_without_words, came)])))
    log, view = session.log(), [turn.resource_id for turn in session.window.all_turns()]
    session.history.forget(chosen)
    revisions = range(session.history.revision + 1)
    kept = [session.history.events(), [session.history.at(each).conversation for each in revisions]]
    left = gone.intersection(_WORD.findall(repr(kept)))
    holds(not left, "no word of the forgotten turn", sorted(left), chosen=chosen)
    agree([turn.resource_id for turn in session.window.all_turns()], view, chosen=chosen)
    others = [turn for turn in log if turn.resource_id != chosen and not is_erased(turn)]
    # A system turn that says the same is its copy, as is what stands in place of an undone turn.
    said = {turn.text for turn in came if turn.resource_id == chosen}
    is_undone = chosen not in {turn.resource_id for turn in log}
    others = [
        turn
        for turn in others
        if turn.text not in said or not (is_undone or turn.role is Role.SYSTEM)
    ]
    texts = {turn.resource_id: turn.text for turn in session.log()}
    agree([texts.get(turn.resource_id) for turn in others], [turn.text for turn in others])


def _without_words(turn: Turn) -> Turn:
    calls = tuple(evolve(call, arguments="{}") for call in turn.tool_calls)
    return evolve(turn, content="", tool_calls=calls, parts=())


def _words(turns: Iterable[Turn]) -> set[str]:
    """Return the identifying words of texts and call arguments."""
    said = (text for turn in turns for text in (turn.text, *(c.arguments for c in turn.tool_calls)))
    return {word for text in said for word in _WORD.findall(text)}
