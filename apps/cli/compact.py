"""`polycontext compact`: the compaction of a host's conversation; see docs/hosts.md."""

import json
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any

import attrs
import click

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.hosts import (
    HOSTS,
    VERSION,
    Call,
    CompactAnswer,
    CompactRequest,
    Message,
    Result,
    Status,
    answer,
    host_path,
    json_schema,
    read_request,
)
from polycontext.transcripts import (
    STANDARD_INPUT,
    Conversation,
    arguments_of,
    opened,
    read_conversations,
    read_text,
)

from .command import argument, command, option
from .options import complete_file
from .output import tell, write, write_json

CODES: Mapping[Status, int] = {Status.SHORTENED: 0, Status.FITS: 3, Status.CANNOT: 4}
"""The exit codes of answers; a bad request ends with 2."""


@command(
    "polycontext compact - < request.json",
    "polycontext compact --serve",
    'pi install "$(polycontext compact --host-path pi)"',
)
def compact(
    *,
    file: Annotated[str, argument(default=STANDARD_INPUT, shell_complete=complete_file)],
    serve: Annotated[bool, option("Answer one request a line until the input ends.")],
    schema: Annotated[bool, option("Print the JSON Schema of requests and answers.")],
    host: Annotated[
        str | None,
        option(
            "Print the path of the part that a host installs.",
            "--host-path",
            type=click.Choice([*HOSTS]),
        ),
    ],
) -> int:
    """Shorten the conversation of a host, and print what stays as JSON.

    FILE is a request, or - for standard input; docs/hosts.md describes requests and answers. Exits
    with 0 for a plan, 3 if there is nothing to shorten, 4 if it cannot be shortened that far, and 2
    for a bad request. With --serve, a bad request is answered with its error.
    """
    if schema:
        write(json_schema())
        return 0
    if host is not None:
        write(f"{host_path(host)}\n")
        return 0
    if not serve:
        told = _answered(read_text(file))
        write_json(told.to_data())
        if told.status is not Status.SHORTENED:
            tell(f"{told.status}: {told.tokens_before:,} tokens")
        return CODES[told.status]
    with opened(file) as (_, lines):
        for line in filter(bytes.strip, lines):
            try:
                write_json(_answered(line).to_data())
            except PolycontextError as error:
                write_json({"version": VERSION, "status": "bad request", "error": str(error)})
            sys.stdout.flush()
    return 0


def _answered(data: str | bytes) -> CompactAnswer:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        what, legal = f"is not JSON: {error}", "one JSON object, as docs/hosts.md says"
        raise InvalidDataError("$", what, legal) from None
    request = read_request(value)
    whole = _whole(request)
    told = answer(whole)
    return told if request.transcript is None else told.spelled_out(whole.messages)


def _whole(request: CompactRequest) -> CompactRequest:
    """Return a request with the messages of its transcript."""
    if request.transcript is None:
        return request
    if request.transcript == STANDARD_INPUT:
        raise InvalidDataError("$.transcript", "is the input of requests", "the path of a file")
    if request.last is not None and not _is_written(request.last, request.transcript):
        what, legal = "is not in the transcript", "a file that is written to its end"
        raise InvalidDataError("$.last", what, legal)
    told = [*islice(read_conversations([request.transcript], notify=tell), 2)]
    if len(told) > 1:
        raise InvalidDataError("$.transcript", "holds several conversations", "a file with one")
    return attrs.evolve(request, transcript=None, messages=tuple(messages_of(told[0])))


def _is_written(last: str, file: str) -> bool:
    """Return whether the JSON in a file has a string with this text."""
    sign = json.dumps(last, ensure_ascii=False)[1:-1].encode(errors="backslashreplace")
    with opened(file) as (_, lines):
        return any(sign in line for line in lines)


def messages_of(conversation: Conversation) -> list[Message]:
    """Return the turns of a conversation as messages of the contract."""
    told = list[Message]()
    for turn in conversation.parse(repair=True).turns:
        text = turn.content or ""
        if turn.tool_call_id is not None:
            told.append(Message("user", results=(Result(turn.tool_call_id, text),)))
            continue
        calls = tuple(
            Call(call.id, call.name, arguments_of(call.arguments)) for call in turn.tool_calls
        )
        role: Any = turn.role.value
        told.append(Message(role, text, calls))
    return told
