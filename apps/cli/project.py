"""`polycontext project`: conversations shortened to a budget."""

from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from typing import Any

from polycontext import polynomial
from polycontext.polynomial import ContextOverflowError, Projection
from polycontext.transcripts import Conversation, read_conversations
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, Rendered
from polycontext.window.providers.anthropic import hoist

from .command import command
from .errors import message_of
from .options import (
    File,
    Json,
    KeepRecent,
    MessageFormat,
    Output,
    Query,
    Repair,
    WindowOptions,
)
from .output import FAULT, CommandError, redirected, tell, write_json


@command(
    "polycontext project chat.json --max-tokens 2000 -o smaller.json",
    "polycontext project chat.json --model gpt-5 --query 'the invoice of March'",
    "polycontext project - --max-tokens 2000 --json < request.json | jq .report",
)
def project(
    *,
    file: File,
    window: WindowOptions,
    form: MessageFormat,
    keep_recent: KeepRecent,
    query: Query,
    repair: Repair,
    output: Output,
    as_json: Json,
) -> None:
    """Shorten a conversation to fit a window, and print it as JSON in the shape of the input.

    Summarises or drops older messages without a model. FILE is JSON or JSONL, or - for standard
    input; several conversations are printed one a line. With --json, prints messages and a report.
    Exits with 1 if the conversation cannot fit.
    """
    if window.max_tokens is None and window.model is None:
        raise CommandError("the window has no size. Pass --max-tokens or --model.")
    cut = partial(
        polynomial.project,
        model=window.model,
        max_tokens=window.max_tokens,
        keep_recent=keep_recent,
        query=query,
        repair=repair,
    )
    shape = as_object if as_json else as_it_came
    found = read_conversations([file], form, notify=tell)
    first = [*islice(found, 2)]  # one is printed over several lines
    with redirected(output):
        for conversation in chain(first, found):
            projection = _projection(conversation, cut)
            write_json(shape(conversation, projection), indent=2 if len(first) == 1 else None)
            if not as_json:
                tell(_report(conversation, projection))


def _projection(conversation: Conversation, cut: Callable[..., Projection]) -> Projection:
    try:
        mends = {"repair": True} if conversation.is_transcript else {}
        return cut(
            [*conversation.messages],
            provider=conversation.provider,
            tools=conversation.tools,
            **mends,
        )
    except InvalidMessagesError as error:
        raise conversation.refused(error) from None
    except ContextOverflowError as error:
        place = f"{conversation.source}, line {conversation.line}"
        raise CommandError(f"{place}: {message_of(error, is_stored=False)}", FAULT) from None


def as_object(conversation: Conversation, projection: Projection) -> dict[str, Any]:
    """Return the messages ready to send (for Anthropic, the system apart) and the report."""
    inline = Rendered(projection.messages, projection.system).inline()
    # Anthropic takes the system apart from the messages, the other formats among them.
    ready = hoist(inline) if conversation.provider is Provider.ANTHROPIC else Rendered(inline)
    return {"messages": ready.messages, "system": list(ready.system), "report": projection.report()}


def as_it_came(conversation: Conversation, projection: Projection) -> Any:
    """Return the projection in the shape of the input: a list, or its object with new messages.

    Law: projecting the result again changes nothing.
    """
    messages = Rendered(projection.messages, projection.system).inline()
    if conversation.body is None:
        return messages
    if conversation.has_system:
        return {**conversation.body, "system": messages[0]["content"], "messages": messages[1:]}
    return {**conversation.body, conversation.holder: messages}


_TOLD = {
    "kept": "word for word",
    "gisted": "summarised",
    "dropped": "dropped",
    "repaired": "results mended",
}


def _report(conversation: Conversation, projection: Projection) -> str:
    report = projection.report()
    parts = [f"{len(report[name])} {told}" for name, told in _TOLD.items() if report[name]]
    first = projection.first_changed
    changed = "nothing changed" if first is None else f"unchanged before message {first}"
    sizes = f"{projection.tokens_before} -> {projection.tokens_after} tokens"
    free = f", {projection.reserve} of them for the reply" if projection.reserve else ""
    room = f"of {projection.max_tokens}{free}; at least {projection.floor}"
    return f"{conversation.title}: {sizes} ({room}); messages: {', '.join(parts)}; {changed}"
