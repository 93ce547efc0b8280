"""Sending a message with pills: their content is fetched, attached where it is new, and the user's words come last."""

import asyncio
from collections.abc import Iterable
from typing import Any

from attrs import frozen

from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.session import held_attachment
from polycontext.window import ContextItem, ContextWindow, ItemType, PillDocument
from polycontext.window.pills import (
    PillProblem,
    PillType,
    Resolved,
    ResolvedMessage,
    Resolver,
    resolve_document,
)

SourcedItem = tuple[ContextItem, str | None]
"""A context item and its source."""

_ITEM_TYPES = {
    PillType.FILE: ItemType.FILE,
    PillType.SYMBOL: ItemType.CODE,
    PillType.BUFFER: ItemType.TEXT,
}


@frozen
class SentMessage:
    """Say what became of a message: what was attached, what stood in the view already, and what could not be had.

    `yielded` are those of both that the window had no room for: of them, the view holds a gist by
    now.
    """

    text: str
    attached: tuple[Resolved, ...]
    held: tuple[Resolved, ...]
    yielded: tuple[Resolved, ...]
    problems: tuple[PillProblem, ...]
    output: ContextOutput


def item_of(resolved: Resolved) -> ContextItem:
    """Return the content of a pill as a context item: a file, code, or text, under its name and lines."""
    known = {
        "filename": resolved.path or resolved.name,
        "start_line": resolved.start_line,
        "end_line": resolved.end_line,
    }
    metadata: dict[str, Any] = {key: value for key, value in known.items() if value is not None}
    return ContextItem(resolved.attached_text, _ITEM_TYPES[resolved.type], metadata)


def send_message(
    session: ContextSession,
    document: PillDocument,
    resolvers: Iterable[Resolver],
    items: Iterable[tuple[ContextItem, str]] = (),
) -> SentMessage:
    """Attach what the pills of `document` name, as it is now, and add the user turn behind it.

    What stands in the view word for word is not attached again; content that changed
    since supersedes the earlier one. A pill that cannot be resolved is a problem of
    the message, which is sent all the same: show `problems`, and let the user remove
    or update the pill, before or after; `resolve_document` alone finds them without sending.
    `items`, each with its source, are attached before what the pills name, such as
    `ContextManagers.attachments`.

    Attachments and the user's words are one commit.

    Raises:
        Whatever `ContextSession.send_message` raises; nothing was attached then.
    """
    message = resolve_document(document, resolvers)
    before = session.window
    return _report(
        message, before, session.send_message(message.text, [*items, *items_of(message)])
    )


async def asend_message(
    session: ContextSession,
    document: PillDocument,
    resolvers: Iterable[Resolver],
    items: Iterable[tuple[ContextItem, str]] = (),
) -> SentMessage:
    """Send without blocking: resolvers run in a thread, summaries are awaited.

    See `send_message`.
    """
    return await asend_resolved(
        session, await asyncio.to_thread(resolve_document, document, resolvers), items
    )


async def asend_resolved(
    session: ContextSession, message: ResolvedMessage, items: Iterable[tuple[ContextItem, str]] = ()
) -> SentMessage:
    """Send a message that is resolved already, so that you can look at its problems first.

    See `asend_message`.
    """
    before = session.window
    return _report(
        message, before, await session.asend_message(message.text, [*items, *items_of(message)])
    )


def items_of(message: ResolvedMessage) -> list[SourcedItem]:
    """Return what is attached to a message, each with its source, as `ContextSession.send_message` takes it."""
    return [(item_of(each), each.source) for each in message.attachments]


def _report(message: ResolvedMessage, before: ContextWindow, output: ContextOutput) -> SentMessage:
    """Return what became of the message, from the window before it and the output after all of it."""
    held = _find_held(message, before)
    # Asked at the end, since a later attachment may have made an earlier one yield.
    stand = _find_held(message, output.window)
    attached, yielded = (
        tuple(each for each in message.attachments if each not in some) for some in (held, stand)
    )
    return SentMessage(message.text, attached, held, yielded, message.problems, output)


def _find_held(message: ResolvedMessage, window: ContextWindow) -> tuple[Resolved, ...]:
    return tuple(
        each
        for each in message.attachments
        if held_attachment(window, item_of(each), each.source) is not None
    )
