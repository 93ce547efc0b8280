"""Recorded conversations, read from the shapes in which they are commonly stored.

A conversation is a list of messages, or an object (a request body, a record of a data set) with
`messages`, or `input` as Responses has it, and optionally `system`, `tools` and `id`. A document is
one conversation or a list of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import kind_of
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import AUTO, Parsed, Provider, format_of, get_format

from .documents import Document, Place, has_any, opened
from .shapes import HOLDERS, documents_of

_SHAPES = (
    'a list of messages, a request with "messages" or "input", a list of such, one message a line, '
    "or an exported session"
)
_SOME = 120


@frozen
class Conversation:
    """A recorded conversation and its place in a file.

    Attributes:
        messages: The messages from which turns are made; a top-level `system` is the first of them.
        number: Its position in the file, from 1.
        has_system: Whether the file has a top-level `system`.
        size: Its share of the document, in bytes.
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
    size: int = 0
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

    def parse(self, *, repair: bool = False) -> Parsed:
        """Return the parsed turns.

        Raises:
            InvalidDataError: a message breaks a rule of the provider; names file, line and message.
        """
        try:
            return get_format(self.provider).parse(self.messages, repair=repair)
        except InvalidMessagesError as error:
            raise self.refused(error) from None

    def refused(self, error: InvalidMessagesError) -> InvalidDataError:
        """Return the error about the messages, with its place in the file."""
        path, name = self._place(error.index)
        problem = error.problem
        if len(problem) > 2 * _SOME:
            # The path into deeply nested data is cut in the middle.
            problem = f"{problem[:_SOME]} ... {problem[-_SOME:]}"
        what = f"{self.provider} rule {error.rule}: {problem}"
        return self.document.refused(path, name, what, error.legal)

    def where(self, number: int, *, repair: bool = False) -> str:
        """Return the place of turn `number` (from 1) in the file: its line and message."""
        path, name = self._place(self.parse(repair=repair).places[number - 1])
        return f"line {self.document.line_of(path)}, {name}"

    def _place(self, index: int | None) -> tuple[Place, str]:
        inside: Place = (*self.path, self.holder) if self.body is not None else self.path
        if index is None:
            return inside, self.holder
        if self.has_system and index == 0:
            return (*self.path, "system"), "system"
        index -= self.has_system
        return (*inside, index), f"{self.holder}[{index}]"


def read_conversations(
    names: Iterable[str], provider: Provider | None = None
) -> Iterator[Conversation]:
    """Yield the conversations of the files `names`, in order, each as soon as it is read.

    Raises:
        InvalidDataError: a file is missing, unreadable or holds no conversation; names file, line
            and field.
    """
    for name in names:
        with opened(name) as (source, lines):
            documents = documents_of(source, lines)
            found = (each for document in documents for each in conversations(document, provider))
            for number, conversation in enumerate(found, 1):
                yield evolve(conversation, number=number)


def conversations(document: Document, provider: Provider | None = None) -> Iterator[Conversation]:
    """Yield the conversations of `document`; the format is detected unless `provider` is given.

    Raises:
        InvalidDataError: the document has none of the known shapes.
    """
    parts = document.parts(*HOLDERS)
    for number, (path, value) in enumerate(parts, 1):
        conversation = _conversation(document, path, value, provider)
        yield evolve(conversation, number=number, size=document.size // len(parts))


def detect_provider(messages: object, *, has_system: bool = False) -> Provider:
    """Return the provider whose format `messages` are in.

    If nothing else decides, a separate system means Anthropic, otherwise OpenAI.
    """
    return format_of(messages, AUTO, Provider.ANTHROPIC if has_system else Provider.OPENAI).provider


def _conversation(
    document: Document, path: Place, value: Any, provider: Provider | None
) -> Conversation:
    if isinstance(value, list):
        return Conversation(document, path, provider or detect_provider(value), value)
    if not has_any(value, HOLDERS):
        raise document.refused(path, None, _misshapen(value), _SHAPES)
    holder = next(name for name in HOLDERS if name in value)
    messages, system, tools = value[holder], value.get("system"), value.get("tools")
    if not isinstance(messages, list):
        what = f"{kind_of(messages)} is not a list"
        raise document.refused((*path, holder), holder, what, "a list of messages")
    found = provider or (
        Provider.RESPONSES
        if holder == "input"
        else detect_provider(messages, has_system=system is not None)
    )
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
    if isinstance(value, dict) and "role" in value:
        return "a single message among conversations"
    if isinstance(value, dict):
        return (
            'an object without "messages", its keys: '
            f"{', '.join(repr(key[:30]) for key in list(value)[:5]) or 'none'}"
        )
    return f"{kind_of(value)} is not a conversation"
