"""The application: chats over HTTP, changes as server-sent events, and the page that is built from `web/` (docs/server.md)."""

import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from polycontext import __version__
from polycontext.linearity import (
    CallerError,
    PolycontextError,
    UnknownNameError,
    UnknownResourceError,
)
from polycontext.models import Answering, ScriptedAnswering
from polycontext.polynomial import IllegalDirectionError, SessionWriteError
from polycontext.polynomial.stores import SessionStore
from polycontext.pressure import ConflictError
from polycontext.window import OrderError
from polycontext.window.pills import PillError, Resolver

from . import agui, uploads
from .access import Access
from .chats import Chats
from .openapi import schemas
from .routes import router
from .sources import Sources, refusal

MOST_BYTES = 1_000_000
"""Of the body of a request."""

FOLDER = Path(__file__).parent / "page"
"""Where the built page lies."""

POLICY = (
    # The editor of messages writes its own style sheet; scripts are those of the server alone.
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a browser may load for the page, and who may frame it: its own server alone, and nobody."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Names stay the same from one version to the next, so a browser asks each time whether they are
    # what it has.
    "Cache-Control": "no-cache",
}

_CODES: tuple[tuple[type[PolycontextError], int], ...] = (
    (UnknownNameError, 404),
    (UnknownResourceError, 404),
    (OrderError, 409),
    (SessionWriteError, 409),
    (ConflictError, 409),
    (IllegalDirectionError, 409),
    (CallerError, 422),
    (PolycontextError, 503),
)


def create_app(
    store: SessionStore,
    answering: Callable[[], Answering] = ScriptedAnswering,
    access: Access | None = None,
    *,
    resolvers: Iterable[Resolver] = (),
    **options: Any,
) -> FastAPI:
    """Return the application over `store`, which whoever made it closes.

    `options` are those of each session.

    What `resolvers` find may be named in messages by every user that is let in; those with
    `entries` are completed as well.

    Raises:
        MissingExtraError: the extra ``server`` is not installed.
    """
    chats = Chats(store, answering, Sources(resolvers), **options)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        await chats.close()

    # The pages of FastAPI load scripts from elsewhere; the document that they show is at
    # /openapi.json.
    app = FastAPI(
        title="polycontext",
        version=__version__,
        lifespan=lifespan,
        max_body_size=MOST_BYTES,
        docs_url=None,
        redoc_url=None,
    )
    app.state.chats, app.state.access = chats, access or Access()
    # Browsers ask first whether a page elsewhere may ask; nobody's cookies or keys go along.
    origins = list(app.state.access.origins)
    app.add_middleware(
        CORSMiddleware, allow_origins=origins, allow_methods=("*",), allow_headers=("*",)
    )
    app.include_router(router)
    app.include_router(agui.router)
    app.include_router(uploads.router)
    app.add_exception_handler(PolycontextError, _handle_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(ExceptionGroup, _handle_pill_errors)
    # Last: a path that is none of the routes is a file of the page.
    app.mount("/", Page(), name="page")
    document = app.openapi()
    document.setdefault("components", {}).setdefault("schemas", {}).update(schemas())
    return app


async def _handle_error(_: Request, error: Exception) -> JSONResponse:
    """Say in words what was wrong: with the request, or, without its words, with the store."""
    if isinstance(error, PillError):
        return JSONResponse(refusal([error]), 422)
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    return JSONResponse({"error": type(error).__name__, "detail": _describe(error)}, code)


def _describe(error: Exception) -> str:
    """Return what a browser may read of an error: calls are none of its business, and stores may name what is nobody's."""
    if isinstance(error, OrderError):
        return "tool calls are waiting for their results. Ask again when they are there."
    caller = isinstance(error, CallerError)
    return str(error) if caller else "the store did not take it; nothing has changed"


async def _handle_invalid_request(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with the shape of a request, without saying the request again: it may be long, and no text that can be sent."""
    assert isinstance(error, RequestValidationError)
    return JSONResponse(
        {
            "detail": [
                {name: each[name] for name in ("type", "loc", "msg")} for each in error.errors()
            ]
        },
        422,
    )


async def _handle_pill_errors(_: Request, errors: Exception) -> JSONResponse:
    """Say which pills cannot be attached, and why."""
    told = (
        [each for each in errors.exceptions if isinstance(each, PillError)]
        if isinstance(errors, ExceptionGroup)
        else []
    )
    if not told:
        raise errors
    return JSONResponse(refusal(told), 422)


class Page(StaticFiles):
    """Hand out the page, and tell browsers what it may do.

    Law: no file outside of its folder is handed out, and each that is carries the policy.
    """

    def __init__(self) -> None:
        # In a development install each file of the package is a link to the one in the tree.
        super().__init__(directory=FOLDER, html=True, follow_symlink=True)

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file with the policy, or that it has not changed."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers.update(_HEADERS)
        return answer
