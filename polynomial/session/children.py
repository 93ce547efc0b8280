"""Child sessions: a sub-agent works in its own session and gives back one turn.

A document in the journal marks a session as a child, so it stays one after a restart. Only the
result is written to the parent. See docs/agents.md.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from attrs import asdict, evolve

from polycontext.base import InvalidOptionError, require, whole_number
from polycontext.base.effects import Steps, drive
from polycontext.linearity import ResourceClass
from polycontext.pressure import ConflictError
from polycontext.pressure.notes import truncate
from polycontext.pressure.threshold import NO_SIGNALS
from polycontext.window import ContextItem, ContextWindow, Role, Turn, count_tools
from polycontext.window.items import item_turn

from ..errors import ContextOverflowError
from ..inputs import ContextOutput
from ..journal.conversation import Conversation
from ..journal.copies import told_rules
from .commands import Add, Command, Patch, Together
from .construction import open_beside
from .context_tools import LEAST_TOKENS, quote
from .options import NAME, check_tools, is_name
from .search import HANDED_BACK, HandedBack, handed_back_in, search
from .writer import S, Session

_LOG = logging.getLogger("polycontext.session")

CHILD = "polycontext.child"
"""The name of the document that records a child's parent, its task, and the call it answers."""

TOLD_SHARE = 4
"""Quoted turns of the parent take at most one part in this many of the child's window, and so do
the user's standing instructions.
"""

RESULT_SHARE = 2
"""An attached result takes at most one part in this many of the parent's window. The result of a
call is accepted whole and truncated in the view.
"""


def open_child(
    parent: S,
    task: str,
    child_id: str,
    *,
    max_tokens: int | None,
    tells: str | Sequence[str],
    call: str | None,
    system: str | None,
    tools: Sequence[Mapping[str, Any]] | None,
) -> S:
    """Return the child of `ContextSession.child`.

    Nothing is stored unless all of its first turns are accepted.
    """
    require("child_id", child_id, is_name(child_id), NAME)
    own_id = parent._writer.session_id
    require(
        "task",
        task,
        isinstance(task, str) and bool(task.strip()),
        "the task as text",
    )
    require("child_id", child_id, child_id != own_id, "another id than the parent's")
    # An id may have spaces, but it is no sentence; a task in Chinese has none.
    is_sentence = " " in child_id and child_id.endswith((".", "?", "!"))
    is_swapped = is_sentence and task.isascii() and " " not in task.strip()
    require("child_id", child_id, not is_swapped, "child(task, child_id): the task comes first")
    require(
        "system",
        system,
        system is None or isinstance(system, str),
        "a text, or None for what the system says to the parent",
    )
    listed = isinstance(tells, Sequence) and all(isinstance(each, str) for each in tells)
    require(
        "tells",
        tells,
        listed,
        "ids of turns, such as ['t5'], or a text of which turns are to speak",
    )
    child = _beside(parent, child_id, max_tokens, check_tools(tools))
    asked = {"parent": own_id, "task": task, "call": call}
    if not child.conversation.revision:
        try:
            # Only a new child needs the call to be open: an existing one may have handed back
            # already.
            waiting = parent.window.open_calls
            require(
                "call",
                call,
                call is None or call in waiting,
                f"the id of an open call: {', '.join(waiting) or 'there is none'}",
            )
            document = Patch(CHILD, lambda _: [{"op": "add", "path": "", "value": asked}])
            command = Together((document, *_told(parent, child, task, tells, system)))
            drive(child._write(command, expected_revision=0))
        except ConflictError:
            # Another writer has created it meanwhile, possibly with the same task.
            child._writer.catch_up()
        except BaseException:
            child.close()
            raise
    there = child.conversation.documents.get(CHILD)
    if there != asked:
        child.close()
        raise ConflictError(f"session {child_id!r}", asked, "no child" if there is None else there)
    return child


def _beside(
    parent: S,
    child_id: str,
    max_tokens: int | None,
    tools: Sequence[Mapping[str, Any]],
) -> S:
    """Return the session `child_id` with the parent's options and its own budget.

    It is empty unless the store already has it.
    """
    counter, reserve = parent.window.counter, parent._room.reserve
    told_tools = count_tools(counter, tools) if tools else 0
    whole = (
        parent._writer.given + parent._room.overhead
        if max_tokens is None
        else whole_number("max_tokens", max_tokens, 1)
    )
    room = whole - reserve - told_tools
    if room < 1:
        raise ContextOverflowError(
            reserve + told_tools + 1,
            whole,
            "what the child's requests need besides (reserve and tool definitions)",
        )
    empty = Conversation(
        parent._writer.empty.window.with_room(room), machine=parent.conversation.machine
    )
    child = open_beside(parent, child_id, empty, evolve(parent.policy, signals=NO_SIGNALS))
    child._reports = {}
    child._room = parent._room._replace(tools=tuple(tools), tool_tokens=told_tools)
    child._parent = parent
    return child


