"""Sending a message with pills: their content is fetched, attached where it is new, and the user's words come last."""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.window import ContextItem, ItemType
from polycontext.window.pills import PillDocument, PillProblem, PillType, Resolved, Resolver, resolve_document

_ITEM_TYPES = {PillType.FILE: ItemType.FILE, PillType.SYMBOL: ItemType.CODE, PillType.BUFFER: ItemType.TEXT}


@frozen
class SentMessage:
    """Say what became of a message: what was attached, what stood in the view already, and what could not be had."""

    text: str
    attached: tuple[Resolved, ...]
    held: tuple[Resolved, ...]
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
        Whatever `ContextSession.attach` and `add_user_turn` raise. What was attached by then stays, and is not attached again.
    """
    message = resolve_document(document, resolvers)
    attached: list[Resolved] = []
    held: list[Resolved] = []
    for resolved in message.attachments:
        item = item_of(resolved)
        (attached if session.attached(item, source=resolved.source) is None else held).append(resolved)
        session.attach(item, source=resolved.source)
    output = session.add_user_turn(message.text)
    return SentMessage(message.text, tuple(attached), tuple(held), message.problems, output)
