"""The routes that LLM gateways send conversations to: compress rows, retrieve originals.

See docs/gateway.md.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf, isfinite
from time import monotonic
from typing import Annotated, Any

from attrs import evolve, field, frozen
from fastapi import APIRouter, Depends, Header, HTTPException, Path, Request
from fastapi.responses import JSONResponse, Response

from polycontext.base import InvalidDataError
from polycontext.base.json_data import has_more_containers
from polycontext.polynomial import StoreError
from polycontext.pressure.notes import truncate
from polycontext.window import default_counter

from .access import user_of
from .openapi import gives, takes
from .originals import Originals
from .rows import CompressedRequest, RequestCompressor, Row

MOST_ROWS_BYTES = 32_000_000
"""The maximum size of a request to compress rows, in bytes."""

_NO_LIMIT = 2**62

MOST_CONTAINERS = 1_000_000
"""The most objects and lists in such a request."""

COMPRESS_SECONDS = 30.0
"""The maximum time to answer such a request; clients wait for 60 seconds."""

FOUND_TOKENS = 1_000
"""The most tokens of an original that are returned for a query."""

_NOT_STORED = "The originals could not be stored, so they cannot be retrieved."

_log = logging.getLogger("polycontext.server")


@frozen
class Gateway:
    """What answers the routes: a compressor, and the originals of what it shortened.

    Args:
        originals: where originals are kept; by default in memory. The caller closes them.
        strict: whether a failure of the server is answered with 503. Otherwise it is answered with
            200, the rows unchanged and a `warning`.
    """

    originals: Originals = field(factory=Originals)
    strict: bool = False
    compressor: RequestCompressor = field(factory=RequestCompressor)
    # Compressing has threads of its own, so that rows can be answered unchanged while all are busy.
    threads: ThreadPoolExecutor = field(factory=ThreadPoolExecutor, init=False)

    def answer(self, user: str, rows: Sequence[Row], until: float = inf) -> CompressedRequest:
        """Return the rows to send, after their originals are kept.

        Raises:
            StoreError: the originals could not be kept, and this is strict.
            TimeoutError: the monotonic clock is past `until` before all rows are read.
        """
        done = self.compressor.compress(rows, until)
        try:
            self.originals.keep(user, done.originals)
        except StoreError as error:
            if self.strict:
                raise
            _log.warning("%s", error)
            return evolve(done, originals={}, warning=_NOT_STORED)
        return done

    def original(self, user: str, name: str, query: str) -> str | None:
        """Return an original, or what it says about a query; None if there is none.

        Raises:
            StoreError: it could not be read.
        """
        text = self.originals.find(user, name)
        if text is None or not query:
            return text
        return truncate(text, FOUND_TOKENS, default_counter(), wanted=query)


def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


Door = Annotated[Gateway, Depends(_gateway)]
User = Annotated[str, Depends(user_of)]
Name = Annotated[str, Path(pattern="^[0-9a-f]{12,24}$")]
Bypass = Annotated[str, Header(alias="x-headroom-bypass")]

router = APIRouter(prefix="/v1")


@router.post(
    "/compress",
    responses=gives("CompressedRows"),
    openapi_extra=takes("Rows"),
    max_body_size=_NO_LIMIT,  # `_rows_of` names the limit
)
async def compress(request: Request, door: Door, user: User, bypass: Bypass = "") -> Response:
    """Shorten the results of tools and the pasted blocks in the rows of a request to a model."""
    rows, until = await _rows_of(request), monotonic() + COMPRESS_SECONDS
    done = CompressedRequest(rows)
    try:
        if bypass.lower() != "true":
            loop = asyncio.get_running_loop()
            answering = loop.run_in_executor(door.threads, door.answer, user, rows, until)
            done = await asyncio.wait_for(answering, COMPRESS_SECONDS)
    except Exception as error:  # noqa: BLE001 - whatever fails here, the request goes on
        _log.exception("the rows of a request were not shortened")
        problem = "took too long" if isinstance(error, TimeoutError) else "failed"
        if door.strict:
            detail = f"Compressing {problem}; the server's log has the reason. Try again."
            return JSONResponse({"error": type(error).__name__, "detail": detail}, 503)
        done = CompressedRequest(rows, warning=f"Compressing {problem}; the rows are unchanged.")
    return await _written(_told(done))


@router.get("/retrieve/{name}", responses=gives("Original"))
async def retrieve(name: Name, door: Door, user: User, query: str = "") -> Response:
    """Return the original of an excerpt, or what it says about a query."""
    text = await asyncio.to_thread(door.original, user, name, query)
    if text is None:
        raise HTTPException(
            404, "no such original: it was not sent with this token, is too old, or was erased."
        )
    return await _written({"hash": name, "original_content": text})


@router.delete("/retrieve/{name}", status_code=204)
async def erase(name: Name, door: Door, user: User) -> None:
    """Erase an original."""
    await asyncio.to_thread(door.originals.erase, user, name)


@router.delete("/retrieve", status_code=204)
async def erase_all(door: Door, user: User) -> None:
    """Erase all your originals."""
    await asyncio.to_thread(door.originals.erase, user)


async def _rows_of(request: Request) -> list[Row]:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_ROWS_BYTES:
            raise HTTPException(413, f"more than {MOST_ROWS_BYTES:,} bytes. Send fewer rows.")
    return await asyncio.to_thread(_parsed, bytes(body))


def _parsed(body: bytes) -> list[Row]:
    if has_more_containers(body, MOST_CONTAINERS):
        legal = f"at most {MOST_CONTAINERS:,} objects and lists"
        raise InvalidDataError("$", "has too many objects and lists", legal)
    try:
        given = json.loads(body, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        legal = "a JSON object with messages and finite numbers"
        raise InvalidDataError("$", "is not JSON", legal) from error
    rows = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidDataError("$.messages", "is not a list of objects", "the rows of a request")
    return rows


def _finite(number: str) -> float:
    if not isfinite(value := float(number)):
        raise ValueError(number)
    return value


def _told(done: CompressedRequest) -> dict[str, Any]:
    before, after = done.tokens
    told = {
        "messages": done.rows,
        "tokens_before": before,
        "tokens_after": after,
        "tokens_saved": before - after,
        "compression_ratio": round(after / before, 4) if before else 1.0,
        "transforms_applied": done.transforms,
        "ccr_hashes": [*done.originals],
    }
    return told | ({"warning": done.warning} if done.warning else {})


async def _written(told: dict[str, Any]) -> Response:
    # json, unlike faster writers, writes back every number and text that it reads.
    text = await asyncio.to_thread(json.dumps, told)
    return Response(text, media_type="application/json")
