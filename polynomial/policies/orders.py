"""A search over all orders of events for one that breaks a policy.

A policy says what may never happen before something else. `find_violation` searches all orders of
events up to a length: turns, calls and their results, compressions, rewinds, reopening after a
crash, timers, and the events that the machine adds. It is breadth-first, so what it finds is
shortest.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from attrs import evolve, frozen

from polycontext.base import UnknownNameError
from polycontext.linearity import UNIX_EPOCH
from polycontext.window import ContextWindow, EstimatingCounter, ToolCall, Turn

from ..inputs import ContextInput, InputKind, Kind
from ..journal.conversation import Conversation, replay
from ..journal.events import Event
from ..machine.context_machine import ContextMachine, decider
from ..machine.step import ContextPolicy, Step
from ..machine.timers import due
from ..session.commands import Add, Command, Compress, Rewind, Take, WriteRequest
from ..session.decisions import decide, go_on
from ..session.drafts import SummaryRequest
from ..state import ContextState

_LATER = timedelta(days=366)
"""How far the clock moves when a timer is to run out."""

_WIDEST = 20_000
"""How many conversations a search looks at."""


Given = Mapping[str, Any] | Sequence[Any]
"""Arguments of an event: by name, or by position."""


@frozen
class Policy:
    """A policy: `never` happens before `before`; with `each`, every one needs one of its own.

    Both are names of events, or else of tools. A tool happens when the result of its call is
    accepted.
    """

    never: str
    before: str
    each: bool = False


@frozen
class Found:
    """The result of a search.

    `violation` is the shortest order of events that breaks the policy, empty if none does. `seen`
    is the number of conversations that the search looked at, `happened` what happened in them.
    """

    violation: tuple[str, ...]
    seen: int
    happened: frozenset[str]


@frozen
class _Path:
    """A conversation, how it came about, and whether the policy permits what comes next.

    `stands` has, for each revision, the conversation and whether it was permitted there.
    """

    conversation: Conversation
    permitted: bool = False
    said: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    stands: tuple[tuple[Conversation, bool], ...] = ()

    @property
    def key(self) -> object:
        """Return what tells this path from others with the same future."""
        window = self.conversation.window
        turns = [
            (turn.role, tuple(call.name for call in turn.tool_calls), turn.is_gist)
            for turn in window.all_turns()
        ]
        place = self.conversation.place, self.permitted, window.turns_since_compression
        return *place, tuple(turns), window.open_calls


def find_violation(
    machine: type[ContextMachine],
    policy: Policy,
    *,
    depth: int = 6,
    arguments: Mapping[str, Given] | None = None,
) -> Found:
    """Search all orders of at most `depth` events for one that breaks `policy`.

    `arguments` are the arguments of events that the machine adds: by name as a mapping, or by
    position as a list. Each event is sent without arguments, too, and with the `examples` of the
    machine.

    Raises:
        UnknownNameError: `arguments` names an event that the machine does not add, the policy one
            that is nearly an event of it, or a transition a method that the machine does not have.
    """
    decider(machine)  # refuses what cannot run, before every event is refused for it
    own = {*filter(_is_own, machine.places.kinds)}
    for name in arguments or {}:
        if name not in own:
            advice = "" if own else "The machine adds no events of its own."
            raise UnknownNameError("event", name, tuple(sorted(own)), advice=advice)
    for name in (policy.never, policy.before):
        kinds = machine.places.kinds
        # A tool may be called a little like an event of every machine, and often is.
        near = get_close_matches(name, own) or get_close_matches(name, kinds, cutoff=0.85)
        if near and name not in kinds:
            raise UnknownNameError("event", name, tuple(sorted(own)), tuple(map(str, near)))
    window = ContextWindow(8_000, counter=EstimatingCounter())
    start = _Path(Conversation(window, machine=machine))
    start = evolve(start, stands=((start.conversation, False),))
    paths, known, happened = [start], {start.key}, set[str]()
    for _ in range(depth):
        further: list[_Path] = []
        for path in paths:
            for said, name, reached in _continued(path, policy, arguments or {}):
                happened |= {name} - {""}
                if name == policy.never and not path.permitted:
                    return Found((*path.said, said), len(known), frozenset(happened))
                permits = name == policy.before or (
                    reached.permitted and not (policy.each and name == policy.never)
                )
                after = evolve(
                    reached,
                    permitted=permits,
                    said=(*path.said, said),
                    stands=(*reached.stands, (reached.conversation, permits)),
                )
                if after.key not in known and len(known) < _WIDEST:
                    known.add(after.key)
                    further.append(after)
        paths = further
    return Found((), len(known), frozenset(happened))


def _is_own(kind: Kind) -> bool:
    """Return whether an event is one that the machine adds to those of the library."""
    return not isinstance(kind, InputKind) and not kind.startswith("done")


# --- one more event -------------------------------------------------------------------


def _continued(
    path: _Path, policy: Policy, arguments: Mapping[str, Given]
) -> Iterator[tuple[str, str, _Path]]:
    """Yield each event that is accepted next: in words, the name of what happens, and the path."""
    for said, name, command, late in _commands(path, policy, arguments):
        after = _after(path, command, late=late)
        if after is not None:
            back = path.stands[command.target.revision][1] if isinstance(command, Rewind) else None
            yield said, name, after if back is None else evolve(after, permitted=back)
    yield "reopen the session", "", _reopened(path)


def _commands(
    path: _Path, policy: Policy, arguments: Mapping[str, Given]
) -> Iterator[tuple[str, str, Command, bool]]:
    conversation = path.conversation
    window, number = conversation.window, conversation.revision
    yield "user_turn", InputKind.USER_TURN, Add(Turn("user", "And now?")), False
    yield "assistant_turn", InputKind.ASSISTANT_TURN, Add(Turn("assistant", "Well.")), False
    known = conversation.machine.places.kinds
    for tool in dict.fromkeys((policy.never, policy.before)):
        if tool in known:
            continue
        call = ToolCall(f"c{number}", tool, "{}")
        asks = Turn("assistant", None, tool_calls=(call,))
        yield f"assistant_turn that calls {tool}", "", Add(asks), False
    names = {call.id: call.name for turn in window.all_turns() for call in turn.tool_calls}
    for call_id in window.open_calls[:1]:
        name = names.get(call_id, "")
        yield f"result of {name}", name, Add(Turn("tool", "Done.", tool_call_id=call_id)), False
    yield "compress", InputKind.COMPRESS, Compress(0.5), False
    yield "clear", InputKind.CLEAR, Take(ContextInput.clear()), False
    places = conversation.machine.places
    entered = (UNIX_EPOCH,) * len(places.tables)
    timers = {*due(places, conversation.place, entered, UNIX_EPOCH + _LATER)}
    for kind in places.legal(conversation.place):
        if _is_own(kind):
            examples = conversation.machine.examples.get(kind, ())
            for given in [{}, *examples, *([arguments[kind]] if kind in arguments else [])]:
                said = f"{kind}{given or ''}"
                by_name = given if isinstance(given, Mapping) else {}
                by_position = () if isinstance(given, Mapping) else given
                take = Take(ContextInput.named(kind, *by_position, **by_name))
                yield (f"{said}, later" if kind in timers else said), kind, take, kind in timers
    for earlier, _ in path.stands[:-1]:
        if earlier.revision < number:
            yield f"rewind to revision {earlier.revision}", "", Rewind(earlier), False


def _after(path: _Path, command: Command, *, late: bool) -> _Path | None:
    """Return the path after a command, or None if it is refused or changes nothing."""
    conversation = path.conversation
    since = max([*filter(None, conversation.times), UNIX_EPOCH])
    request = WriteRequest(command, since + _LATER if late else since)
    steps = decide(conversation, request, _POLICY)
    try:
        made = go_on(steps)
        while isinstance(made, SummaryRequest):
            made = go_on(steps, _POLICY.projector.fulfil(made.plan, reading=made.reading))
    except Exception:  # noqa: BLE001 - a validator may raise anything to refuse an event
        return None
    if not made.events:
        return None
    return evolve(path, conversation=made.conversation, events=(*path.events, *made.events))


def _reopened(path: _Path) -> _Path:
    """Return the path after a crash: the journal is replayed, and the guards choose the state."""
    conversation = path.conversation
    places = conversation.machine.places
    empty = path.stands[0][0]
    stored = replay(path.events, empty)
    step = Step(ContextInput.resize(stored.window.max_tokens), stored.window, _POLICY)
    ends = stored.state == ContextState.COMPRESSED and not stored.window.turns_since_compression
    if not ends:
        stored = evolve(
            stored, **places.standing(decider(conversation.machine).decide(step, stored.place))
        )
    return evolve(path, conversation=stored)


_POLICY = ContextPolicy()
