"""Access control: bearer tokens, hosts, origins and rate limits."""

from asyncio import sleep
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from secrets import compare_digest
from typing import Any

from attrs import field, frozen
from fastapi import HTTPException, Request, status
from fastapi.responses import JSONResponse
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.types import ASGIApp, Receive, Scope, Send

from polycontext.base import guided, require

from .loop_lock import LoopLock

LOCAL = "local"
"""The user if no token is required and none is sent."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of the local machine."""


def is_loopback(host: str) -> bool:
    """Return whether a host is the local machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hosts_of(host: str) -> Collection[str]:
    """Return the names that requests to a server at `host` may use; "*" stands for any."""
    return LOOPBACK if is_loopback(host) else ("*",)


SHORTEST_TOKEN = 16
"""The minimum length of a token, in characters."""

FAILURES_A_MINUTE = 30
"""Wrong tokens from one address before further wrong ones are answered 429 instead of 401."""

GUARDED = ("/api/", "/v1/")
"""The beginnings of the paths that need access."""

_USER = "polycontext.user"
_IS_KNOWN = "polycontext.known"
_INSPECTS = "polycontext.inspects"


@guided
@frozen
class Access:
    """The access rules of a server, which identify a user by bearer token.

    Args:
        tokens: The accepted tokens. Without any, every client that reaches the host is accepted,
            and each token that is sent identifies a separate user.
        hosts: The host names that requests may use. Any other name means that a page elsewhere has
            its own domain resolve to this server (DNS rebinding).
        origins: The origins of other pages that may call the API; the server's own page always may.
        a_minute: The maximum number of requests a minute for each token, or for each address if no
            tokens are set.
        inspectors: The tokens whose users may inspect what the model sees. Without any tokens, the
            one user of the machine may.

    Raises:
        InvalidOptionError: a token is shorter than 16 characters, or there is none although other
            machines can reach the hosts.
    """

    tokens: tuple[str, ...] = field(default=(), repr=False)
    hosts: Collection[str] = LOOPBACK
    origins: Collection[str] = ()
    a_minute: int = 600
    inspectors: Collection[str] = field(default=(), repr=False)
    _limiter: MovingWindowRateLimiter = field(
        init=False, repr=False, factory=lambda: MovingWindowRateLimiter(MemoryStorage())
    )

    def __attrs_post_init__(self) -> None:
        require(
            "token",
            "too short",
            not any(len(token) < SHORTEST_TOKEN for token in self.tokens),
            f"at least {SHORTEST_TOKEN} characters, as `secrets.token_urlsafe()` makes them; in "
            "Python a tuple of them, (token,)",
        )
        require(
            "token",
            "not set",
            self.tokens or all(map(is_loopback, self.hosts)),
            "a token, since other machines can reach this host; or the host 127.0.0.1",
        )

    def user(self, request: Request) -> str:
        """Return the token of the client.

        Raises:
            HTTPException: 400 for another host, 403 for another origin, 401 for a missing or wrong
                token, 429 for too many requests.
        """
        self._check_page(request)
        address = request.client.host if request.client else LOCAL
        token = self._token(request, address)
        if not self._limiter.hit(
            RateLimitItemPerMinute(self.a_minute), "request", token if self.tokens else address
        ):
            raise _too_many(f"more than {self.a_minute} requests a minute")
        return token

    def may_inspect(self, user: str) -> bool:
        """Return whether a user may inspect what the model sees."""
        return user in self.inspectors if self.tokens else user == LOCAL

    def _check_page(self, request: Request) -> None:
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if "*" not in self.hosts and name.strip("[]").lower() not in self.hosts:
            raise HTTPException(
                status.HTTP_400_BAD_REQUEST,
                f"this server is not called {name[:100]!r}. Use {', '.join(sorted(self.hosts))}, "
                "or start it with --host.",
            )
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host and origin not in self.origins:
            raise HTTPException(
                status.HTTP_403_FORBIDDEN,
                "pages of this origin may not call the API. Start the server with --origin.",
            )

    def _token(self, request: Request, address: str) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        said = token.strip() if scheme.lower() == "bearer" else ""
        if not self.tokens:
            return said or LOCAL
        # A right token is never refused, however many wrong ones came from the same address.
        if any(
            compare_digest(said.encode(), each.encode(errors="surrogateescape"))
            for each in self.tokens
        ):
            return said
        if not self._limiter.hit(RateLimitItemPerMinute(FAILURES_A_MINUTE), "failure", address):
            raise _too_many(f"more than {FAILURES_A_MINUTE} wrong tokens a minute")
        raise HTTPException(
            status.HTTP_401_UNAUTHORIZED,
            "the token is missing or wrong. Send the header Authorization: Bearer TOKEN.",
            {"WWW-Authenticate": "Bearer"},
        )


class Turns:
    """Turns of the requests that are not for the API: one between two steps of the event loop.

    However many there are, requests for the API do not wait behind them.
    """

    def __init__(self) -> None:
        self._lock = LoopLock()

    async def wait(self) -> None:
        """Return when it is the caller's turn."""
        async with self._lock:
            await sleep(0)


class Gate:
    """ASGI middleware that checks the access of API requests before it reads their bodies.

    A request that is refused ends its connection, so that no body is waited for. Other requests
    wait for their turn.
    """

    def __init__(self, app: ASGIApp, access: Access, turns: Turns) -> None:
        self._app, self._access, self._turns = app, access, turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its user, or answer with the refusal."""
        if scope["type"] == "http" and route_path(scope).startswith(GUARDED):
            try:
                scope[_USER] = self._access.user(Request(scope))
            except HTTPException as refusal:
                headers = {**(refusal.headers or {}), "Connection": "close"}
                answer = JSONResponse({"detail": refusal.detail}, refusal.status_code, headers)
                await answer(scope, receive, send)
                return
            scope[_IS_KNOWN] = bool(self._access.tokens)
            scope[_INSPECTS] = self._access.may_inspect(scope[_USER])
        elif scope["type"] == "http":
            await self._turns.wait()
        await self._app(scope, receive, send)


def route_path(scope: Scope) -> str:
    """Return the path below the one that the application is mounted at."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def user_of(request: Request) -> str:
    """Return the user of a request that passed the gate."""
    user: str = request.scope[_USER]
    return user


def may_inspect(request: Request) -> bool:
    """Return whether the user of a request that passed the gate may inspect what the model sees."""
    allowed: bool = request.scope[_INSPECTS]
    return allowed


def known_user(scope: Mapping[str, Any]) -> str | None:
    """Return the user of a request who proved to be one with an accepted token."""
    return scope[_USER] if scope.get(_IS_KNOWN) else None


def _too_many(problem: str) -> HTTPException:
    return HTTPException(
        status.HTTP_429_TOO_MANY_REQUESTS,
        f"{problem}; ask again in a minute",
        {"Retry-After": "60"},
    )
