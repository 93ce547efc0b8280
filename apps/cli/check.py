"""`polycontext check`: what a provider would refuse, where, and what would be legal."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from attrs import frozen
from rich.text import Text

from polycontext.window import InvalidMessagesError
from polycontext.window.providers import findings

from .output import FAULT, one_line, tell, write, write_json
from .recordings.conversation import detect_provider
from .recordings.documents import Document, Place, opened, read_documents, unreadable

_SHAPES = "a list of messages, a request as an object, or a list of such"
_ITEM_TYPES = frozenset({"message", "function_call", "function_call_output", "reasoning", "item_reference"})


@frozen
class _Asked:
    """Hold one request of a file, and where it stands."""

    document: Document
    path: Place
    number: int
    value: Any
    provider: str

    @property
    def inside(self) -> Place:
        """Return the place of its messages."""
        if not isinstance(self.value, Mapping):
            return self.path
        return (*self.path, "input" if self.provider == "openai-responses" else "messages")

    def line_of(self, found: InvalidMessagesError) -> int:
        """Return the line of the message that is refused, or of the request."""
        return self.document.line_of(self.path if found.index is None else (*self.inside, found.index))


def check_file(name: str, provider: str | None, *, betas: Collection[str], as_json: bool) -> int:
    """Print what would be refused of the requests in the file `name`; return the exit code, 1 if anything is.

    An object with a model is judged as a whole request, other objects and lists by their messages alone.

    Raises:
        InvalidDataError: the file is missing, unreadable, or holds no request.
    """
    told, counts = list[dict[str, Any]](), Counter[str]()
    for asked in _asked(name, provider):
        counts[asked.provider] += 1
        for found in findings(_judged(asked), asked.provider, betas=betas):
            told.append(_as_object(asked, found))
            if not as_json:
                write(_as_text(told[-1]))
    if as_json:
        write_json({"requests": counts.total(), "findings": told}, indent=2)
    elif not told:
        kinds = ", ".join(f"{count} of {kind}" for kind, count in counts.items())
        tell(Text(f"{name}: nothing to refuse in {counts.total()} request{'s' * (counts.total() > 1)} ({kinds})", style="green"))
    return FAULT if told else 0


def _asked(name: str, provider: str | None) -> Iterator[_Asked]:
    number = 0
    with opened(name) as (source, lines):
        for document in read_documents(source, lines):
            for path, value in _requests(document):
                number += 1
                yield _Asked(document, path, number, value, provider or _guessed(value))


def _requests(document: Document) -> Iterator[tuple[Place, Any]]:
    value = document.value
    if isinstance(value, list) and value and all(isinstance(item, list) or _is_request(item) for item in value):
        yield from (((index,), item) for index, item in enumerate(value))
    elif isinstance(value, list) or _is_request(value):
        yield (), value
    else:
        raise unreadable(document.source, document.line, None, "neither messages nor a request", _SHAPES)


def _is_request(value: object) -> bool:
    return isinstance(value, dict) and ("messages" in value or "input" in value)


def _judged(asked: _Asked) -> Any:
    value = asked.value
    return value if isinstance(value, list) or "model" in value else value.get(asked.inside[-1])


def _guessed(value: Any) -> str:
    if isinstance(value, Mapping) and "messages" not in value:
        return "openai-responses"
    items = value.get("messages") if isinstance(value, Mapping) else value
    if isinstance(items, list) and any(isinstance(item, dict) and item.get("type") in _ITEM_TYPES for item in items):
        return "openai-responses"
    return str(detect_provider(items, has_system=isinstance(value, Mapping) and "system" in value))


def _as_object(asked: _Asked, found: InvalidMessagesError) -> dict[str, Any]:
    return {
        "source": asked.document.source,
        "line": asked.line_of(found),
        "request": asked.number,
        "provider": asked.provider,
        "index": found.index,
        "rule": found.rule,
        "problem": found.problem,
        "legal": found.legal,
        "wording": found.wording,
    }


def _as_text(found: Mapping[str, Any]) -> str:
    where = "request" if found["index"] is None else f"messages[{found['index']}]"
    lines = [f"{found['source']}, line {found['line']}, {where}: {found['rule']}: {found['problem']}; legal: {found['legal']}"]
    if found["wording"] and found["wording"] != found["problem"]:
        lines.append(f"  {found['provider']} says: {found['wording']}")
    return "".join(f"{_plain(line)}\n" for line in lines)


def _plain(line: str) -> str:
    """Return `line` as one that a terminal shows and does not obey, its indent kept."""
    return " " * (len(line) - len(line.lstrip())) + one_line(line)
