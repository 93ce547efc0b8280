"""Conversations read from files, in the shapes in which they are commonly stored.

A conversation is a list of messages, an object (a request body, a provider's answer, a record of a
data set) with `messages`, `input`, `contents` or `output` and optionally `system`, `tools` and
`id`, a record of another library, or the session file of a host. A document is one conversation or
a list of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import kind_of
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import AUTO, Provider, format_of, get_format
from polycontext.window.providers.wire import Parsed

from .documents import Document, Notify, Place, opened, warn_of_damage
from .formats import format_of_rows
from .shapes import documents_of, holder_of

MESSAGES: Mapping[str, str] = {Provider.RESPONSES: "input", Provider.GEMINI: "contents"}
"""The field of a request that holds its messages, by format, where it is not `messages`."""

_VENDORS = {
    "input": Provider.RESPONSES,
    "output": Provider.RESPONSES,
    "contents": Provider.GEMINI,
}
_SHAPES = (
    'a list of messages, a request with "messages" or "input", a list of such, one message a line, '
    "a provider's answer, or an exported session"
)
_SOME = 120
_HEAD = 2**18
"""The bytes at the beginning of a file by which a session is told from a data set."""

_ERROR_SHOWN = 200


@frozen
class Conversation:
    """A recorded conversation and its place in a file.

    Attributes:
        messages: The messages from which turns are made; a top-level `system` is the first of them.
        number: Its position in the file, from 1.
        has_system: Whether the file has a top-level `system`.
        body: The object that holds the messages, or None for a bare list.
        holder: The field of that object.
    """

    document: Document = field(repr=False)
    path: Place
    provider: Provider
    messages: Sequence[Any] = field(repr=False)
    number: int = 1
    has_system: bool = False
    tools: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    id: str | None = None
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    holder: str = "messages"

    @property
    def source(self) -> str:
        """Return the name of the file."""
        return self.document.source

    @property
    def line(self) -> int:
        """Return the line on which the conversation begins."""
        return self.document.line_of(self.path)

    @property
    def title(self) -> str:
        """Return a label for people: the id, or else the file and line."""
        return self.id or (f"{self.source}:{self.line}" if self.number > 1 else self.source)

    @property
    def is_transcript(self) -> bool:
        """Return whether a host wrote the file, whose user may have interrupted any call."""
        return self.document.transcript is not None

    def parse(self, *, repair: bool = False) -> Parsed:
        """Return the parsed turns; the calls of a host's file are always mended.

        Raises:
            InvalidDataError: a message breaks a rule of the provider; names file, line and message.
        """
        try:
            mends = repair or self.is_transcript
            return get_format(self.provider).parse([*self.messages], repair=mends)
        except InvalidMessagesError as error:
            raise self.refused(error) from None

    def refused(self, error: InvalidMessagesError) -> InvalidDataError:
        """Return the error about the messages, with its place in the file."""
        path, name = self.place_of(error.index)
        problem = error.problem
        if len(problem) > 2 * _SOME:
            # The path into deeply nested data is cut in the middle.
            problem = f"{problem[:_SOME]} ... {problem[-_SOME:]}"
        what = f"{error.provider} rule {error.rule}: {problem}"
        return self.document.refused(path, name, what, legal_in_json(error))

    def where(self, number: int, *, repair: bool = False) -> str:
        """Return the place of turn `number` (from 1) in the file: its line and message."""
        path, name = self.place_of(self.parse(repair=repair).places[number - 1])
        return f"line {self.document.line_of(path)}, {name}"

    def place_of(self, index: int | None) -> tuple[Place, str]:
        """Return the place of a message in the document, and its name; None is all of them."""
        inside: Place = (*self.path, self.holder) if self.body is not None else self.path
        if index is None:
            return inside, self.holder
        if self.has_system and index == 0:
            return (*self.path, "system"), "system"
        index -= self.has_system
        return (*inside, index), f"{self.holder}[{index}]"


def read_conversations(
    names: Iterable[str],
    provider: Provider | None = None,
    *,
    notify: Notify = warn_of_damage,
) -> Iterator[Conversation]:
    """Yield the conversations of the files `names`, in order, each as soon as it is read.

    Args:
        names: Paths; `-` is standard input.
        provider: The format of the messages; by default it is detected.
        notify: Called with a line for people: which host wrote a file, and what was left out. By
            default, only a damaged line is warned of.

    Raises:
        InvalidDataError: a file is missing, unreadable or holds no conversation; names file, line
            and field.
    """
    for name in names:
        with opened(name) as (source, lines):
            documents = documents_of(source, lines, notify)
            found = (each for document in documents for each in conversations(document, provider))
            for number, conversation in enumerate(found, 1):
                yield evolve(conversation, number=number)


def conversations(document: Document, provider: Provider | None = None) -> Iterator[Conversation]:
    """Yield the conversations of `document`; the format is detected unless `provider` is given.

    Raises:
        InvalidDataError: the document has none of the known shapes.
    """
    if document.transcript is not None:
        messages = document.transcript.messages
        yield Conversation(document, (), Provider.ANTHROPIC, messages)
        return
    values = document.value
    several: list[tuple[Place, Any]] = [((), values)]
    if isinstance(values, list) and values and all(_holds_messages(value) for value in values):
        several = [((index,), value) for index, value in enumerate(values)]
    for path, value in several:
        yield _conversation(document, path, value, provider)


def legal_in_json(error: InvalidMessagesError) -> str:
    """Return what to use in a file; the error's own advice may be about what Python can pass."""
    is_value = error.rule == "not-an-object"
    return 'an object such as {"role": "user", "content": ...}' if is_value else error.legal


