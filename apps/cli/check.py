"""`polycontext check`: what a provider would reject in a request, where, and how to fix it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from attrs import frozen

from polycontext.base import advised
from polycontext.base.json_data import kind_of
from polycontext.testing.strict import findings
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider

from .command import command
from .options import Json, MessageFormat, complete_file
from .output import FAULT, one_line, tell, write, write_json
from .recordings.conversation import detect_provider
from .recordings.documents import STANDARD_INPUT, Document, Place, has_any, opened
from .recordings.shapes import HOLDERS, MESSAGES, documents_of
from .wording import in_words_of_commands

_SHAPES = "a list of messages, a request as an object, or a list of such"


@frozen
class _Asked:
    """A request in a file, with its place there."""

    document: Document
    path: Place
    number: int
    value: Any
    provider: str

    @property
    def inside(self) -> Place:
        """Return the place of the request's messages."""
        if not isinstance(self.value, Mapping):
            return self.path
        return (*self.path, MESSAGES.get(self.provider, "messages"))

    def line_of(self, found: InvalidMessagesError) -> int:
        """Return the line of the rejected message, or of the request if no message is named."""
        return self.document.line_of(
            self.path if found.index is None else (*self.inside, found.index)
        )


@command(
    "polycontext check request.json --format anthropic",
    "polycontext check requests.jsonl --json | jq .findings",
    "polycontext check - < messages.json",
)
@click.argument("file", shell_complete=complete_file)
@click.option(
    "--beta",
    "betas",
    multiple=True,
    metavar="NAME",
    help="A value of the header anthropic-beta. May be repeated.",
)
def check(
    *,
    file: str,
    form: MessageFormat,
    betas: Sequence[str],
    as_json: Json,
) -> int:
    """Find what a provider would reject in a request, where and why, and how to fix it.

    FILE holds requests or lists of messages: one, a list of them, or one a line; - is standard
    input. Signatures and other things that only the provider knows are not checked. Exits with 1 if
    something would be rejected.
    """
    told, counts = list[dict[str, Any]](), Counter[str]()
    for asked in _asked(file, form):
        counts[asked.provider] += 1
        for found in findings(_judged(asked), asked.provider, betas=betas):
            told.append(_as_object(asked, found))
            if not as_json:
                write(_as_text(told[-1]))
    if as_json:
        write_json({"requests": counts.total(), "findings": told}, indent=2)
    elif not told:
        kinds = ", ".join(f"{count} of {kind}" for kind, count in counts.items())
        total = f"{counts.total()} request{'s' * (counts.total() > 1)}"
        tell(
            f"{'<stdin>' if file == STANDARD_INPUT else file}: no problems in {total} ({kinds})",
            "green",
        )
    return FAULT if told else 0


def _asked(name: str, provider: Provider | None) -> Iterator[_Asked]:
    with opened(name) as (source, lines):
        documents = documents_of(source, lines)
        requests = ((document, *found) for document in documents for found in _requests(document))
        for number, (document, path, value) in enumerate(requests, 1):
            yield _Asked(document, path, number, value, provider or _guessed(value))


def _requests(document: Document) -> Iterator[tuple[Place, Any]]:
    for path, value in document.parts(*HOLDERS):
        if not isinstance(value, list) and not has_any(value, HOLDERS):
            what = f"{kind_of(value)} that is neither messages nor a request"
            raise document.refused((), None, what, _SHAPES)
        yield path, value


def _judged(asked: _Asked) -> Any:
    value = asked.value
    return value if isinstance(value, list) or "model" in value else value.get(asked.inside[-1])


def _guessed(value: Any) -> str:
    is_request = isinstance(value, Mapping)
    if is_request and "messages" not in value:
        return next(each for each, name in MESSAGES.items() if name in value)
    items = value["messages"] if is_request else value
    return str(detect_provider(items, has_system=is_request and "system" in value))


def _as_object(asked: _Asked, found: InvalidMessagesError) -> dict[str, Any]:
    return {
        "source": asked.document.source,
        "line": asked.line_of(found),
        "request": asked.number,
        "provider": asked.provider,
        "index": found.index,
        "rule": found.rule,
        "problem": found.problem,
        "legal": in_words_of_commands(found.legal),
        "wording": found.wording,
    }


def _as_text(found: Mapping[str, Any]) -> str:
    where = "request" if found["index"] is None else f"messages[{found['index']}]"
    told = one_line(
        advised(
            f"{found['source']}, line {found['line']}, {where}: {found['rule']}: "
            f"{found['problem']}",
            f"Use {found['legal']}",
        )
    )
    if found["wording"] and found["wording"] != found["problem"]:
        told += "\n  " + one_line(f"{found['provider']} says: {found['wording']}")
    return f"{told}\n"
