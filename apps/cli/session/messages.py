"""`polycontext session append` and `messages`: adding messages, and the request to send."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import click

from polycontext.base import InvalidDataError
from polycontext.pills import asend_message
from polycontext.pills.resolution import ResolvedMessage
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session import utc_now
from polycontext.polynomial.stores import SessionStore
from polycontext.transcripts import (
    MESSAGES,
    Conversation,
    read_conversations,
    read_text,
)
from polycontext.window import InvalidMessagesError, Turn
from polycontext.window.providers import Provider, Rendered

from ..command import argument, command, option
from ..errors import message_of
from ..options import (
    MessageFormat,
    Moment,
    NamedSession,
    Roots,
    SessionOptions,
    WindowOptions,
    WriteOptions,
    complete_file,
)
from ..output import FAULT, CommandError, tell, write_json
from ..pills import describe, print_attachments, resolve_text
from .settings import Settings, check_new, session_at, session_for
from .standing import print_write

_PILL = re.compile(r"\[@[^\]]+\]")
"""A name that a user's text attaches."""

_FILE = re.compile(r"\S+\.(json|jsonl|ndjson)")


@command(
    'polycontext session append trip "Where to?"',
    "polycontext session append trip messages.json",
    "curl ... | polycontext session append trip",
    "polycontext session append trip --role user --root . 'explain [@src/agent.py]'",
    'polycontext session append trip --close-calls "the process was stopped"',
)
def append(
    *,
    where: NamedSession,
    text: Annotated[str | None, argument(required=False)],
    role: Annotated[
        str | None,
        option(
            "The role of TEXT; user by default.",
            type=click.Choice(["system", "user", "assistant", "tool"]),
        ),
    ],
    tool_call_id: Annotated[
        str | None, option("The id of the call that a tool result answers.", metavar="ID")
    ],
    source: Annotated[
        str | None,
        option(
            "The file to read; - is standard input.",
            "--from",
            metavar="FILE",
            shell_complete=complete_file,
        ),
    ],
    form: MessageFormat,
    roots: Roots,
    close_calls: Annotated[
        str | None,
        option(
            "First give every call without a result this reason as its result.", metavar="REASON"
        ),
    ],
    oversize: Annotated[
        Any,
        option(
            "What to do with a user message that cannot fit.",
            type=click.Choice(["truncate", "error"]),
            default="truncate",
        ),
    ],
    write: WriteOptions,
) -> int:
    """Add messages to a session, all or none, and compress older ones if room is needed.

    TEXT is what the user says, or with --role somebody else. Without it, or with a file or - in
    its place, reads JSON: a message, a list, one message a line, a request, a provider's answer, or
    an exported session. With --root, names such as [@src/agent.py] in a user's text attach files
    and symbols. --close-calls takes effect even if the new messages are refused.
    """
    place = text
    if role is None and text is not None and source is None:
        # A file, or standard input, is read; everything else is what the user says.
        text, role, source = (None, None, text) if _is_input(text) else (text, "user", None)
    _check_text(text, role, tool_call_id, source, roots)
    is_last = role is None and source is None
    is_guarded = any(value is not None for value in write.guards.values())
    if is_guarded and (roots or (close_calls is not None and not is_last)):
        raise CommandError(
            "--root, and --close-calls beside messages, write more than once. "
            "Leave out --expected-revision and --idempotency-key."
        )
    if close_calls is not None and is_last:
        with where.open(write) as session:
            output = session.close_open_calls(close_calls, **write.guards)
            print_write(session, output, as_json=write.as_json)
        return 0
    where.check()
    given, message = list[Conversation](), None
    if role is None:
        given = _read(source or "-", is_text=place is not None)
        messages = _messages_of(given)
    else:
        if text is None:
            # Without the last line end of the file.
            text = read_text(source or "-").removesuffix("\n").removesuffix("\r")
        messages = [Turn(role, text, timestamp=utc_now(), tool_call_id=tool_call_id)]
        message = _resolved(text, roots) if role == "user" else None
    with where.open(write) as session:
        if close_calls is not None:
            session.close_open_calls(close_calls)
        since = len(session.conversation.log)
        try:
            if message is not None:
                sent = asyncio.run(asend_message(session, message))
                print_attachments(sent)
                output = sent.output
            else:
                output = session.extend(messages, form or "auto", oversize=oversize, **write.guards)
        except InvalidMessagesError as error:
            raise _refused(given, error) from None
        added = [turn.resource_id for turn in session.conversation.log[since:]]
        print_write(session, output, as_json=write.as_json, added=added)
    return 0


def _read(name: str, *, is_text: bool) -> list[Conversation]:
    """Return what a file holds; `is_text` says that its name might be meant as a text."""
    try:
        return [*read_conversations([name], notify=tell)]
    except InvalidDataError as error:
        if is_text and Path(name).is_file() and not _FILE.fullmatch(name):
            error.legal += f". To attach it, use --root . '[@{name}]'; to say it, --role user"
        raise


Continued = Annotated[
    str | None,
    option(
        "Begin a new session with a conversation or the session file of another program.",
        "--continue",
        metavar="FILE",
        shell_complete=complete_file,
    ),
]


