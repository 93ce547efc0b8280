"""The HTTP routes of chats; responses contain only props."""

import asyncio
import shlex
from collections.abc import AsyncIterable, AsyncIterator
from operator import itemgetter
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, HTTPException, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from polycontext.base import UnknownNameError
from polycontext.nodes import ComponentRenderer
from polycontext.nodes.inspection import rule_data
from polycontext.pills import PillDocument
from polycontext.pills.pill import Pill
from polycontext.polynomial import SessionWriteError

from .access import known_user, may_inspect, user_of
from .chat import Chat
from .chats import OTHER, Chats
from .openapi import gives
from .sources import MOST_OFFERED, MOST_PILLS, document_of

PAGE = 100
"""The maximum number of messages on a page of the history."""


class EventStream(StreamingResponse):
    """A response of server-sent events that are already encoded.

    FastAPI's own encoding of each event for each listener takes ten times as long.
    """

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterable[bytes], status_code: int = 200) -> None:
        # Proxies must not buffer events.
        super().__init__(
            content, status_code, {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        )


User = Annotated[str, Depends(user_of)]


def _chats(request: Request) -> Chats:
    chats: Chats = request.app.state.chats
    return chats


All = Annotated[Chats, Depends(_chats)]


def _checked(session_id: str, request: Request) -> str:
    """Return the id of a chat that the user may use, if there is one.

    Raises:
        UnknownNameError: the session is another program's, and the user may not inspect.
        SessionWriteError: it is another program's, and the request would change it.
    """
    if session_id.startswith(OTHER):
        if not may_inspect(request) or known_user(request.scope):
            raise UnknownNameError("session", session_id, ())
        if request.method != "GET" and not request.url.path.endswith("/fork"):
            raise SessionWriteError(
                "another program writes this session", "Continue it in a branch"
            )
    return session_id


Name = Annotated[str, Depends(_checked)]


async def _chat(session_id: Name, user: User, chats: All) -> AsyncIterator[Chat]:
    async with chats.held(user, session_id) as chat:
        yield chat


One = Annotated[Chat, Depends(_chat)]
Text = Annotated[str, Body(embed=True, min_length=1)]
Pills = Annotated[list[dict[str, Any]] | None, Body(embed=True, max_length=MOST_PILLS)]


def _document(content: Text, pills: Pills = None) -> PillDocument:
    return document_of(content, pills or [])


Document = Annotated[PillDocument, Depends(_document)]
Key = Annotated[str | None, Header(alias="Idempotency-Key")]


router = APIRouter(prefix="/api/sessions")
settings_router = APIRouter(prefix="/api/settings")


class Undone(BaseModel, extra="forbid"):
    """The compression to take back."""

    receipt_id: str | None = None


class Described(BaseModel, extra="forbid"):
    """The new title or model of a chat, or whether it is deleted."""

    title: Annotated[str, Field(min_length=1)] | None = None
    model: str | None = None
    deleted: bool = False


class Named(BaseModel, extra="forbid"):
    """The source of a pill."""

    name: str
    type: str = "file"


class Forked(BaseModel, extra="forbid"):
    """The message after which to fork."""

    message_id: str | None = None


def _reply(props: dict[str, Any]) -> dict[str, Any]:
    return {"contextProps": props}


@settings_router.get("", responses=gives("Settings"))
async def settings(request: Request, chats: All) -> dict[str, Any]:
    """Return what the page may offer, and where chats are stored."""
    inspects, state = may_inspect(request), request.app.state
    return {
        "inspect": inspects,
        "models": [*filter(None, chats.models)],
        "editor": inspects and state.editor is not None,
        "names": chats.sources.offers_names,
        "store": state.place if inspects else None,
    }


@router.post("", status_code=201, responses=gives("Opened", 201))
async def create(user: User, chats: All) -> dict[str, Any]:
    """Create a chat."""
    name, chat = await chats.create(user)
    return {"sessionId": name, "contextProps": chat.props()}


@router.get("", responses=gives("Listed"))
async def list_sessions(request: Request, user: User, chats: All) -> dict[str, Any]:
    """List your chats; `chats` tells more of them, the newest first.

    `deleted` has those that you can still restore. On your own machine, `chats` also has the
    sessions of other programs.
    """
    others = may_inspect(request) and known_user(request.scope) is None
    listed = await chats.listed(user, others=others)
    kept = [each for each in listed if "undo" not in each]
    own = sorted(each["id"] for each in kept if not each["readOnly"])
    deleted = sorted((each for each in listed if each.get("undo", 0) > 0), key=itemgetter("undo"))
    return {"sessions": own, "chats": kept, "deleted": deleted[::-1]}


@router.get("/{session_id}", responses=gives("Opened"))
async def show(session_id: str, chat: One) -> dict[str, Any]:
    """Return the props of a chat."""
    return {"sessionId": session_id, "contextProps": chat.props()}


@router.delete("/{session_id}", status_code=204)
async def delete(session_id: Name, user: User, chats: All) -> None:
    """Erase a chat."""
    await chats.delete(user, session_id)


@router.patch("/{session_id}", responses=gives("Changed"))
async def describe(chat: One, body: Described) -> dict[str, Any]:
    """Rename a chat, choose the model that answers from now on, or delete it.

    A chat that was deleted is erased after 8 seconds, unless it is changed before: `{}` will do.
    """
    return _reply(await chat.describe(body.title, body.model, deleted=body.deleted))


@router.post("/{session_id}/messages", responses=gives("Changed"))
async def send(chat: One, document: Document, key: Key = None) -> dict[str, Any]:
    """Send a message with its pills; the answer arrives as events."""
    return _reply(await chat.send(document, key=key))


@router.put("/{session_id}/messages/{message_id}", responses=gives("Changed"))
async def edit(chat: One, message_id: str, document: Document) -> dict[str, Any]:
    """Replace your message and its pills, drop what followed, and write a new answer."""
    return _reply(await chat.edit(message_id, document))


@router.post("/{session_id}/regenerate", responses=gives("Changed"))
async def regenerate(chat: One) -> dict[str, Any]:
    """Write another answer to the last message."""
    return _reply(await chat.regenerate())


@router.post("/{session_id}/cancel", responses=gives("Changed"))
async def cancel(chat: One) -> dict[str, Any]:
    """Stop the answer that is being written."""
    return _reply(await chat.cancel())


@router.post("/{session_id}/compress", responses=gives("Changed"))
async def compress(chat: One) -> dict[str, Any]:
    """Compress the chat now."""
    return _reply(await chat.change(lambda session: session.acompress()))


@router.post("/{session_id}/clear", responses=gives("Changed"))
async def clear(chat: One) -> dict[str, Any]:
    """Start over with the same system prompt; the log keeps earlier messages."""
    return _reply(await chat.change(lambda session: session.aclear(keep_system=True)))


@router.post("/{session_id}/messages/{message_id}/recall", responses=gives("Changed"))
async def recall(chat: One, message_id: str) -> dict[str, Any]:
    """Restore a summarised message."""
    return _reply(await chat.change(lambda session: session.arecall(message_id)))


@router.post("/{session_id}/messages/{message_id}/pin", responses=gives("Changed"))
async def pin(chat: One, message_id: str) -> dict[str, Any]:
    """Pin a message: keep it verbatim from now on."""
    return _reply(await chat.change(lambda session: session.apin(message_id)))


@router.get("/{session_id}/rules", responses=gives("Rules"))
async def rules(chat: One) -> dict[str, Any]:
    """List your rules that stand, in the order in which you stated them."""
    return {"rules": [rule_data(rule) for rule in chat.session.rules.list()]}


@router.post("/{session_id}/rules", responses=gives("Changed"))
async def add_rule(
    chat: One, content: Text, scope: Annotated[str, Body(embed=True)] = "", key: Key = None
) -> dict[str, Any]:
    """Add a rule, which holds until you revoke it."""
    return _reply(
        await chat.change(
            lambda session: session.rules.aadd(content, scope=scope, idempotency_key=key)
        )
    )


@router.post("/{session_id}/rules/{rule_id}/revoke", responses=gives("Changed"))
async def revoke_rule(chat: One, rule_id: str) -> dict[str, Any]:
    """Revoke a rule, and tell the model."""
    return _reply(await chat.change(lambda session: session.rules.arevoke(rule_id)))


@router.delete("/{session_id}/rules/{rule_id}", responses=gives("Changed"))
async def remove_rule(chat: One, rule_id: str) -> dict[str, Any]:
    """Remove a rule that was found by mistake."""
    return _reply(await chat.change(lambda session: session.rules.aremove(rule_id)))


@router.post("/{session_id}/rewind", responses=gives("Changed"))
async def rewind(chat: One, to: Text) -> dict[str, Any]:
    """Return to the point after a message."""
    return _reply(await chat.change(lambda session: session.history.arewind(to)))


@router.post("/{session_id}/undo", responses=gives("Changed"))
async def undo(chat: One, body: Undone = Undone()) -> dict[str, Any]:  # noqa: B008
    """Take the last compression back, or that of a receipt; again, and it is made again."""
    return _reply(await chat.change(lambda session: session.history.aundo(body.receipt_id)))


@router.get("/{session_id}/receipts", responses=gives("Receipts"))
async def receipts(chat: One) -> dict[str, Any]:
    """List the receipts of the chat's compressions, oldest first; they contain no text."""
    return {"receipts": [each.to_data() for each in await chat.session.history.areceipts()]}


@router.post("/{session_id}/fork", status_code=201, responses=gives("Opened", 201))
async def fork(
    session_id: Name,
    user: User,
    chats: All,
    body: Forked = Forked(),  # noqa: B008
) -> dict[str, Any]:
    """Continue in a new chat, from here or from the point after a message."""
    name, chat = await chats.fork(user, session_id, body.message_id)
    return {"sessionId": name, "contextProps": chat.props()}


@router.get("/{session_id}/history", responses=gives("History"))
async def history(
    chat: One, before: str | None = None, limit: Annotated[int, Query(ge=1, le=PAGE)] = PAGE
) -> dict[str, Any]:
    """Return a page of messages, summarised ones included: the newest, or those before one."""
    messages, further = ComponentRenderer().render_history(chat.session, before, limit)
    return {"messages": messages, "before": further}


@router.get("/{session_id}/completions", responses=gives("Completions"))
async def completions(
    chat: One,
    prefix: Annotated[str, Query(max_length=1024)] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_OFFERED)] = 20,
) -> dict[str, Any]:
    """Complete the names that a message can attach, from the characters typed after the @."""
    return {"completions": await chat.sources.completions(prefix, limit)}


@router.get("/{session_id}/source", responses=gives("Source"))
async def source(
    chat: One, name: str, kind: Annotated[str, Query(alias="type")] = "file"
) -> dict[str, Any]:
    """Return the current content that a pill names."""
    return await chat.sources.shown(Pill(name, kind))


@router.post("/{session_id}/source/open", status_code=204)
async def open_source(request: Request, chat: One, body: Named) -> None:
    """Open the file of a pill in the editor of the server's machine."""
    editor: str | None = request.app.state.editor
    if editor is None or not may_inspect(request):
        raise HTTPException(404)
    path = (await chat.sources.shown(Pill(body.name, body.type)))["path"]
    if path is not None:
        await asyncio.create_subprocess_exec(*shlex.split(editor), path)


@router.get("/{session_id}/events", response_class=EventStream)
async def events(
    chat: One, last: Annotated[str | None, Header(alias="Last-Event-ID")] = None
) -> EventStream:
    """Stream changes: first the current state, or the events since the last one seen."""
    return EventStream(event.wire async for event in chat.feed.listen(last))
