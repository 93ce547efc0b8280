"""A page of another origin asks the server from a real browser: only where the server names it."""

import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.server.browser.chromium import WAITS, chromium

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # the server is in another process

ASK = """async (url) => {
    const options = {method: "POST", headers: {"content-type": "application/json", \
"authorization": "Bearer a-token-for-a-page"}, body: "{}"};
    try { return (await fetch(url, options)).status } catch (error) { return String(error) }
}"""
"""A request that a browser does not send before it has asked whether it may."""


class Blank(http.server.BaseHTTPRequestHandler):
    """Hand out an empty page."""

    def do_GET(self) -> None:
        """Answer with nothing."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        """Say nothing."""


@contextmanager
def elsewhere() -> Generator[str]:
    """Serve an empty page at an origin of its own."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(60)


@contextmanager
def serve(*options: str) -> Generator[str]:
    """Run `polycontext serve` on a free port, and return its address."""
    command = [sys.executable, "-m", "polycontext", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"serving (http://\S+)/,", process.stderr.readline())
        assert found is not None
        try:
            yield found[1]
        finally:
            process.terminate()
            process.stderr.read()


def test_only_a_page_that_is_named_may_ask() -> None:
    """The browser gives the answer to a page of a named origin, and nothing to another."""
    asked = {}
    with (
        chromium() as browser,
        elsewhere() as friend,
        elsewhere() as stranger,
        serve("--origin", friend) as url,
    ):
        for origin in (friend, stranger):
            page = browser.new_context().new_page()
            page.set_default_timeout(WAITS)
            page.goto(origin)
            asked[origin] = page.evaluate(ASK, f"{url}/api/sessions")
    assert asked[friend] == 201
    assert "Failed to fetch" in asked[stranger]
