"""The renderer of turns as Gemini's contents.

Results that follow each other become one content, as the provider counts them against the calls
before. Those of one tool without ids stand in the order of their calls. Its only roles are the user
and the model: leading system turns become the system instruction, later ones are written as the
user's.
"""

from collections.abc import Sequence
from functools import partial
from itertools import chain, repeat, takewhile
from mimetypes import guess_type
from sys import maxsize
from typing import Any

from attrs import Factory, define

from ...call_ids import SentCalls
from ...filler import OPENING
from ...part import PartKind
from ...turn import Role, ToolCall, Turn
from ...wire_text import loaded_arguments, loaded_object, stand_in
from ..layout import Entry, further_fields, layout_of, without
from ..media_room import MediaRoom
from ..wire import Message, Provider, Rendered, ToolDefinition
from .contents import ANSWER, EMPTY_PART, JOINED, UNNAMED
from .rules import CALL, RESULT, SIGNATURE, UNSIGNED

MAX_NAME = 64
"""The most characters of a tool's name."""


@define
class Writer:
    """Renders turns incrementally; see `wire.Writer`.

    >>> writer = Writer()
    >>> writer.add(Turn("system", "Be brief."))
    >>> writer.add(Turn("user", "hi"))
    >>> writer.finish().system, writer.finish().messages
    (({'text': 'Be brief.'},), [{'role': 'user', 'parts': [{'text': 'hi'}]}])
    """

    readable: bool = False
    _contents: list[Message] = Factory(list)
    _calls: dict[str, Message] = Factory(dict)
    """The id and name that each of the last calls was written with."""
    _sent: SentCalls = Factory(lambda: SentCalls(bool, "log", MAX_NAME))
    _takes_results: bool = False
    _unnamed: list[tuple[str, int, str]] = Factory(list)
    """The tool, place and call of each result without an id in the last content."""
    _has_user: bool = False
    _introduced: tuple[str, ...] = ()
    _room: MediaRoom = Factory(partial(MediaRoom, Provider.GEMINI))

    @property
    def size(self) -> int:
        """Return the number of contents so far."""
        return len(self._contents)

    def add(self, turn: Turn) -> None:
        """Append `turn`."""
        entries = list(layout_of(Provider.GEMINI, turn))
        further = further_fields(entries, PartKind.MESSAGE)
        if turn.role is Role.TOOL:
            part = self._result(turn, entries)
            self._put("user", [part], further, joins=self._takes_results)
            if "id" not in part[RESULT]:
                place = len(self._contents[-1]["parts"]) - 1
                self._unnamed.append((part[RESULT]["name"], place, turn.tool_call_id or ""))
            self._takes_results = True
            return
        self._order_results()
        self._unnamed.clear()
        role = self._role(turn)
        joins = self._joins(turn, is_anew=any(e.kind is PartKind.MESSAGE for e in entries))
        if JOINED in further:
            joins = self._takes_results
        elif turn.tool_calls and not self._has_user:
            # A call must directly follow the user or results.
            self._put("user", [{"text": OPENING}], {})
            self._introduced, joins = (OPENING,), False
        elif turn.tool_calls:
            self._join_words()
        for fields, parts in self._written(turn, entries):
            self._put(role, parts, fields, joins=joins, places=further.get(JOINED))
            joins = False
        self._takes_results = False

    def finish(self) -> Rendered:
        """Return the contents, with leading system contents separated."""
        self._order_results()
        leading = list(takewhile(lambda content: content["role"] == "system", self._contents))
        return Rendered(
            self._contents[len(leading) :],
            tuple(part for content in leading for part in content["parts"]),
            tuple(leading),
            introduced=self._introduced,
        )

    def _order_results(self) -> None:
        """Put the results of one tool without ids in the order of their calls."""
        ranks = {call_id: rank for rank, call_id in enumerate(self._calls)}
        places = sorted(self._unnamed)
        ranked = sorted(places, key=lambda each: (each[0], ranks.get(each[2], 0)))
        if places != ranked:
            last = self._contents[-1]
            parts = [*last["parts"]]
            for (_, to, _), (_, place, _) in zip(places, ranked, strict=True):
                parts[to] = last["parts"][place]
            self._contents[-1] = {**last, "parts": parts}
            pairs = zip(places, ranked, strict=True)
            self._unnamed = [(name, to, call_id) for (name, to, _), (_, _, call_id) in pairs]

    @property
    def _last(self) -> str:
        return self._contents[-1]["role"] if self._contents else ""

    def _joins(self, turn: Turn, *, is_anew: bool) -> bool:
        """Return whether the words of the model continue its last content; a call always does."""
        follows = turn.role is Role.ASSISTANT and self._last == "model"
        return follows and (bool(turn.tool_calls) or not (self.readable or is_anew))

    def _join_words(self) -> None:
        """Join the last contents of the model: a call must directly follow the user or results."""
        while len(self._contents) > 1 and self._contents[-2]["role"] == self._last == "model":
            *_, before, last = self._contents
            self._contents[-2:] = [{**before, "parts": before["parts"] + last["parts"]}]

    def _role(self, turn: Turn) -> str:
        if turn.role is Role.ASSISTANT:
            return "model"
        is_leading = self._last in ("", "system")
        return "system" if turn.role is Role.SYSTEM and is_leading else "user"

    def _put(
        self,
        role: str,
        parts: Sequence[Message],
        further: Message,
        *,
        joins: bool = False,
        places: object = None,
    ) -> None:
        self._has_user |= role == "user"
        self._room.add(parts)
        if joins:
            # The content before was handed out already, so it is replaced rather than changed.
            last = self._contents[-1]
            together = [*last["parts"]]
            wanted = places if isinstance(places, list) else []
            for part, place in zip(parts, chain(wanted, repeat(maxsize)), strict=False):
                together.insert(place, part)
            self._contents[-1] = {**last, "parts": together}
        else:
            self._contents.append({**further, "role": further.get("role", role), "parts": [*parts]})

    def _written(self, turn: Turn, entries: Sequence[Entry]) -> list[tuple[Message, list[Message]]]:
        """Return the contents of a turn that is not a result, as further fields and parts."""
        contents: list[tuple[Message, list[Message]]] = [({}, [])]
        if turn.tool_calls:
            self._calls = {}
            self._sent.add(turn)
        for entry in entries:
            if entry.kind is PartKind.MESSAGE:
                contents.append((without(entry.data, JOINED, "empty"), []))
                contents[-1][1].extend([EMPTY_PART] * bool(entry.data.get("empty")))
            elif entry.kind is PartKind.CALL:
                contents[-1][1].append(self._call(turn.tool_calls[entry.call], entry))
            elif entry.kind is PartKind.BLOCK:
                contents[-1][1].append(written_block(entry.data))
            elif entry.kind is PartKind.WORDS and entry.text:
                contents[-1][1].append({"text": entry.text, **entry.data})
        written = [(further, parts) for further, parts in contents if parts]
        calling = [any(CALL in part for part in parts) for _, parts in written]
        if turn.tool_calls and not all(calling[calling.index(True) :]):
            # Results must directly follow the content that calls.
            written = [(written[0][0], [part for _, parts in written for part in parts])]
        return written or [(contents[-1][0], [{"text": stand_in(turn)}])]

    def _call(self, call: ToolCall, entry: Entry) -> Message:
        inner = dict(entry.data.get(CALL, {}))
        loaded = loaded_arguments(call.arguments)
        own: Message = {} if UNNAMED.fullmatch(call.id) else {"id": self._sent.ids[call.id]}
        own["name"] = self._sent.name(call)
        is_first = not self._calls
        self._calls[call.id] = dict(own)
        if inner.pop("args", 0) != 0 and not loaded:
            args = {}
        else:
            args = {"args": {"raw_arguments": call.arguments} if loaded is None else loaded}
        beside = without(entry.data, CALL)
        # The provider demands a signature on the first call of a step, whoever made it.
        if is_first:
            beside = {SIGNATURE: UNSIGNED} | beside
        signed = {name: value for name, value in beside.items() if value is not None}
        return {**signed, CALL: {**inner, **own, **args}}

    def _result(self, turn: Turn, entries: Sequence[Entry]) -> Message:
        further = further_fields(entries, PartKind.RESULT)
        inner = dict(further.get(RESULT, {}))
        call_id = turn.tool_call_id or ""
        known = self._calls.get(call_id, {} if UNNAMED.fullmatch(call_id) else {"id": call_id})
        own: Message = {} if inner.pop("id", known.get("id")) is None else {"id": known["id"]}
        own["name"] = turn.name or known.get("name", "unknown")
        is_error = turn.metadata.get("is_error") is True
        key = inner.pop("response", "error" if is_error else ANSWER)
        text = "\n".join(entry.text for entry in entries if entry.kind is PartKind.WORDS)
        data = loaded_object(text) if not key else None
        response = {key or ANSWER: text} if data is None else data
        beside = [written_block(each.data) for each in entries if each.kind is PartKind.BLOCK]
        parts: Message = {"parts": beside} if beside else {}
        return {
            **without(further, RESULT),
            RESULT: {**inner, **own, "response": response, **parts},
        }