def chat_session(
    store: SessionStore,
    name: str,
    said: Settings,
    system: str | None,
    continued: str | None,
    **options: Any,
) -> ContextSession:
    """Return the session of a chat; a new one can begin with the conversation in a file.

    Raises:
        InvalidDataError: the file holds none, or messages that its provider refuses.
        CommandError: the session exists already.
    """
    if continued is None:
        return session_for(store, name, said, system, **options)
    check_new(store, name)
    given = _read(continued, is_text=False)
    session = session_for(store, name, said, system, **options)
    try:
        session.extend(_messages_of(given))
    except InvalidMessagesError as error:
        raise _refused(given, error) from None
    return session


def _messages_of(given: Sequence[Conversation]) -> Sequence[Any]:
    told = [
        message
        for each in given
        for message in (each.parse().turns if each.is_transcript else each.messages)
    ]
    if not told:
        raise InvalidDataError(given[0].source, "there is no message", "a list of messages")
    return told


def _refused(given: Sequence[Conversation], error: InvalidMessagesError) -> Exception:
    """Return the error with its place in the file in which the messages stand."""
    if not given or error.index is None or given[0].is_transcript:
        return given[0].refused(error) if given else error
    for conversation in given:
        if error.index < len(conversation.messages):
            return conversation.refused(error)
        error.index -= len(conversation.messages)
    return error


def _is_input(text: str) -> bool:
    """Return whether a text is ``-`` or the path of a file.

    One word that ends like a file of messages counts as a path, so that a misspelt one is told.
    """
    try:
        is_file = Path(text).is_file()
    except (OSError, ValueError):
        is_file = False
    return text == "-" or is_file or bool(_FILE.fullmatch(text))


def _check_text(
    text: str | None,
    role: str | None,
    tool_call_id: str | None,
    source: str | None,
    roots: Sequence[Path],
) -> None:
    """Refuse options that contradict each other."""
    if role is None and tool_call_id is not None:
        raise CommandError("--tool-call-id needs a result. Add --role tool and the result's text.")
    if text is not None and source is not None:
        raise CommandError("there is a text and --from. Pass one of them.")
    if (role == "tool") is (tool_call_id is None):
        raise CommandError("--role tool and --tool-call-id go together. Pass both or neither.")
    if roots and role != "user":
        raise CommandError("--root needs a user's text. Add --role user.")


def _resolved(text: str, roots: Sequence[Path]) -> ResolvedMessage | None:
    """Return a user's text with the files and symbols it names, or None if it attaches nothing.

    Raises:
        CommandError: one of them cannot be attached; each is printed with the reason.
    """
    named = _PILL.search(text)
    if not roots:
        if named:
            tell(f"{named[0]} attaches nothing without --root DIR", "yellow")
        return None
    if not named:
        tell("the text attaches nothing. To attach a file, name it as [@src/agent.py]", "yellow")
    message = resolve_text(text, roots)
    for problem in message.problems:
        tell(f"refused {describe(problem)}", "red")
    if message.problems:
        raise CommandError(
            "nothing was added. Correct the names in brackets, or leave them out.", FAULT
        )
    return message


@command(
    "polycontext session messages trip | jq .messages",
    """polycontext session messages trip --body '{"model": "claude-sonnet-5"}' """
    "| curl --json @- ...",
)
def messages(
    *,
    where: SessionOptions,
    form: MessageFormat,
    body: Annotated[str | None, option("A JSON object of further request fields.", metavar="JSON")],
    allow_open: Annotated[bool, option("Print even if calls have no result yet.")],
    moment: Moment,
    window: WindowOptions,
) -> None:
    """Print the body of the next request: valid for the provider and within the window.

    OpenAI has "messages", Anthropic "messages" and "system", OpenAI Responses "input". Exits with 1
    if the session cannot be sent now.
    """
    more = _fields_of(body)
    with where.open(window) as opened:
        session = session_at(opened, moment)
        provider = form or session.usage.provider
        try:
            request = session.request(provider, allow_open=allow_open)
        except InvalidMessagesError as error:
            # The messages are the session's, not the caller's, so this is not an input error.
            raise CommandError(message_of(error), FAULT) from None
    fields = request_fields(request, provider)
    if twice := sorted(fields.keys() & more.keys()):
        raise CommandError(f"--body has {', '.join(twice)}, which the session sets. Leave it out.")
    write_json({**more, **fields}, indent=2)
    if betas := request.options.get("betas"):
        tell(f"send the header anthropic-beta: {','.join(betas)}")
    for resource_id, kind in request.left_behind:
        tell(f"{resource_id}: {kind} is left out, since {provider} cannot take it", "yellow")


def request_fields(request: Rendered, provider: Provider) -> dict[str, Any]:
    """Return the body fields that a session sets: options, a separate system, and messages.

    Headers are not included.
    """
    options = {name: value for name, value in request.options.items() if name != "betas"}
    system: dict[str, Any] = {"system": [*request.system]} if request.system else {}
    if system and provider is Provider.GEMINI:
        system = {"systemInstruction": {"parts": system["system"]}}
    name = MESSAGES.get(provider, "messages")
    return {**options, **system, name: request.messages}


def _fields_of(body: str | None) -> Mapping[str, Any]:
    """Parse the JSON object given with `--body`."""
    fields, problem = None, "is not an object"
    try:
        fields = json.loads(body or "{}")
    except (ValueError, RecursionError) as error:
        problem = f"is not JSON: {error}"
    if not isinstance(fields, dict):
        raise CommandError(f'--body {problem}. Pass an object such as {{"model": "gpt-5"}}.')
    return fields