def session_in(path: Path) -> Conversation | None:
    """Return the conversation of a file that holds the session of a host, or None for other files.

    Raises:
        InvalidDataError: a host wrote the file, but it is damaged.
    """
    with path.open("rb") as file:
        *lines, _ = (file.read(_HEAD) + b"\n").split(b"\n")
    rows = list[object]()
    with suppress(ValueError, RecursionError):  # the last line may be longer than what was read
        rows += (json.loads(line) for line in lines if line.strip())
    return next(read_conversations([str(path)])) if format_of_rows(rows) else None


def detect_provider(messages: object, *, has_system: bool = False) -> Provider:
    """Return the provider whose format `messages` are in.

    If nothing else decides, a separate system means Anthropic, otherwise OpenAI.
    """
    return format_of(messages, AUTO, Provider.ANTHROPIC if has_system else Provider.OPENAI).provider


def _holds_messages(value: object) -> bool:
    return isinstance(value, list) or holder_of(value) is not None


def _conversation(
    document: Document, path: Place, value: Any, provider: Provider | None
) -> Conversation:
    if isinstance(value, list):
        return Conversation(document, path, provider or detect_provider(value), value)
    holder = holder_of(value)
    if holder is None:
        raise document.refused(path, None, _misshapen(value), _SHAPES)
    messages, system, tools = value[holder], value.get("system"), value.get("tools")
    if not isinstance(messages, list):
        what = f"{kind_of(messages)} is not a list"
        raise document.refused((*path, holder), holder, what, "a list of messages")
    found = provider or _VENDORS.get(holder)
    found = found or detect_provider(messages, has_system=system is not None)
    # Turns are parsed from one list, so the system becomes its first message; `has_system` records
    # that the file has it apart.
    if system is not None:
        messages = [{"role": "system", "content": system}, *messages]
    name = value.get("id")  # some data sets use a number
    identity = str(name) if isinstance(name, str | int) and not isinstance(name, bool) else None
    if tools is not None and not (
        isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)
    ):
        what = f"{kind_of(tools)} that holds no tools"
        raise document.refused((*path, "tools"), "tools", what, "a list of objects")
    return Conversation(
        document,
        path,
        found,
        messages,
        has_system=system is not None,
        tools=tools or (),
        id=identity,
        body=value,
        holder=holder,
    )


def _misshapen(value: object) -> str:
    match value:
        case {"error": error} if error is not None:
            said = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
            return f"an error instead of an answer: {said[:_ERROR_SHOWN]}"
        case {"role": _}:
            return "a single message among conversations"
        case dict():
            keys = ", ".join(repr(str(key)[:30]) for key in [*value][:5]) or "none"
            return f'an object without "messages", its keys: {keys}'
        case _:
            return f"{kind_of(value)} is not a conversation"
