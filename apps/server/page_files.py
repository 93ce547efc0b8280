"""The files of the page: read once, and sent from memory without holding up other requests."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from functools import cache
from gzip import compress
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from .access import Turns, route_path

FOLDER = Path(__file__).parent / "page"
"""The folder of the built page."""

POLICY = (
    # The message editor injects its own style sheet; scripts come only from this server.
    "default-src 'none'; script-src 'self'; font-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
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


_LINKED = re.compile(r'<(script|link)\b[^>]*(?:src|href)="\./([^"]+)"[^>]*>(?:</script>)?')
_FONT = re.compile(r"""url\(["']?(?:\./)?([\w-]+\.woff2)["']?\)""")
_REPORT = '<script type="application/gzip" id="polycontext-report">'


def report_page(data: object) -> str:
    """Return the page as one file that shows `data` and needs no network."""

    def inlined(link: re.Match[str]) -> str:
        tag, name = link.groups()
        text = (FOLDER / name).read_text(encoding="utf-8")
        if tag == "script":
            inside = text.replace("</script", "<\\/script")
            return f'<script type="module">{inside}</script>'
        return f"<style>{_FONT.sub(embedded, text)}</style>" if name.endswith(".css") else ""

    def embedded(font: re.Match[str]) -> str:
        return f"url(data:font/woff2;base64,{b64encode((FOLDER / font[1]).read_bytes()).decode()})"

    page = _LINKED.sub(inlined, (FOLDER / "index.html").read_text(encoding="utf-8"))
    text = b64encode(compress(orjson.dumps(data), mtime=0)).decode()
    return page.replace("<head>", f"<head>\n{_REPORT}{text}</script>", 1)


@cache
def _gzipped(data: bytes) -> bytes:
    return compress(data, mtime=0)  # reproducible


class Page:
    """The files of the page as an ASGI application, sent with the security headers.

    Each piece of a file waits for its turn.

    Law: only files inside its folder are served, and each carries the policy.
    """

    def __init__(self, turns: Turns) -> None:
        self._files = {f"/{path.name}": path.read_bytes() for path in FOLDER.iterdir()}
        self._tags = {name: f'"{sha256(data).hexdigest()}"' for name, data in self._files.items()}
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file, or 304 if the client has it."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        path = route_path(scope)
        name = "/index.html" if path == "/" else path
        if (data := self._files.get(name)) is None:
            raise HTTPException(404)
        asked = dict(scope["headers"])
        headers = {**_HEADERS, "ETag": self._tags[name], "Vary": "Accept-Encoding"}
        # A font is compressed as it is.
        if b"gzip" in asked.get(b"accept-encoding", b"") and not name.endswith(".woff2"):
            data = _gzipped(data)
            headers |= {"Content-Encoding": "gzip", "ETag": f'{headers["ETag"][:-1]}-gzip"'}
        known = asked.get(b"if-none-match", b"").decode("latin-1")
        answer = Response(status_code=304, headers=headers)
        if headers["ETag"] not in known:
            headers["Content-Length"] = str(len(data))
            kind, _ = guess_type(name)
            answer = StreamingResponse(self._pieces(data), headers=headers, media_type=kind)
        await answer(scope, receive, send)

    async def _pieces(self, data: bytes) -> AsyncIterator[bytes]:
        for at in range(0, len(data), _PIECE):
            await self._turns.wait()
            yield data[at : at + _PIECE]
