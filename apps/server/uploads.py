"""Files that a user adds to a chat: text, or images and PDFs that a model can read.

See docs/server.md, "Files".
"""

import asyncio
import unicodedata
from base64 import b64encode
from collections.abc import Iterator
from typing import Annotated, Any

from attrs import evolve
from fastapi import APIRouter, File, UploadFile

from polycontext.base import InvalidDataError
from polycontext.linearity import ResourceClass, UnknownResourceError
from polycontext.pills import decoded_text
from polycontext.pills.errors import CannotAttachError, DuplicatePillError, Reason
from polycontext.pills.pill import check_name, check_path
from polycontext.polynomial import ContextSession
from polycontext.window import ContextItem, ItemType, Turn, image_size
from polycontext.window.items import attachment_of, item_turn
from polycontext.window.providers import format_of

from .chat import Chat
from .openapi import gives
from .routes import One

MOST_UPLOADED = 5_000_000
"""The maximum size of an upload request, in bytes."""

MOST_TEXT = 1_000_000
"""The maximum size of a text file, in bytes."""

_PDF = b"%PDF-"

router = APIRouter(prefix="/api/sessions/{session_id}/uploads")


@router.post("", status_code=201, responses=gives("Changed", 201), max_body_size=MOST_UPLOADED)
async def upload(chat: One, file: Annotated[UploadFile, File()]) -> dict[str, Any]:
    """Attach a file to the conversation: text, an image or a PDF.

    The props show only its name.
    """
    name, data = parse_name(file.filename), await file.read()
    if not data:
        raise InvalidDataError(f"[@{name}]", "is empty", "a file that is not empty")
    return {"contextProps": await chat.change(lambda session: attached(session, name, data))}


@router.get("", responses=gives("Uploads"))
async def uploads(chat: One) -> dict[str, Any]:
    """List the attachments in the view.

    One that has been summarised can be attached again.
    """
    return {
        "uploads": [
            {"id": turn.resource_id, "name": name} for turn, name in attachments(chat.session)
        ]
    }


@router.delete("/{message_id}", responses=gives("Changed"))
async def remove(chat: One, message_id: str) -> dict[str, Any]:
    """Erase the text of an attachment from the view, the log and the store."""
    _check_attached(chat, message_id)
    return {"contextProps": await chat.change(lambda session: session.history.aforget(message_id))}


def parse_name(name: str | None) -> str:
    r"""Return a file's name as a pill may have it, with composed Unicode characters (NFC).

    Raises:
        InvalidPillNameError: the name is missing, is not a relative path, or has characters that a
            pill cannot hold.

    >>> parse_name("notes/pear\u0301.md")
    'notes/peaŕ.md'
    """
    return check_path(unicodedata.normalize("NFC", check_name(name or "")))


def attachments(session: ContextSession) -> Iterator[tuple[Turn, str]]:
    """Yield the turns of the view that hold an attachment, with its full name."""
    for turn in session.window.all_turns():
        attachment = attachment_of(turn)
        if attachment is not None:
            yield turn, attachment.label or attachment.id


async def attached(session: ContextSession, name: str, data: bytes) -> None:
    """Attach a file.

    Raises:
        DuplicatePillError: the name is already attached.
        CannotAttachError: the file is not text, an image or a PDF.
        ContextOverflowError: the file does not fit the window.
    """
    if any(known == name for _, known in attachments(session)):
        raise DuplicatePillError(
            name, "is attached already", "another name, or removing what is attached"
        )
    # Run in a thread, like the calls below: a large file takes time, and other requests go on.
    block = await asyncio.to_thread(_block, name, data)
    if block is None:
        if len(data) > MOST_TEXT:
            raise CannotAttachError(
                name,
                f"has {len(data):,} bytes",
                f"at most {MOST_TEXT:,} bytes of text",
                Reason.TOO_LARGE,
            )
        item = ContextItem(decoded_text(data, name), ItemType.FILE, {"filename": name})
        await asyncio.to_thread(session.attach, item)
    else:
        await asyncio.to_thread(lambda: session.add(_turn(name, *block), ResourceClass.REQUIRED))


def _turn(name: str, what: str, part: dict[str, Any]) -> Turn:
    """Return the turn that carries an image or PDF."""
    turn = item_turn(ContextItem(what, ItemType.FILE, {"filename": name}))
    message = {"role": "user", "content": [{"type": "text", "text": turn.text}, part]}
    [parsed] = format_of([message], "openai").parse([message]).turns
    return evolve(turn, parts=parsed.parts)


def _block(name: str, data: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return a description and the block of an image or PDF, or None for possible text.

    The browser's content type is ignored.
    """
    image = image_size(data)
    if image is not None:
        url = f"data:{image.media_type};base64,{b64encode(data).decode()}"
        return f"{image.media_type}, {image.width} × {image.height} pixels", {
            "type": "image_url",
            "image_url": {"url": url},
        }
    if data.startswith(_PDF):
        url = f"data:application/pdf;base64,{b64encode(data).decode()}"
        return "application/pdf", {"type": "file", "file": {"filename": name, "file_data": url}}
    return None


def _check_attached(chat: Chat, message_id: str) -> None:
    if message_id not in {turn.resource_id for turn, _ in attachments(chat.session)}:
        raise UnknownResourceError(message_id)
