"""Gemini's contents: results inside the user's contents, and media as parts with a MIME type.

One content may become several turns (its results, then its words). A call may have no id; it gets
one made of its number and name, which is not sent. Media are held in blocks like Anthropic's, so
that every other format can take them.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, define

from ...media import block_type
from ...turn import Role, ToolCall, Turn
from ...wire_text import compact
from ..layout import Collector, without
from ..places import Place
from ..tool_pairs import paired
from ..wire import Message, Parsed, Provider
from .rules import CALL, RESULT, ROLES, SIGNATURE, UNSIGNED, copied_contents

UNNAMED = re.compile(r"by-order:\d+:(.*)", re.DOTALL)
"""The id of a call that came without one."""

ANSWER = "result"
"""The field of a result's response that holds the text of a turn."""

EMPTY_PART: Message = {"text": ""}

JOINED = "joined"
"""The field of a message whose parts stand in the content of the results before it.

It holds their places, or true if they stand behind the results.
"""

_UPLOADED = re.compile(r"gs://|https://[^/]*/v1\w*/files/")
"""The addresses of files that only this provider can read."""


def parse(messages: object, *, repair: bool = False, waiting: Iterable[str] = ()) -> Parsed:
    """Parse contents into turns: one for each result, and one for the rest of a content.

    Leading contents of role ``system`` hold the system instruction. A result without an id belongs
    to the first call of its name that has no result yet. `waiting` are ids of calls before the list
    that have no result yet. With `repair`, a call in the middle without a result gets a marked one.

    Raises:
        InvalidMessagesError: A content breaks a rule of docs/providers.md; the error names its
            index and the rule.

    >>> look = {"functionCall": {"name": "look", "args": {"at": "Paris"}}}
    >>> parse(
    ...     [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [look]}]
    ... ).turns[1].tool_calls
    (ToolCall(id='by-order:0:look', name='look', arguments='{"at":"Paris"}'),)
    """
    copies = copied_contents(messages)
    named = _Waiting()
    named.add([(call_id, _made_of(call_id)) for call_id in waiting])
    turns = _turns(copies, named, are_late_answered=repair)
    return paired(Provider.GEMINI, turns, copies, repair=repair, waiting=waiting)


def _turns(
    contents: Sequence[Message], waiting: "_Waiting", *, are_late_answered: bool
) -> Iterator[tuple[Turn, int]]:
    start = 0
    while start < len(contents):
        stop = _group_end(contents, start)
        place = Place(Provider.GEMINI, ("messages", start))
        is_anew = start > 0 and contents[start - 1]["role"] == "model"
        for turn in _Reader(waiting, place, is_anew=is_anew).turns(contents[start:stop]):
            if turn.tool_calls:
                waiting = waiting if are_late_answered else _Waiting()
                waiting.add([(call.id, call.name) for call in turn.tool_calls])
            yield turn, start
        start = stop


def _group_end(contents: Sequence[Message], start: int) -> int:
    """Return the end of the contents that are one turn.

    Results may follow the last of several contents of the model, so a run of these is one turn from
    its first call on.
    """
    stop = start + 1
    if contents[start]["role"] == "model" and any(
        CALL in part for part in contents[start]["parts"]
    ):
        while stop < len(contents) and contents[stop]["role"] == "model":
            stop += 1
    return stop


@define
class _Waiting:
    """The ids and names of the calls without results, those of the newest turn first."""

    _calls: dict[int, tuple[str, str]] = Factory(dict)
    _places: dict[tuple[str, str], deque[int]] = Factory(lambda: defaultdict(deque))
    """The places of the calls by id and by name, also of calls that have results by now."""
    _first: int = 0

    def add(self, calls: Sequence[tuple[str, str]]) -> None:
        """Put the `calls` of a turn before all others; the name may be unknown."""
        for call_id, name in reversed(calls):
            self._first -= 1
            self._calls[self._first] = (call_id, name)
            self._places["id", call_id].appendleft(self._first)
            self._places["name", name].appendleft(self._first)

    def take(self, given: str | None, name: str) -> tuple[str, str] | None:
        """Return and remove the first call that a result of `name` answers, None for none."""
        keys = [("id", given)] if given else [("name", name), ("name", "")]
        found = [places for key in keys if (places := self._places.get(key))]
        for places in found:
            while places and places[0] not in self._calls:
                places.popleft()
        first = min((places[0] for places in found if places), default=0)
        return self._calls.pop(first, None)