# --- first turns -------------------------------------------------------------------


def _told(
    parent: Session,
    child: Session,
    task: str,
    tells: str | Sequence[str],
    system: str | None,
) -> Iterator[Command]:
    """Yield the child's first turns: system, standing instructions, quoted turns, task."""
    window = parent.window
    own = (
        [turn for turn in window.all_turns() if turn.role is Role.SYSTEM]
        if system is None
        else [parent._turn(Role.SYSTEM, system)]
    )
    # A copy has the time of its original, by which `forget` finds it.
    for turn in own:
        if turn.text.strip():
            yield Add(Turn(Role.SYSTEM, turn.text, timestamp=turn.timestamp))
    most = max(LEAST_TOKENS, child.window.max_tokens // TOLD_SHARE)
    for turn_id, rules in _rules(window, most).items():
        stated = parent.conversation.log.get(turn_id)
        at = parent._now() if stated is None else stated.timestamp
        yield Add(Turn(Role.USER, told_rules(rules), timestamp=at), ResourceClass.PRESERVED)
    quoted = quote(parent.conversation, partial(search, parent), tells, most) if tells else ""
    if quoted:
        item = ContextItem(quoted, "text", timestamp=parent._now())
        turn = item_turn(item, f"session {parent._writer.session_id}")
        # Added as an attachment: it is data, not the user's instructions to this child.
        yield Add(evolve(turn, timestamp=parent._now()), ResourceClass.REQUIRED)
    yield Add(parent._turn(Role.USER, task), ResourceClass.PRESERVED)


def _rules(window: ContextWindow, most: int) -> dict[str, list[str]]:
    """Return the user's rules that stand, by turn; the newest if they exceed `most` tokens."""
    kept: dict[str, list[str]] = {}
    for rule in reversed(window.rules.standing):
        rules = [rule.text, *kept.get(rule.turn_id, [])]
        most -= window.counter.count(told_rules(rules[:1]))
        if most < 0:
            break
        kept[rule.turn_id] = rules
    return dict(reversed(kept.items()))


# --- results -----------------------------------------------------------------------


def hand_back(child: Session, text: str | None) -> Steps[ContextOutput]:
    """Add a child's result to its parent; see `ContextSession.hand_back`."""
    parent = child._parent
    if parent is None:
        legal = (
            "a session that parent.child(...) returned; "
            "after a restart, ask the parent for it again with the same task and id"
        )
        raise InvalidOptionError("session", child, legal)
    log, child_id = child.conversation.log, child._writer.session_id
    if text is None:
        text = next(
            (
                turn.text
                for turn in reversed(log)
                if turn.role is Role.ASSISTANT and turn.text.strip()
            ),
            "",
        )
    require(
        "text",
        text,
        isinstance(text, str) and bool(text.strip()),
        "a text; without one, the model has to have said something",
    )
    call = child.conversation.documents[CHILD]["call"]
    turn = _result(parent, child_id, text, call)
    sources = HandedBack(child_id, log[0].resource_id, log[-1].resource_id, len(log))
    told = evolve(
        turn, metadata={**turn.metadata, HANDED_BACK: asdict(sources)}, timestamp=parent._now()
    )
    # A result that a rewind has removed may be handed back again, and a child that went on may hand
    # back another one; a call has one result.
    now, turns = parent.conversation, len(log) if call is None else 0
    rewound = now.joints[-1][-1] if now.joints else 0
    said = f"{rewound} {child_id} {turns}".encode("utf-8", "surrogatepass")
    key = blake2b(said, digest_size=16).hexdigest()
    output = ContextOutput(now.window, now.state)
    if not (rewound and any(_is_of(turn, child_id, turns) for turn in now.log)):
        command = Add(told, ResourceClass.REQUIRED if call is None else None)
        output = yield from parent._write(command, idempotency_key=f"handed back {key}")
    if parent.conversation.revision == now.revision:
        _LOG.warning("session %s handed back already: nothing was added", child_id)
    return output


def _is_of(turn: Turn, child_id: str, turns: int) -> bool:
    """Return whether `turn` is a result of a child, the one after its `turns` unless that is 0."""
    told = handed_back_in(turn)
    return told is not None and told.session_id == child_id and turns in (0, told.turns)


def _result(parent: Session, child_id: str, text: str, call: str | None) -> Turn:
    if call is not None:
        return Turn(Role.TOOL, text, tool_call_id=call)
    # An attached text is kept whole until it yields, so truncate one that would fill the window.
    fitting = truncate(
        text,
        parent.window.max_tokens // RESULT_SHARE,
        parent.window.counter,
        whole=f"the log of session {child_id}",
    )
    return item_turn(ContextItem(fitting, "text", timestamp=parent._now()), f"session {child_id}")
