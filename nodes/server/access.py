"""Who may come in: bearer tokens, hosts and origins, and how much at once."""

from collections.abc import Collection
from ipaddress import ip_address
from secrets import compare_digest

from attrs import field, frozen
from fastapi import HTTPException, Request, status
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

LOCAL = "local"
"""Whose the chats are where no token is asked for and none is said."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""What this machine alone is called."""


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@frozen
class Access:
    """Let in who may, and tell who it is: a user is a bearer token.

    Args:
        tokens: those that are let in; none: whoever reaches the host, which is for loopback alone, and each token is a user of its own.
        hosts: names under which the server is asked for; another one is a page elsewhere that has its own name point here.
        origins: pages elsewhere that may ask; the server's own may always.
        a_minute: requests of one user in a minute; where no token is asked for, and so anybody may be as many users as he likes, of one address.
    """

    tokens: tuple[str, ...] = field(default=(), repr=False)
    hosts: Collection[str] = LOOPBACK
    origins: Collection[str] = ()
    a_minute: int = 600
    _limiter: MovingWindowRateLimiter = field(init=False, repr=False, factory=lambda: MovingWindowRateLimiter(MemoryStorage()))

    def user(self, request: Request) -> str:
        """Return the token of whoever asks.

        Raises:
            HTTPException: 400 another host, 403 another origin, 401 no token that is let in, 429 too much.
        """
        self._check_page(request)
        token = self._token(request)
        who = token if self.tokens else request.client.host if request.client else LOCAL
        if not self._limiter.hit(RateLimitItemPerMinute(self.a_minute), who):
            raise HTTPException(
                status.HTTP_429_TOO_MANY_REQUESTS,
                f"more than {self.a_minute} requests a minute; legal: ask again later",
                {"Retry-After": "60"},
            )
        return token

    def _check_page(self, request: Request) -> None:
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if "*" not in self.hosts and name.strip("[]") not in self.hosts:
            raise HTTPException(
                status.HTTP_400_BAD_REQUEST, f"this server is not called {name[:100]!r}; legal: {', '.join(sorted(self.hosts))}"
            )
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host and origin not in self.origins:
            raise HTTPException(
                status.HTTP_403_FORBIDDEN, "pages of another origin may not ask; legal: an origin that the server was started with"
            )

    def _token(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        said = token.strip() if scheme.lower() == "bearer" else ""
        if not self.tokens:
            return said or LOCAL
        if not any(compare_digest(said.encode(), each.encode()) for each in self.tokens):
            raise HTTPException(
                status.HTTP_401_UNAUTHORIZED, "no token that is let in; legal: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
            )
        return said
