"""Strict providers over HTTP on the loopback interface, for agents that use a vendor's SDK.

The server stops at the end of its `with` block, or with the process. It answers POST requests with
JSON, or with server-sent events if the request asks for a stream. An error has the vendor's status
and body.
"""

import logging
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, ClassVar, Self, cast

import orjson
from attrs import define, field

from polycontext.base import InvalidOptionError, guided, require

from .provider import Endpoint, Event, RequestRefusedError, invalid_request
from .scripted import Scripted

logger = logging.getLogger(__name__)

MOST_BYTES = 64 * 2**20
"""The maximum size of a body that is read; each provider has a lower limit of its own."""


def _all(given: Scripted | Iterable[Scripted]) -> tuple[Scripted, ...]:
    return tuple(given) if isinstance(given, Iterable) else (given,)


@guided
@define(eq=False)
class StrictServer:
    """A server for `providers` on a port of 127.0.0.1 while its `with` block runs.

    Each provider answers at its own path.

    Args:
        providers: A strict provider, or several with different paths.
        port: The port; 0 picks a free one.

    Raises:
        InvalidOptionError: two providers have the same path.
        OSError: the port is in use.
    """

    providers: tuple[Scripted, ...] = field(converter=_all)
    port: int = 0
    _server: "_Http | None" = field(default=None, init=False, repr=False)
    _thread: Thread | None = field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        paths = [
            path for provider in self.providers for path in (provider.path, *provider.endpoints)
        ]
        require(
            "providers",
            ", ".join(paths),
            len(set(paths)) >= len(paths),
            "providers with different paths",
        )

    @property
    def url(self) -> str:
        """Return the base URL for an SDK; OpenAI's SDK needs ``/v1`` appended."""
        if self._server is None:
            raise InvalidOptionError("url", None, "it in a with block")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._server = _Http(("127.0.0.1", self.port), _Handler)
        self._server.providers = {
            path: provider
            for provider in self.providers
            for path in (provider.path, provider.stream_path)
        }
        self._server.endpoints = {
            path: (provider, endpoint)
            for provider in self.providers
            for path, endpoint in provider.endpoints.items()
        }
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.shutdown()
            server.server_close()
            thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # an open client connection must not delay the shutdown
    providers: Mapping[str, Scripted]
    endpoints: Mapping[str, tuple[Scripted, Endpoint]]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback, unless the client reset the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = True

    @property
    def _place(self) -> str:
        """The path; Google's SDK asks for v1 from its third version on, and for v1beta before."""
        return self.path.partition("?")[0].replace("/v1beta/models/", "/v1/models/")

    def do_POST(self) -> None:
        """Answer one request."""
        server = cast("_Http", self.server)
        path = self._place
        provider, endpoint = server.endpoints.get(path, (server.providers.get(path), None))
        if provider is None:
            # The body is not read, so close the connection: the next request would begin in the
            # middle of it.
            self._send(
                404,
                {"error": {"type": "not_found_error", "message": f"no API at {path}"}},
                {"connection": "close"},
            )
            return
        try:
            self._answer(provider, endpoint, self._body())
        except RequestRefusedError as refusal:
            self._refuse(provider, refusal)
        except ConnectionError:
            self.close_connection = True
        except Exception as error:
            logger.exception("model error")
            self._send(500, {"error": {"type": "api_error", "message": repr(error)}})

    def do_GET(self) -> None:
        """Reject the request: only POST is supported."""
        self._send(
            405,
            {
                "error": {
                    "type": "invalid_request_error",
                    "message": "Use POST",
                }
            },
        )

    def log_message(self, *_: Any, **__: Any) -> None:
        """Do nothing: requests are not logged."""

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > MOST_BYTES:
            self.close_connection = True
            raise RequestRefusedError(
                413, "request_too_large", "Request exceeds the maximum size", "request-size"
            )
        try:
            body = orjson.loads(self.rfile.read(int(length)))
        except ValueError as error:
            message = f"The request body is not valid JSON: {error}"
            raise invalid_request(message, "not-json") from None
        if not isinstance(body, dict):
            raise invalid_request("The request body must be a JSON object", "not-an-object")
        return body

    def _answer(self, provider: Scripted, endpoint: Endpoint | None, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if endpoint is not None:
            self._send(200, endpoint(body, headers))
        elif body.get("stream") is True or self._place != provider.path:
            self._send_events(provider.stream(body, headers=headers))
        else:
            self._send(200, provider.create(body, headers=headers))

    def _refuse(self, provider: Scripted, refusal: RequestRefusedError) -> None:
        waiting = (
            {}
            if refusal.retry_after is None
            else {"retry-after": str(math.ceil(refusal.retry_after))}
        )
        self._send(refusal.status, provider.error_body(refusal), waiting)

    def _send(
        self, status: int, body: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        data = orjson.dumps(body)
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _send_events(self, events: Iterator[Event]) -> None:
        self.send_response(200)
        for name, value in (
            ("content-type", "text/event-stream; charset=utf-8"),
            ("transfer-encoding", "chunked"),
        ):
            self.send_header(name, value)
        self.end_headers()
        for event in events:
            data = event.encoded()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")
