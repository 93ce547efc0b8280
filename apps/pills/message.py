"""Sending a message with pills.

Their content is fetched and attached if it is new, and the user's words come last.
"""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from polycontext.base.effects import Steps, call, in_thread, procedure, twin
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.session import held_attachment
from polycontext.window import ContextItem, ContextWindow, ItemType

from .document import PillDocument
from .pill import PillType
from .resolution import PillProblem, ResolvedMessage, resolve_document
from .resolver import Resolved, Resolver

SourcedItem = tuple[ContextItem, str | None]
"""A context item and its source."""

_ITEM_TYPES = {
    PillType.FILE: ItemType.FILE,
    PillType.SYMBOL: ItemType.CODE,
    PillType.BUFFER: ItemType.TEXT,
}


@frozen
class SentMessage:
    """The result of sending a message.

    `attached` is new in the view, `held` was in it already, and `problems` could not be resolved.
    `yielded` are those of both that the window had no room for: the view has a gist of them
    instead.
    """

    text: str
    attached: tuple[Resolved, ...]
    held: tuple[Resolved, ...]
    yielded: tuple[Resolved, ...]
    problems: tuple[PillProblem, ...]
    output: ContextOutput


def item_of(resolved: Resolved) -> ContextItem:
    """Return the content of a pill as a context item: a file, code, or text.

    It has the name and the lines of the pill.
    """
    known = {
        "filename": resolved.path or resolved.name,
        "start_line": resolved.start_line,
        "end_line": resolved.end_line,
    }
    metadata: dict[str, Any] = {key: value for key, value in known.items() if value is not None}
    return ContextItem(resolved.attached_text, _ITEM_TYPES[resolved.type], metadata)


@procedure
def send_message(
    session: ContextSession,
    document: PillDocument | ResolvedMessage,
    resolvers: Iterable[Resolver] = (),
    items: Iterable[tuple[ContextItem, str]] = (),
) -> Steps[SentMessage]:
    """Attach the current content of the pills of `document`, and add the user turn after it.

    Content that the view has verbatim is not attached again; changed content supersedes the earlier
    one. A pill that cannot be resolved is a problem of the message, which is sent anyway: show
    `problems`, and let the user remove or update the pill, before or after. `resolve_document`
    finds problems without sending; what it returns may be passed in place of the document. `items`,
    each with its source, are attached before the content of pills; `ContextManagers.attachments`
    returns such a list. `asend_message` resolves in a thread and awaits summaries.

    Attachments and the user's words are one commit.

    Raises:
        Any exception of `ContextSession.send_message`; nothing was attached then.
    """
    message = document
    if isinstance(message, PillDocument):
        message = yield in_thread(resolve_document, message, resolvers)
    before = session.window
    sent = call(session, "send_message", message.text, [*items, *items_of(message)])
    return _report(message, before, (yield sent))


asend_message = twin(send_message)


def items_of(message: ResolvedMessage) -> list[SourcedItem]:
    """Return the attachments of a message, each with its source.

    It is a list for `ContextSession.send_message`.
    """
    return [(item_of(each), each.source) for each in message.attachments]


def _report(message: ResolvedMessage, before: ContextWindow, output: ContextOutput) -> SentMessage:
    """Return the report of a message, from the window before it and the output after it."""
    held = _find_held(message, before)
    # Checked at the end, because a later attachment may displace an earlier one.
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
