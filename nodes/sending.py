"""Sending a message with pills: their content is fetched, attached where it is new, and the user's words come last."""

import asyncio
from collections.abc import Iterable
from typing import Any

from attrs import define, field, frozen

from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.session.decide import held_attachment
from polycontext.window import ContextItem, ContextWindow, ItemType
from polycontext.window.pills import PillDocument, PillProblem, PillType, Resolved, ResolvedMessage, Resolver, resolve_document

_ITEM_TYPES = {PillType.FILE: ItemType.FILE, PillType.SYMBOL: ItemType.CODE, PillType.BUFFER: ItemType.TEXT}


@frozen
class SentMessage:
    """Say what became of a message: what was attached, what stood in the view already, and what could not be had.

    `yielded` are those of both that the window had no room for: of them, the view holds a gist by now.
    """

    text: str
    attached: tuple[Resolved, ...]
    held: tuple[Resolved, ...]
    yielded: tuple[Resolved, ...]
    problems: tuple[PillProblem, ...]
    output: ContextOutput


def item_of(resolved: Resolved) -> ContextItem:
    """Return the content of a pill as a context item: a file, code, or text, under its name and lines."""
    known = {"filename": resolved.path or resolved.name, "start_line": resolved.start_line, "end_line": resolved.end_line}
    metadata: dict[str, Any] = {key: value for key, value in known.items() if value is not None}
    return ContextItem(resolved.attached_text, _ITEM_TYPES[resolved.type], metadata)


def send_message(session: ContextSession, document: PillDocument, resolvers: Iterable[Resolver]) -> SentMessage:
    """Attach what the pills of `document` name, as it is now, and add the user turn behind it.

    What stands in the view word for word is not attached again; content that changed
    since supersedes the earlier one. A pill that cannot be resolved is a problem of
    the message, which is sent all the same: show `problems`, and let the user remove
    or update the pill, before or after; `resolve_document` alone finds them without sending.

    Attachments and the user's words are one commit.

    Raises:
        Whatever `ContextSession.send_message` raises; nothing was attached then.
    """
    sending = _Sending(session, resolve_document(document, resolvers))
    return sending.sent(session.send_message(sending.message.text, sending.items_with_sources()))


async def asend_message(session: ContextSession, document: PillDocument, resolvers: Iterable[Resolver]) -> SentMessage:
    """Send without blocking: resolvers run in a thread, summaries are awaited; see `send_message`."""
    sending = _Sending(session, await asyncio.to_thread(resolve_document, document, resolvers))
    return sending.sent(await session.asend_message(sending.message.text, sending.items_with_sources()))


@define
class _Sending:
    """Keep account of a message while it is sent."""

    session: ContextSession
    message: ResolvedMessage
    items: dict[Resolved, ContextItem] = field(init=False)
    before: ContextWindow = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.items = {resolved: item_of(resolved) for resolved in self.message.attachments}
        self.before = self.session.window

    def items_with_sources(self) -> list[tuple[ContextItem, str | None]]:
        """Return the items to attach, each with where it comes from."""
        return [(item, resolved.source) for resolved, item in self.items.items()]

    def sent(self, output: ContextOutput) -> SentMessage:
        """Return what became of the message."""
        held = tuple(each for each in self.items if self._stands(self.before, each))
        attached = tuple(each for each in self.items if each not in held)
        # Asked at the end, since a later attachment may have made an earlier one yield.
        yielded = tuple(each for each in self.items if not self._stands(output.window, each))
        return SentMessage(self.message.text, attached, held, yielded, self.message.problems, output)

    def _stands(self, window: ContextWindow, resolved: Resolved) -> bool:
        return held_attachment(window, self.items[resolved], resolved.source) is not None
