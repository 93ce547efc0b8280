# ruff: noqa: SLF001 - what makes a session of two is a part of sessions, loaded when it is wanted
"""Merge two sessions into a new one: its journal begins with as much of one of theirs as it can, and takes the rest in turn by turn.

So gists that stand in that beginning stand on, with the prompt cache and the thinking that is bound to them. Of what comes behind, the words
are taken in anew: what either session did to its view there (compressions, recalls, clearings) is not done again.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from functools import partial
from itertools import accumulate
from operator import eq
from typing import Any, TypeVar

import orjson
from attrs import evolve, frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial.algebra.merge import Accepted, Merged, merge_accepted, with_free_ids
from polycontext.polynomial.errors import ContextOverflowError
from polycontext.polynomial.inputs import ContextInput
from polycontext.polynomial.journal.conversation import Conversation, replayed
from polycontext.polynomial.journal.events import Event
from polycontext.polynomial.machine.step import is_over_budget, overflow
from polycontext.polynomial.session.commands import Add, Asked, Command, Patch, Take, Together
from polycontext.polynomial.session.kept import KeptSession
from polycontext.polynomial.session.options import require, whole_number, written
from polycontext.polynomial.session.writer import Writer
from polycontext.polynomial.state import ContextState
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.pressure import ConflictError
from polycontext.window import REQUEST_OVERHEAD, Role

Rule = Callable[[Any, Any], Any]
"""Returns the JSON data of a companion, of those of both sessions."""

_WHY = "its class in the session it was merged with"


@frozen
class _Begun:
    """Hold the events that a merged journal begins with, where they lead, and what comes behind: turns whose class rises, turns that are added."""

    events: Sequence[Event]
    conversation: Conversation
    raised: Sequence[Accepted]
    rest: Sequence[Accepted]


S = TypeVar("S", bound=KeptSession)


def merged(
    first: S,
    second: KeptSession,
    session_id: str,
    store: SessionStore | None,
    *,
    interleave: bool,
    rules: Mapping[str, Rule],
    max_tokens: int | None,
) -> S:
    """Return the session that `ContextSession.merge` tells of; nothing is stored unless all of it is."""
    require("other", second, isinstance(second, KeptSession), "another ContextSession")
    both = merge_accepted(first.conversation, second.conversation, interleave=interleave)
    companions, documents = _companions(first, second, rules)
    empty = Conversation(first._writer.empty.window.resized(_room(first, max_tokens)), machine=first.conversation.machine)
    same_counter = first.window.counter == second.window.counter
    sides: tuple[KeptSession, KeptSession] = (first, second)
    lengths = [(both.begun_by(side), session.revision) for side, session in enumerate(sides)]
    side = int(same_counter and lengths[1] > lengths[0])
    begun = _beginning(sides[side], sides[1 - side], empty, both, side)
    memory = InMemoryStore()
    memory.append(session_id, 0, begun.events, companions)
    session = copy(first)
    session._writer = Writer(empty, first.policy, memory, session_id)
    session._reports = {}
    _take_in(session, begun, documents)
    kept_in = first._writer.store if store is None else store
    kept_in.append(session_id, 0, session.events(), companions)
    session._keep_in(kept_in, beside=store is None)
    return session


def _room(session: KeptSession, max_tokens: int | None) -> int:
    """Return the tokens of the new window: what `max_tokens` leaves, or as many as the session's."""
    taken = session._taken
    return session._writer.given if max_tokens is None else whole_number("max_tokens", max_tokens, taken + 1) - taken


# --- the beginning ----------------------------------------------------------------


def _beginning(own: KeptSession, other: KeptSession, empty: Conversation, both: Merged, side: int) -> _Begun:
    """Return the longest beginning of the journal of `own`, which is `side`, from which what is merged can go on."""
    events, log, most = own.events(), own.conversation.log, both.begun_by(side)
    told = list(both.told_by(side))
    bounds = {length: place for place, length in enumerate(accumulate((len(atom) for atom, _ in told), initial=0))}
    steps = [empty, *(after for _, _, after in replayed(events, empty))]
    for number in range(len(events), -1, -1):
        before = steps[number]
        if before.window.open_calls or len(before.log) > most or len(before.log) not in bounds:
            continue
        # A log that was rewound is none that the session has now.
        if not all(map(eq, before.log, log)):
            continue
        behind, ledger = bounds[len(before.log)], before.window.linearity
        raised = [each for atom, _ in told[:behind] for each in atom if each.resource_class > ledger.get(each.turn.resource_id)]
        rest = with_free_ids(told[behind:], own.window.linearity, other.window.linearity, own.window.counter)
        begun = _Begun(events[:number], before, raised, list(rest))
        if _goes_on(begun):
            return begun
    raise AssertionError("from an empty journal everything goes on")


