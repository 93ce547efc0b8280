"""Sending a message with pills: their content is fetched, attached where it is new, and the user's words come last."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field, frozen

from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.window import ContextItem, ItemType
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

    Raises:
        Whatever `ContextSession.attach` and `add_user_turn` raise. Each of them counts by itself: what
        was attached by then stays, and sending again does not attach it twice.
    """
    sending = _Sending(session, resolve_document(document, resolvers))
    for item, source in sending.steps():
        session.attach(item, source=source)
    return sending.sent(session.add_user_turn(sending.message.text))


async def asend_message(session: ContextSession, document: PillDocument, resolvers: Iterable[Resolver]) -> SentMessage:
    """Send without blocking: resolvers run in a thread, summaries are awaited; see `send_message`.

    Other tasks may write between an attachment and the user turn.
    """
    sending = _Sending(session, await asyncio.to_thread(resolve_document, document, resolvers))
    for item, source in sending.steps():
        await session.aattach(item, source=source)
    return sending.sent(await session.aadd_user_turn(sending.message.text))


@define
class _Sending:
    """Keep account of a message while it is sent."""

    session: ContextSession
    message: ResolvedMessage
    items: dict[Resolved, ContextItem] = field(init=False)
    held: list[Resolved] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.items = {resolved: item_of(resolved) for resolved in self.message.attachments}

    def steps(self) -> Iterator[tuple[ContextItem, str]]:
        """Yield each item to attach and its source, noting whether the view holds it by then."""
        for resolved, item in self.items.items():
            # Asked before it is attached: afterwards the view holds it either way.
            if self._stands(resolved):
                self.held.append(resolved)
            yield item, resolved.source

    def sent(self, output: ContextOutput) -> SentMessage:
        """Return what became of the message."""
        attached = tuple(each for each in self.items if each not in self.held)
        # Asked at the end, since a later attachment may have made an earlier one yield.
        yielded = tuple(each for each in self.items if not self._stands(each))
        return SentMessage(self.message.text, attached, tuple(self.held), yielded, self.message.problems, output)

    def _stands(self, resolved: Resolved) -> bool:
        return self.session.attached(self.items[resolved], source=resolved.source) is not None
