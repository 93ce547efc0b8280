"""Look in summaries for what came of calls that change something: recorded ones, and written ones.

A call counts as changing if its name has a verb such as *book* or *cancel*. Its outcome is what its
result says that neither its arguments nor an earlier message says: an identifier, a changed value,
an error. It is told if the line of the call in the summary says some of it; a line such as "wrote
notes.md" is the line of the call whose first argument it has. Results that the view
holds in full are not counted.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from benchmarks.retention.entries import TOLD
from benchmarks.retention.methods import Asked, projected
from benchmarks.retention.noted import Noted, Tell, closed, hosted, with_put, words_of, written
from benchmarks.retention.recall import whole_text
from benchmarks.retention.recordings import Conversation, Message

CHANGES = frozenset(
    re.findall(
        r"\w+",
        "add apply archive assign book buy cancel charge close commit create delete deploy edit "
        "enable disable exchange grant insert install merge modify move order pay place post "
        "publish push refund remove rename replace reserve reset restart return revoke schedule "
        "send set start stop submit transfer update upload write",
    )
)
"""Verbs in the names of calls that change something."""

PLACE = 0.4
"""The place of a written call, as a share of the recording's length."""

READS = frozenset({"get", "find", "list", "search", "read", "look", "show", "fetch"})
"""Verbs that begin the names of calls that change nothing, whatever follows."""
_READ = re.compile(r"(?:read|from|thought|output)\b")
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_SHORT = 30
_BEGINNING = 6
"""The words of a plain result that tell its outcome."""


@frozen
class Change:
    """A call that changes something: its first argument, its result's index, and its outcome."""

    id: str
    kind: str
    name: str
    argument: str
    place: int
    told: tuple[str, ...]

    def has(self, line: str) -> bool:
        """Return whether a line of a summary is the line of the call.

        >>> change = Change("c", "files", "write_file", "notes.md", 4, ("2 lines",))
        >>> [*map(change.has, ("write_file(notes.md) -> ok", "wrote notes.md", "read: notes.md"))]
        [True, True, False]
        """
        return words_of(self.argument) in words_of(line) and (
            line.startswith(f"{self.name}(")
            or bool(self.argument and TOLD.match(line) and not _READ.match(line))
        )


def is_change(name: str) -> bool:
    """Return whether a call of this name changes something.

    >>> is_change("cancel_reservation"), is_change("getOrder")
    (True, False)
    """
    first, *rest = map(str.lower, _WORD.findall(name) or [""])
    return first not in READS and not CHANGES.isdisjoint([first, *rest])


def changes_of(conversation: Conversation) -> Iterator[Change]:
    """Yield the changing calls of a recording that have an outcome."""
    calls: dict[str, Mapping[str, Any]] = {}
    known = ""
    for place, message in enumerate(conversation.messages):
        call = calls.get(message.get("tool_call_id") or "")
        if message["role"] == "tool" and call and is_change(call["name"]):
            told = tuple(_outcomes(message["content"], f"{known} {words_of(call['arguments'])}"))
            if told:
                name, arguments = call["name"], call["arguments"]
                yield Change(
                    f"{conversation.id}/{place}", name, name, _first(arguments), place, told
                )
        calls |= {each["id"]: each["function"] for each in message.get("tool_calls") or ()}
        known += f" {words_of(whole_text([message]))}"


def _first(arguments: str) -> str:
    """Return the first argument if it is short, which a summary shows with its call."""
    first = next(iter(json.loads(arguments).values()), "")
    return first if isinstance(first, str) and len(first) <= _SHORT else ""


def _outcomes(result: str, known: str) -> Iterator[str]:
    """Yield the pairs of a result that nothing before says, or the beginning of another text."""
    try:
        value = json.loads(result)
    except ValueError:
        value = None
    if not isinstance(value, dict | list):
        yield " ".join(result.split()[:_BEGINNING])
        return
    for key, told in _leaves(value):
        if words_of(f"{key} {told}") not in known:
            yield f"{key} {told}"
            yield f"{told}:"  # an identifier heads its record


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    each = value.items() if isinstance(value, dict) else ((key, told) for told in value)
    for name, told in each:
        if isinstance(told, dict | list):
            yield from _leaves(told, name)
        else:
            yield name, told if isinstance(told, str) else json.dumps(told)


def measure(conversations: Sequence[Conversation], share: float, half: str, *, tell: Tell) -> Noted:
    """Count the outcomes that are told: of recorded calls, and of written ones by their kind."""
    noted = Noted()
    for conversation in conversations:
        tell(f"outcomes {share:.0%}, {conversation.id}")
        if changes := [*changes_of(conversation)]:
            _look(noted, "recorded", conversation, changes, share)
    for host, item in hosted(conversations, written("outcomes", half)):
        tell(f"outcomes {share:.0%}, {item['id']}")
        call = {
            "id": f"call-{item['id']}",
            "type": "function",
            "function": {"name": item["name"], "arguments": item["arguments"]},
        }
        put = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": item["result"]},
        ]
        changed = with_put(host, {PLACE: put})
        place = changed.messages.index(put[1])
        argument = _first(item["arguments"])
        change = Change(
            item["id"], item["kind"], item["name"], argument, place, tuple(item["told"])
        )
        _look(noted, "written", changed, [change], share)
    return noted


def _look(
    noted: Noted, name: str, conversation: Conversation, changes: Sequence[Change], share: float
) -> None:
    messages = closed(conversation.messages)
    view = projected(Asked(messages, conversation.budget(len(messages), share)))
    held = {message.get("tool_call_id") for message in view}
    lines = [line for message in view for line in _lines(message)]
    for change in changes:
        if messages[change.place]["tool_call_id"] in held:
            continue
        of_call = [line for line in lines if change.has(line)]
        item = {"id": change.id, "kind": change.kind}
        noted.add(f"{name}, call shown", item, bool(of_call))
        noted.add(
            f"{name}, outcome told",
            item,
            any(words_of(text) in words_of(line) for line in of_call for text in change.told),
        )


def _lines(message: Message) -> Iterator[str]:
    """Yield the lines of a summary, each with its continuation."""
    yield from re.split(r"\n(?=\S)", str(message.get("content") or ""))