def _goes_on(begun: _Begun) -> bool:
    """Tell whether what comes behind may come there: not an answer where nothing stands, nor a pin for what has yielded."""
    if begun.conversation.state is ContextState.EMPTY and (begun.raised or (begun.rest and begun.rest[0].turn.role is Role.ASSISTANT)):
        return False
    standing = {turn.resource_id for turn in begun.conversation.window.all_turns()}
    return all(each.turn.resource_id in standing for each in begun.raised if each.resource_class is ResourceClass.PRESERVED)


# --- the rest ---------------------------------------------------------------------


def _take_in(session: KeptSession, begun: _Begun, documents: Mapping[str, Any]) -> None:
    """Raise classes, and add what comes behind, as one commit; a session that leaves compressing to its caller compresses for this as well."""
    commands: list[Command] = [Take(ContextInput.promote(each.turn.resource_id, each.resource_class, _WHY)) for each in begun.raised]
    commands += [Add(each.turn, each.resource_class, pins=each.pinned) for each in begun.rest]
    commands += [Patch(name, partial(_becoming, data)) for name, data in documents.items()]
    writer, policy = session._writer, session.policy
    writer.policy = evolve(policy, auto=True)
    try:
        # The journal it begins with may be one of a larger window: where compressing is left to the caller, that is as it was.
        if commands or policy.auto:
            writer.write(Asked(Together(tuple(commands)), session._clock()))
    except ContextOverflowError:
        raise _overflow(session, begun) from None
    writer.policy = policy
    ledger = session.window.linearity
    # What the other pinned turns leave no room for is taken in REQUIRED: here that would lose what was PRESERVED.
    lowered = any(each.resource_class > ledger.get(each.turn.resource_id) for each in begun.rest)
    if lowered or (policy.auto and is_over_budget(session.window)):
        raise _overflow(session, begun)


def _becoming(data: Any, document: Any) -> list[dict[str, Any]] | None:
    return None if document == data else [{"op": "add", "path": "", "value": data}]


def _overflow(session: KeptSession, begun: _Begun) -> ContextOverflowError:
    """Return the error that names how large a window would do."""
    window, taken = begun.conversation.window, session._taken
    for each in begun.raised:
        window = window.promote(each.turn.resource_id, each.resource_class)
    for each in begun.rest:
        window = window.append(evolve(each.turn, tokens=None), each.resource_class, pinned=each.pinned)
    return overflow(window, session.policy.projector, "what is PRESERVED in both", REQUEST_OVERHEAD + taken, window.max_tokens + taken)


# --- companions --------------------------------------------------------------------


def _companions(first: KeptSession, second: KeptSession, rules: Mapping[str, Rule]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return what accompanies both, by name: companions as texts, and documents that are kept by patches.

    Raises:
        ConflictError: some differ for which there is no rule; names them.
    """
    mine, yours = _data_of(first), _data_of(second)
    together = {**yours, **mine}
    differing = [name for name in mine if yours.get(name, mine[name]) != mine[name]]
    known = {name: rule for name in differing if (rule := rules.get(name) or _own_rule(first, name)) is not None}
    unruled = sorted(set(differing) - set(known))
    if unruled:
        raise ConflictError(f"companions {unruled}", "one of each", "two that differ, and no rule under `companions` or method `merged`")
    for name, rule in known.items():
        together[name] = orjson.loads(written(rule(deepcopy(mine[name]), deepcopy(yours[name])), name))
    documents = {**first.conversation.documents, **second.conversation.documents}
    patched = {name: data for name, data in together.items() if name in documents}
    return {name: written(data, name) for name, data in together.items() if name not in documents}, patched


def _data_of(session: KeptSession) -> dict[str, Any]:
    """Return what accompanies a session as JSON data."""
    conversation = session.conversation
    return {**{name: orjson.loads(text) for name, text in conversation.companions.items()}, **conversation.documents}


def _own_rule(session: KeptSession, name: str) -> Rule | None:
    rule: Rule | None = getattr(session._writer.companions.get(name), "merged", None)
    return rule
