"""A Chat Completions endpoint on loopback that sends scripted pieces and waits on demand."""

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT = object()
"""Among the pieces of an answer: nothing more comes, and the stream stays open."""


class SlowEndpoint:
    """Hold what is said, piece by piece, and what was asked; `release` ends the waiting."""

    def __init__(self, *answers: Sequence[Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.released = threading.Event()
        self.url = ""

    @contextmanager
    def serving(self) -> Generator["SlowEndpoint"]:
        """Serve on a free port, and return it."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.asked.append(
                    json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                )
                pieces = endpoint.answers.pop(0)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for piece in pieces:
                    if piece is WAIT:
                        endpoint.released.wait(120)
                        return
                    self._say(json.dumps(_chunk(piece)))
                self._say("[DONE]")

            def _say(self, data: str) -> None:
                self.wfile.write(f"data: {data}\n\n".encode())
                self.wfile.flush()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield self
        finally:
            self.released.set()
            server.shutdown()
            server.server_close()
            thread.join(60)


def _chunk(piece: str) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [choice],
    }
