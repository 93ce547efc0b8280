"""A transcript: the messages of a session file, gathered from its rows."""

import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import orjson
from attrs import define, field, frozen

Row = tuple[int, Mapping[str, Any]]
"""A row of a file with the number of its line, from 1."""

Block = dict[str, Any]
"""A block of a message, as Anthropic's format has it."""


class Messages(Sequence[Block]):
    """Messages whose long results are held compressed, so that a long session fits into memory."""

    def __init__(self, told: Sequence[tuple[str, Sequence[Any]]]) -> None:
        self._told = told

    def __len__(self) -> int:
        return len(self._told)

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> list[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | list[Block]:
        """Return a message, or a list of them."""
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        role, blocks = self._told[index]
        return {"role": role, "content": [*map(unpacked, blocks)]}

    def __repr__(self) -> str:
        return repr([*self])


_LONG = 1_000
"""The bytes from which a message or block is held compressed; others are JSON text."""

_KIND = 20
"""The longest name of a kind of rows, which is held once."""

_NO_CALL = "[Result of a call that is not in this file]\n"


@frozen
class Transcript:
    """The messages of a session file, in Anthropic's format, which holds what every host writes.

    Attributes:
        host: the name of the program that wrote the file.
        messages: every turn once, in order, with the results of calls behind their calls.
        lines: the number of the line on which each message begins.
        left_out: how many rows hold nothing of the conversation, by their kind.
        compactions: how many times the host compacted the conversation.
        view: the texts that the model saw at the end, if something was compacted.
    """

    host: str
    messages: Sequence[Block] = field(repr=False)
    lines: Sequence[int] = field(repr=False)
    left_out: Mapping[str, int]
    compactions: int = 0
    view: Sequence[str] = field(default=(), repr=False)


@define
class _Entry:
    line: int
    role: str
    blocks: list[Any]
    answers: list[Any] = field(factory=list)


@define
class Gatherer:
    """Gathers messages out of rows: one answer may be several rows, and so may its results be."""

    left_out: Counter[str] = field(factory=Counter)
    compactions: int = 0
    _view: list[str] = field(factory=list)
    _entries: list[_Entry] = field(factory=list)
    _answers: dict[str, _Entry] = field(factory=dict)
    _calls: dict[str, _Entry] = field(factory=dict)
    _answered: set[str] = field(factory=set)

    def say(self, line: int, role: str, blocks: Iterable[Block], key: str | None = None) -> None:
        """Add blocks to the answer `key`, or as a message; blocks that stand there are left out.

        Without a key, what the assistant says joins what it said just before.
        """
        told = [block for block in blocks if not _is_blank(block)]
        self.see(told)
        last = self._entries[-1] if self._entries else None
        entry = self._answers.get(key) if key else None
        if key is None and last is not None and role == last.role == "assistant":
            # Calls that were made at once stand together, before the first of their results.
            entry = None if last.answers else last
        if entry is not None:
            told = [block for block in told if packed(block) not in entry.blocks]
            entry.blocks += map(packed, told)
        elif told:
            entry = _Entry(line, role, [*map(packed, told)])
            self._entries.append(entry)
            if key:
                self._answers[key] = entry
        for block in told:
            if block["type"] == "tool_use" and entry is not None:
                # Some programs use an id again; then its results answer the newer call.
                self._calls[block["id"]] = entry
                self._answered.discard(block["id"])

    def answer(self, line: int, call: str, content: Any, *, failed: bool = False) -> None:
        """Add the result of a call behind it; a result that came already is left out."""
        entry = self._calls.get(call)
        self.see(content)
        if call in self._answered:
            self.left_out["a second result"] += 1
        elif entry is None:
            self.say(line, "user", [{"type": "text", "text": _NO_CALL + as_text(content)}])
        else:
            result: Block = {"type": "tool_result", "tool_use_id": call, "content": content}
            entry.answers.append(packed(result | ({"is_error": True} if failed else {})))
            self._answered.add(call)

    def compact(self, summary: object, kept: object = ()) -> None:
        """Note a compaction: the model sees the host's summary and what it kept, then what follows.

        What the host wrote of them is any JSON value; its texts count.
        """
        self.compactions += 1
        self._view.clear()
        self.see(summary)
        self.see(kept)

    def see(self, value: object) -> None:
        """Note that the model sees the texts in a JSON value, if something was compacted before."""
        if self.compactions:
            self._view += texts_in(value)

    def has_answer(self, key: str) -> bool:
        """Return whether the answer `key` has blocks already."""
        return key in self._answers

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was said so far."""
        return not self._entries

    def take_summary(self, summary: str) -> None:
        """Take the assistant's last text back if it is the summary that a host asked for."""
        last = self._entries[-1] if self._entries else None
        if last is not None and last.role == "assistant" and not last.answers:
            text = str(unpacked(last.blocks[-1]).get("text") or "").strip()
            if text and text in summary:
                self.left_out["a summary of the host"] += 1
                last.blocks.pop()
                if not last.blocks:
                    self._entries.pop()

    def take_back(self, turns: int) -> None:
        """Take the last so many messages of the user back, with everything behind them."""
        asked = [n for n, entry in enumerate(self._entries) if entry.role == "user"]
        if turns > 0:
            del self._entries[asked[max(0, len(asked) - turns)] if asked else 0 :]

    def transcript(self, host: str) -> Transcript:
        """Return what was gathered."""
        told = [
            each
            for entry in self._entries
            for each in (
                (entry.line, entry.role, entry.blocks),
                (entry.line, "user", entry.answers),
            )
            if each[2]
        ]
        messages = Messages([(role, blocks) for _, role, blocks in told])
        lines = [line for line, *_ in told]
        return Transcript(
            host, messages, lines, dict(self.left_out), self.compactions, tuple(self._view)
        )


def only(rows: Iterable[Row], names: Iterable[str]) -> list[tuple[int, dict[str, Any]]]:
    """Return rows with these fields only, and long messages packed."""
    wanted = frozenset(names)
    return [
        (line, {name: packed(value) for name, value in row.items() if value and name in wanted})
        for line, row in rows
    ]


def packed(value: Any) -> Any:
    """Return an object as bytes, which take less memory, and another JSON value as it is."""
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= _KIND else value
    if not isinstance(value, dict):
        return value
    try:
        data = orjson.dumps(value)
    except TypeError:  # a number or a letter that only Python takes
        return value
    # orjson's bytes keep the room in which they were written; a copy does not.
    return zlib.compress(data, 1) if len(data) >= _LONG else bytes(memoryview(data))


def unpacked(value: Any) -> Any:
    """Return a value that `packed` took."""
    if not isinstance(value, bytes):
        return value
    return orjson.loads(value if value.startswith(b"{") else zlib.decompress(value))


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value; data of pictures are none.

    >>> [*texts_in({"type": "text", "text": "Hi"})]
    ['Hi']
    """
    match value:
        case str():
            yield value
        case {"type": "base64"} | {"type": "image"}:
            return
        case dict():
            for name, each in value.items():
                yield from texts_in(each if name != "type" else None)
        case list() | tuple():
            for each in value:
                yield from texts_in(each)
        case _:
            return


def text_block(text: str) -> Block:
    """Return a block of text."""
    return {"type": "text", "text": text}


def blocks_of(content: Any, block: Callable[[Mapping[str, Any]], Block | None]) -> list[Block]:
    """Return the blocks of a text, or what `block` makes of each object in a list."""
    if isinstance(content, str):
        return [text_block(content)]
    parts = (part for part in content or () if isinstance(part, dict))
    return [told for part in parts if (told := block(part)) is not None]


def call_block(call: str, name: str, arguments: Any) -> Block:
    """Return a block that calls a tool."""
    told = arguments_of(arguments)
    return {"type": "tool_use", "id": call, "name": name or "tool", "input": told}


def arguments_of(value: Any) -> dict[str, Any]:
    """Return the arguments of a call, which may be JSON text; what is no object is `input`.

    >>> arguments_of('{"n": 1}'), arguments_of("ls -l")
    ({'n': 1}, {'input': 'ls -l'})
    """
    if isinstance(value, str):
        try:
            value = orjson.loads(value or "{}")
        except ValueError:
            return {"input": value}
    return value if isinstance(value, dict) else {"input": value}


def picture_block(data: str, mime: str = "") -> Block:
    """Return a block with a picture, by its address or its data in base64."""
    if data.startswith("data:"):
        mime, data = data[len("data:") :].split(",", 1) if "," in data else ("", "")
        mime = mime.split(";")[0]
    elif "://" in data:
        is_picture = data.startswith("http") and (not mime or mime.startswith("image/"))
        source = {"type": "url", "url": data}
        return {"type": "image", "source": source} if is_picture else text_block(f"[file: {data}]")
    if not mime.startswith("image/"):
        return text_block(f"[a file of type {mime or 'unknown'}]")
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}


def as_text(content: Any) -> str:
    """Return the text of a result, which may be blocks or any JSON value."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        if parts and all(isinstance(part, str) for part in parts):
            return "\n".join(part for part in parts if part)
    return "" if content is None else orjson.dumps(content).decode()


def _is_blank(block: Block) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()