@define
class _Reader:
    """Reads the contents of one turn; `waiting` are the calls without results."""

    waiting: _Waiting
    place: Place
    is_anew: bool
    """Whether the model spoke in the content before, too."""

    def turns(self, contents: Sequence[Message]) -> Iterator[Turn]:
        """Yield the turns of `contents`, several of which are the model's."""
        role, parts = ROLES[contents[0]["role"]], contents[0]["parts"]
        results = [part for part in parts if RESULT in part] if role == "user" else []
        said = [part for part in parts if RESULT not in part] if results else parts
        heads = [_further(content, role) for content in contents]
        for number, part in enumerate(results):
            yield self._result(part, heads[0] if number == 0 else {})
        if said or not results:
            speaker = {"model": Role.ASSISTANT, "system": Role.SYSTEM}.get(role, Role.USER)
            places = [place for place, part in enumerate(parts) if RESULT not in part]
            is_behind = places[0] == len(results) if places else True
            first = {JOINED: is_behind or places} if results else heads[0]
            rest = [(head, content["parts"]) for head, content in zip(heads, contents, strict=True)]
            yield self._said(speaker, [(first, said), *rest[1:]])

    def _result(self, part: Message, further: Message) -> Turn:
        found = part[RESULT]
        given, name, response = found.get("id"), found["name"], found.get("response", {})
        call = self.waiting.take(given, name)
        call_id, called = call or (given or f"by-order:0:{name}", "")
        collector = Collector(Provider.GEMINI)
        if further:
            collector.message(further)
        key, text = _answer(response)
        beside = without(part, RESULT) | {
            RESULT: without(found, "id", "name", "response", "parts")
            | ({} if given or UNNAMED.fullmatch(call_id) else {"id": None})
            | ({} if key == ANSWER else {"response": key})
        }
        if beside != {RESULT: {}}:
            collector.result(beside)
        collector.words(text, {})
        for each in found.get("parts", ()):
            collector.block(_block(each))
        with self.place.turn_errors():
            return collector.turn(
                Role.TOOL,
                tool_call_id=call_id,
                name=None if name == called else name,
                metadata={"is_error": True} if key == "error" else {},
            )

    def _said(self, role: Role, contents: Sequence[tuple[Message, Sequence[Message]]]) -> Turn:
        collector, calls = Collector(Provider.GEMINI), 0
        for number, (further, parts) in enumerate(contents):
            if further or number or (self.is_anew and role is Role.ASSISTANT):
                collector.message(further)
            for part in parts:
                if CALL in part and role is Role.ASSISTANT:
                    collector.call(*_call(part, calls))
                    calls += 1
                elif "text" in part and not part.get("thought"):
                    collector.words(part["text"], without(part, "text"))
                else:
                    collector.block(_block(part))
        with self.place.turn_errors():
            return collector.turn(role)


def _further(content: Message, role: str) -> Message:
    """Return the fields of a content that a turn does not hold; `empty` marks an empty text."""
    further = without(content, "role", "parts")
    if content["role"] != role:
        further["role"] = content["role"]
    if content["parts"] == [EMPTY_PART]:
        further["empty"] = True
    return further


def _made_of(call_id: str) -> str:
    """Return the name in the id of a call that came without one, or an empty string."""
    made = UNNAMED.fullmatch(call_id)
    return made[1] if made else ""


def _call(part: Message, number: int) -> tuple[ToolCall, Message]:
    found = part[CALL]
    given, name = found.get("id"), found["name"]
    call = ToolCall(given or f"by-order:{number}:{name}", name, compact(found.get("args", {})))
    inner = without(found, "id", "name", "args") | ({} if "args" in found else {"args": None})
    beside = without(part, CALL)
    if number == 0:
        # The first call of a step is signed, if only by the writer; null says that it came without.
        signature = beside.pop(SIGNATURE, None)
        beside |= {} if signature == UNSIGNED else {SIGNATURE: signature}
    return call, beside | ({CALL: inner} if inner else {})


def _answer(response: Mapping[str, Any]) -> tuple[str, str]:
    """Return the field of a response that holds its text ("" if it is data), and the text."""
    if len(response) == 1:
        ((key, value),) = response.items()
        if isinstance(value, str) and key:
            return key, value
    return "", compact(response)


def _block(part: Message) -> Message:
    """Return a part that is neither words nor a call: a medium, or anything else unchanged."""
    for name in ("inlineData", "fileData"):
        if name in part:
            inner = part[name]
            beside = without(part, name)
            media_type = str(inner.get("mimeType", ""))
            rest = without(inner, "mimeType", "data", "fileUri")
            source = _source(media_type, inner)
            further = {"part": beside} if beside else {}
            return {"type": block_type(media_type), "source": source, name: rest, **further}
    kind = "thought" if "text" in part else next(iter(without(part, SIGNATURE)), "part")
    return {"type": kind, "part": part}


def _source(media_type: str, inner: Mapping[str, Any]) -> Message:
    typed = {"media_type": media_type} if "mimeType" in inner else {}
    if "data" in inner:
        return {"type": "base64", **typed, "data": inner["data"]}
    uri = inner.get("fileUri")
    if isinstance(uri, str) and not _UPLOADED.match(uri):
        return {"type": "url", **typed, "url": uri}
    return {"type": "file", **typed, "file_id": uri}
