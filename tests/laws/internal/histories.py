"""The laws of a session's history."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from attrs import evolve

from polycontext.base import PolycontextError
from polycontext.base.law import agree, holds, law
from polycontext.polynomial.context_session import ContextSession
from polycontext.polynomial.errors import (
    ContextOverflowError,
    ContextPressureError,
    IllegalDirectionError,
)
from polycontext.polynomial.inputs import ContextInput
from polycontext.polynomial.journal.conversation import replay
from polycontext.polynomial.journal.events import TurnEvent, is_erased
from polycontext.polynomial.journal.timeline import count_by_class
from polycontext.polynomial.session.recall import logged_atoms
from polycontext.pressure import pressure_of, view_of
from polycontext.window import Role, Turn
from polycontext.window.providers import Provider
from tests.laws.outcomes import add_turns

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


@law('docs/history.md, "Go back"')
def going_back_restores_what_was(session: ContextSession, inputs: Sequence[ContextInput]) -> None:
    """`at`, `fork` and `rewind` lead to the log, view, classes and documents of a moment.

    The state is that of the moment, too, except that the guards decide it after a rewind. A rewind
    to the revision before another rewind undoes it.
    """
    state, before, revision = session.state, _facts(session), session.history.revision
    add_turns(session, inputs)
    if session.history.revision > revision:
        # A compression right after a moment may belong to it.
        with suppress(PolycontextError):
            session.compress(0.1)
    after, newest = _facts(session), session.history.revision
    for past in (session.history.at(revision), session.history.fork("branch", revision)):
        agree((past.state, _facts(past)), (state, before))
    session.history.rewind(revision)
    agree(_facts(session), before, way="rewind")
    session.history.rewind(newest)
    agree(_facts(session), after, way="rewind again")


@law('docs/history.md, "Timeline"')
def the_timeline_shows_what_stood(session: ContextSession) -> None:
    """Each entry, and `at` after it, is what replaying the journal up to there gives.

    What came and went leads from the view of one entry to that of the next, as sets of ids.
    """
    events, begun = session.history.events(), session.history.at(0).conversation
    view = set[str]()
    entries = session.history.timeline()
    agree([entry.revision for entry in entries], list(range(len(events) + 1)))
    for entry in entries:
        stood = replay(events[: entry.revision], begun)
        agree(session.history.at(entry.revision).conversation, stood)
        view = (view - {*entry.went}) | {*entry.came}
        agree(view, {turn.resource_id for turn in stood.window.all_turns()})
        told = entry.state, entry.pressure, entry.tokens
        agree(told, (stood.state, pressure_of(stood.window), count_by_class(stood.window)))


@law('docs/pressure.md, "Refill"; Ore, Galois Connexions')
def refilling_only_raises_fidelities(session: ContextSession) -> None:
    """For the views v and w before and after a refill, ``expand(v) <= w``, so ``compress(w) == v``.

    Nothing comes back above the low mark, and a second refill changes nothing.
    """
    log, before, projector = session.conversation.log, session.window, session.policy.projector
    atoms = logged_atoms(log, [turn.resource_id for turn in log])
    with suppress(ContextPressureError, IllegalDirectionError):
        session.history.refill()
        after, revision = session.window, session.history.revision
        had, has = view_of(before, atoms), view_of(after, atoms)
        holds(projector.expand(had) <= has, f"at least {had!r}", has)
        agree(has.meet(had), had)
        low = max(pressure_of(before), session.policy.low(after))
        holds(pressure_of(after) <= low, f"at most {low}", pressure_of(after))
        session.history.refill()
        agree(session.history.revision, revision)


@law('docs/history.md, "Take a compression back"')
def undoing_restores_the_view(session: ContextSession, inputs: Sequence[ContextInput]) -> None:
    """Taking a compression back restores every request byte for byte if nothing came since.

    Taking it back again restores the compressed requests. Turns that came since stay at the end,
    in the log and in the view.
    """
    before, shown, length = _requests(session), _ids(session), len(session.log())
    with suppress(PolycontextError):
        session.compress(0.1)
    receipts = session.history.receipts()
    if _ids(session) == shown or not receipts:
        return
    after, key = _requests(session), receipts[-1].id
    # A view that went over its budget with its last turn cannot be restored.
    with suppress(ContextOverflowError):
        session.history.undo()
        agree(_requests(session), before, way="undo")
        session.history.undo()
    agree(_requests(session), after, way="undo again")
    add_turns(session, inputs)
    log = session.log()
    with suppress(ContextOverflowError):
        session.history.undo(key)
        came = [turn.resource_id for turn in log[length:]]
        agree((session.log(), _ids(session)), (log, [*shown, *came]), way="undo later")


def _ids(session: ContextSession) -> list[str]:
    return [turn.resource_id for turn in session.window.all_turns()]


def _requests(session: ContextSession) -> list[str]:
    """Return the session's request to every provider as text, or why there is none."""
    found = list[str]()
    for provider in Provider:
        try:
            rendered = session.request(provider, allow_open=True)
        except PolycontextError as error:
            found.append(type(error).__name__)
        else:
            found.append(repr((rendered.messages, rendered.system)))
    return found


def _facts(session: ContextSession) -> tuple[object, ...]:
    conversation, log = session.conversation, session.log()
    classes = conversation.window.linearity.classes_of([turn.resource_id for turn in log])
    view = conversation.window.all_turns()
    return log, view, classes, conversation.documents


def _without_words(turn: Turn) -> Turn:
    calls = tuple(evolve(call, arguments="{}") for call in turn.tool_calls)
    return evolve(turn, content="", tool_calls=calls, parts=())


def _words(turns: Iterable[Turn]) -> set[str]:
    """Return the identifying words of texts and call arguments."""
    said = (text for turn in turns for text in (turn.text, *(c.arguments for c in turn.tool_calls)))
    return {word for text in said for word in _WORD.findall(text)}
