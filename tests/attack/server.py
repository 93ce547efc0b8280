"""Attack a server of `polycontext serve` on loopback, and count the answers that a user misses.

Each attack holds connections or sends wrong tokens. Meanwhile a user with the right token asks
`ASKED` times, over a new connection each. All attacks are bounded and end by themselves.
"""

import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from threading import Thread
from typing import cast

import httpx

TOKEN = "a-token-of-the-attacked"  # noqa: S105 - of a server that lives for a minute
MANY, UPLOADS, ASKED = 720, 40, 20
PIPELINED = 900
MOST_MEGABYTES = 200.0
"""What the server may grow by."""

_PLACE = re.compile(r"serving http://127\.0\.0\.1:(\d+)/")
_BODY = b"x" * 900_000
Attack = Callable[[int], Sequence[socket.socket]]


def never_read(port: int) -> list[socket.socket]:
    """Ask for the page again and again, and never read the answers."""
    asked = b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20
    return _opened(port, asked, MANY)


def pipelined_pages(port: int) -> list[socket.socket]:
    """Ask for the page again and again on more connections than are allowed, and read it."""
    asked = b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20
    held = _opened(port, asked, PIPELINED)
    Thread(target=_read, args=(held,), daemon=True).start()
    return held


def half_a_request(port: int) -> list[socket.socket]:
    """Begin a request and never end it."""
    return _opened(port, b"GET /api/sessions HTTP/1.1\r\nHost: local", MANY)


def half_an_upload(port: int) -> list[socket.socket]:
    """Send most of a body without a token."""
    head = (
        "POST /api/sessions/x/uploads HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {len(_BODY) + 9}\r\n\r\n"
    )
    return _opened(port, head.encode() + _BODY, UPLOADS)


def wrong_tokens(port: int) -> list[socket.socket]:
    """Guess more tokens in a minute than an address may."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for number in range(MANY):
            client.get("/api/sessions", headers={"Authorization": f"Bearer guess-{number}"})
    return []


ATTACKS: dict[str, Attack] = {
    "never read": never_read,
    "pipelined pages": pipelined_pages,
    "half a request": half_a_request,
    "half an upload": half_an_upload,
    "wrong tokens": wrong_tokens,
}


def main() -> int:
    """Run every attack; return 1 if an answer was missed or the server grew too much."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8 * MANY), hard))
    faults = 0
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder)) as (port, process):
        for _ in range(ASKED):  # it loads what it counts with after some answers
            assert _is_answered(port)
        before = _megabytes(process.pid)
        for name, attack in ATTACKS.items():
            held = attack(port)
            answered = sum(_is_answered(port) for _ in range(ASKED))
            for each in held:
                each.close()
            grown = _megabytes(process.pid) - before
            faults += answered < ASKED or grown > MOST_MEGABYTES
            print(f"{name:16} {answered} of {ASKED} answered, {grown:.0f} MB more", flush=True)
    print(f"{faults} of {len(ATTACKS)} attacks harmed somebody else")
    return 1 if faults else 0


def _opened(port: int, sent: bytes, number: int) -> list[socket.socket]:
    """Return connections that have sent this, as far as the server took it at once."""
    opened = []
    for _ in range(number):
        with suppress(OSError):
            one = socket.create_connection(("127.0.0.1", port), timeout=5)
            one.settimeout(0.2)
            opened.append(one)
            one.sendall(sent)
    return opened


def _read(connections: Sequence[socket.socket]) -> None:
    """Read what comes until all connections are closed."""
    with DefaultSelector() as selector:
        for each in connections:
            selector.register(each, EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(1):
                one = cast("socket.socket", key.fileobj)
                with suppress(OSError):
                    if one.recv(1 << 20):
                        continue
                with suppress(KeyError, ValueError):
                    selector.unregister(one)


def _is_answered(port: int) -> bool:
    try:
        answer = httpx.get(
            f"http://127.0.0.1:{port}/api/sessions",
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=20,
        )
    except httpx.HTTPError:
        return False
    return answer.status_code == 200


@contextmanager
def _served(folder: Path) -> Generator[tuple[int, subprocess.Popen[str]]]:
    """Run the command in a process of its own; yield its port and the process."""
    tokens = folder / "tokens.txt"
    tokens.write_text(TOKEN)
    command = [sys.executable, "-m", "polycontext", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--token-file", str(tokens)], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            found = _PLACE.search(process.stderr.readline())
            assert found, "the server did not start"
            yield int(found[1]), process
        finally:
            process.terminate()


def _megabytes(pid: int) -> float:
    """Return the resident megabytes of a process, 0 where the system does not tell."""
    with suppress(OSError):
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0
