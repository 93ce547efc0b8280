"""The files of the page: read once, and sent from memory without holding up other requests."""

import asyncio
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .access import route_path

FOLDER = Path(__file__).parent / "page"
"""The folder of the built page."""

POLICY = (
    # The message editor injects its own style sheet; scripts come only from this server.
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
    "data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page: only its own server supplies it, and no site frames it.
"""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # File names stay the same across versions, so a browser must revalidate each time.
    "Cache-Control": "no-cache",
}
_PIECE = 1 << 16


class Page:
    """The files of the page as an ASGI application, sent with the security headers.

    However many clients ask for them, one piece is sent between two steps of the event loop, so
    that requests to the API do not wait behind them.

    Law: only files inside its folder are served, and each carries the policy.
    """

    def __init__(self) -> None:
        self._files = {f"/{path.name}": path.read_bytes() for path in FOLDER.iterdir()}
        self._tags = {name: f'"{sha256(data).hexdigest()}"' for name, data in self._files.items()}
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file, or 304 if the client has it."""
        await self._wait()
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        path = route_path(scope)
        name = "/index.html" if path == "/" else path
        if (data := self._files.get(name)) is None:
            raise HTTPException(404)
        headers = {**_HEADERS, "ETag": self._tags[name]}
        known = dict(scope["headers"]).get(b"if-none-match", b"").decode("latin-1")
        if headers["ETag"] in known:
            await Response(status_code=304, headers=headers)(scope, receive, send)
            return
        headers["Content-Length"] = str(len(data))
        head = Response(headers=headers, media_type=guess_type(name)[0])
        start = {"type": "http.response.start", "status": 200, "headers": head.raw_headers}
        await send(start)
        for at in range(0, len(data), _PIECE):
            await self._wait()
            end = at + _PIECE
            piece = {"type": "http.response.body", "body": data[at:end], "more_body": end < len(data)}
            await send(piece)

    async def _wait(self) -> None:
        async with self._turn:
            await asyncio.sleep(0)