def written_block(block: Message) -> Message:
    """Return a block of a turn as a part; see `contents` for its form.

    >>> link = {"type": "url", "url": "https://example.org/cat.png"}
    >>> written_block({"type": "image", "source": link})
    {'fileData': {'mimeType': 'image/png', 'fileUri': 'https://example.org/cat.png'}}
    """
    if block["type"] == "text":
        return {"text": block["text"]}
    source = block.get("source")
    if not isinstance(source, dict):
        return dict(block["part"])
    title = {"displayName": block["title"]} if block.get("title") else {}
    if source.get("type") == "text":
        return {"text": "\n\n".join(filter(None, [block.get("title", ""), source["data"]]))}
    name = "inlineData" if "data" in source or "inlineData" in block else "fileData"
    inner: dict[str, Any] = {**title, **block.get(name, {})}
    if "media_type" in source:
        inner["mimeType"] = source["media_type"]
    if "data" in source:
        inner["data"] = source["data"]
    elif (uri := source.get("url", source.get("file_id"))) is not None:
        inner = ({} if name in block or "mimeType" in inner else _typed(uri)) | inner
        inner["fileUri"] = uri
    return {**block.get("part", {}), name: inner}


def _typed(uri: str) -> Message:
    kind, _ = guess_type(uri)
    return {"mimeType": kind} if kind else {}


def define_tools(tools: Sequence[ToolDefinition]) -> list[Message]:
    """Return tools as one entry of a request's `tools`."""
    return [
        {
            "functionDeclarations": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }
                for tool in tools
            ]
        }
    ]
