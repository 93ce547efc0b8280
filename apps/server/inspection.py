"""The HTTP routes for inspection: what the model sees, what became of the rest, and why.

They need the right to inspect (docs/server.md, "Access"), because they return private text.
"""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, status

from .access import may_inspect
from .openapi import gives
from .routes import Document, One

MOST_TURNS = 100
"""The maximum number of messages that one request may ask for."""

MOST_FOUND = 100
"""The maximum number of messages that one search returns."""


def _check_right(request: Request) -> None:
    if not may_inspect(request):
        raise HTTPException(
            status.HTTP_403_FORBIDDEN,
            "this token may not inspect. Start the server with the token and the word inspect "
            "behind it.",
        )


router = APIRouter(
    prefix="/api/sessions/{session_id}/inspect", dependencies=[Depends(_check_right)]
)


@router.get("", responses=gives("Inspection"))
async def inspect(chat: One) -> dict[str, Any]:
    """Return what the model sees now, the fate of each message, the rules, and the cost."""
    data = await asyncio.to_thread(chat.inspector.overview)
    return {**data, "model": chat.model, "readOnly": chat.is_read_only}


@router.get("/turns", responses=gives("Turns"))
async def turns(
    chat: One, ids: Annotated[list[str], Query(alias="id", max_length=MOST_TURNS)]
) -> dict[str, Any]:
    """Return messages and summaries with their texts, and why each is where it is."""
    return {"turns": await asyncio.to_thread(chat.inspector.turns, ids)}


@router.get("/timeline", responses=gives("Timeline"))
async def entries(chat: One) -> dict[str, Any]:
    """Return what stood after each event of the chat."""
    return await asyncio.to_thread(chat.inspector.timeline)


@router.get("/search", responses=gives("Found"))
async def search(
    chat: One,
    words: Annotated[str, Query(alias="q", max_length=1024)],
    limit: Annotated[int, Query(ge=1, le=MOST_FOUND)] = 20,
) -> dict[str, Any]:
    """Search every message of the chat, also those that the model no longer receives."""
    found = await chat.session.history.asearch(words, limit)
    return {"found": [{"id": each.resource_id, "snippet": each.snippet} for each in found]}


@router.post("/draft", responses=gives("Draft"))
async def draft(chat: One, document: Document) -> dict[str, Any]:
    """Return the tokens of a message, and what would be summarised if it were sent now."""
    return await asyncio.to_thread(chat.inspector.draft, document.to_text())
