"""The application: chats over HTTP, server-sent events, and the page built from `web/`.

See docs/server.md.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import JSONResponse

from polycontext import __version__
from polycontext.base import CallerError, PolycontextError, UnknownNameError, with_usage
from polycontext.linearity import UnknownResourceError
from polycontext.models.answers import Answering, ScriptedAnswering
from polycontext.pills.errors import PillError
from polycontext.pills.resolver import Resolver
from polycontext.polynomial import (
    ContextOverflowError,
    IllegalDirectionError,
    SessionWriteError,
)
from polycontext.polynomial.stores import SessionStore
from polycontext.pressure import ConflictError
from polycontext.window import OrderError

from . import agui, inspection, routes, uploads
from . import gateway as gateway_routes
from .access import Access, Gate, Turns
from .chats import Chats
from .gateway import Gateway
from .openapi import gateway_schemas, schemas
from .page_files import Page
from .sources import Sources, refusal

MOST_BYTES = 1_000_000
"""The maximum size of a request body, in bytes."""

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


@with_usage
def create_app(
    store: SessionStore,
    answering: Callable[[], Answering] = ScriptedAnswering,
    access: Access | None = None,
    *,
    resolvers: Iterable[Resolver] = (),
    gateway: Gateway | None = None,
    editor: str | None = None,
    place: str | None = None,
    **options: Any,
) -> FastAPI:
    """Return the application over `store`; the caller closes the store.

    Every accepted user may name in messages whatever `resolvers` find. Resolvers with `entries`
    also offer completions. With a `gateway`, its routes are served too. `editor` is the command
    that opens a file, and `place` says where chats are stored. `models` by name may replace
    `answering`, and `timeout` is how many seconds an answer may be silent. Other `options` are
    passed to each session.

    Raises:
        MissingExtraError: the extra ``server`` is not installed.
        InvalidOptionError, TypeError: an option is wrong, or there is none of that name.
    """
    for name in options.keys() & {"token", "tokens"}:
        # Without a token, anybody who reaches the server is served.
        raise TypeError(f"create_app() has no argument {name!r}. Use access=Access((token,)).")
    chats = Chats(store, answering, Sources(resolvers), **options)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        chats.load()
        tasks = [asyncio.create_task(each()) for each in (chats.watch, chats.keep_ticking)]
        yield
        for task in tasks:
            task.cancel()
        await chats.close()

    app, turns = _application(access, lifespan=lifespan)
    app.state.chats, app.state.editor, app.state.place = chats, editor, place
    app.include_router(routes.router)
    app.include_router(routes.settings_router)
    app.include_router(agui.router)
    app.include_router(uploads.router)
    app.include_router(inspection.router)
    app.add_exception_handler(ExceptionGroup, _handle_pill_errors)
    if gateway is not None:
        _add_gateway(app, gateway)
    # Mounted last: a path that matches no route is a file of the page.
    app.mount("/", Page(turns), name="page")
    _describe_schemas(app, schemas())
    return app


def create_gateway(gateway: Gateway, access: Access | None = None) -> FastAPI:
    """Return an application that compresses rows for gateways and has no chats (docs/gateway.md).

    The caller closes the originals of `gateway`.
    """
    app, _ = _application(access)
    _add_gateway(app, gateway)
    return app


def _application(access: Access | None, **options: Any) -> tuple[FastAPI, Turns]:
    """Return an application without routes that checks access, and the turns of its page."""
    # FastAPI's documentation pages load scripts from other hosts, so only /openapi.json is served.
    app = FastAPI(
        title="polycontext",
        version=__version__,
        max_body_size=MOST_BYTES,
        docs_url=None,
        redoc_url=None,
        **options,
    )
    access, turns = access or Access(), Turns()
    app.add_middleware(GZipMiddleware)
    # The middleware that is added last is asked first: CORS, since preflights have no token.
    app.add_middleware(Gate, access=access, turns=turns)
    # CORS lets pages of other origins call the API, without cookies or other credentials.
    origins = list(access.origins)
    app.add_middleware(
        CORSMiddleware, allow_origins=origins, allow_methods=("*",), allow_headers=("*",)
    )
    app.add_exception_handler(PolycontextError, _handle_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    return app, turns


def _add_gateway(app: FastAPI, gateway: Gateway) -> None:
    app.state.gateway = gateway
    app.include_router(gateway_routes.router)
    _describe_schemas(app, gateway_schemas())


def _describe_schemas(app: FastAPI, named: dict[str, Any]) -> None:
    """Add named schemas to the app's description, which is made when it is first asked for."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        found = describe()
        found.setdefault("components", {}).setdefault("schemas", {}).update(named)
        return found

    # FastAPI's own way to change it.
    app.openapi = described  # type: ignore[method-assign]


async def _handle_error(_: Request, error: Exception) -> JSONResponse:
    """Answer with the error and its status code."""
    if isinstance(error, PillError):
        return JSONResponse(refusal([error]), 422)
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    told: dict[str, Any] = {"error": type(error).__name__, "detail": _describe(error)}
    if isinstance(error, ContextOverflowError):
        told |= {"tokens": error.tokens, "most": error.max_tokens}
    return JSONResponse(told, code)


def _describe(error: Exception) -> str:
    """Return the text that a browser may see of an error.

    It hides tool calls, and the details of store errors, which may be confidential.
    """
    if isinstance(error, OrderError):
        return "tool calls are waiting for their results. Ask again when they are there."
    caller = isinstance(error, CallerError)
    return str(error) if caller else "the store failed; nothing has changed"


async def _handle_invalid_request(_: Request, error: Exception) -> JSONResponse:
    """Describe what is wrong with a request without repeating it.

    A request may be long, or hold text that cannot be encoded.
    """
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
    """Answer with the pills that cannot be attached, and the reasons."""
    told = (
        [each for each in errors.exceptions if isinstance(each, PillError)]
        if isinstance(errors, ExceptionGroup)
        else []
    )
    if not told:
        raise errors
    return JSONResponse(refusal(told), 422)
