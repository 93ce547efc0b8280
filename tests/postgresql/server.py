"""A private PostgreSQL server for tests, on loopback and in a temporary folder.

It ends with the process that started it, however that process ends.
"""

import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from shutil import chown, which
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

import pytest

USERS = ("postgres", "nobody")
"""The user that runs the server if root runs the tests, because PostgreSQL refuses root."""

WATCH = """
import os, shutil, signal, sys
sys.stdin.read()
try:
    os.kill(int(open(sys.argv[1] + "/data/postmaster.pid").readline()), signal.SIGQUIT)
except (OSError, ValueError):
    pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


def missing() -> str | None:
    """Return why there can be no server here, None where there can."""
    if sys.platform == "win32":
        return "a private PostgreSQL server is started under POSIX alone"
    return None if _programs() else "no PostgreSQL server is installed: apt-get install postgresql"


class Server:
    """Hold a server that runs, or can be started again."""

    def __init__(self, *, durable: bool = False) -> None:
        programs = _programs()
        assert programs is not None
        self._programs, self._durable = programs, durable
        self.password = token_urlsafe(12)
        self.folder = Path(mkdtemp(prefix="polycontext-postgresql-"))
        self._as = _other_user()
        word = self.folder / "password"
        word.write_text(self.password, encoding="ascii")
        for place in (self.folder, word):
            chown(place, self._as["user"]) if self._as else None
        # It outlives whoever is killed, and clears up.
        self._watch = subprocess.Popen(
            [sys.executable, "-c", WATCH, str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        asked = [
            "--username=tester",
            f"--pwfile={word}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        self._run("initdb", *asked)
        self.start()

    @property
    def url(self) -> str:
        """Return where it is."""
        return f"postgresql://tester:{self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        fsync = "on" if self._durable else "off"
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "fsync": fsync,
            "autovacuum": "off",  # its snapshots would keep deleted rows through a VACUUM FULL
            "shared_buffers": "16MB",
            "unix_socket_directories": "",
        }
        options = " ".join(
            f"-c {name}={value}" if value != "" else f"-c {name}=''"
            for name, value in settings.items()
        )
        self._run(
            "pg_ctl",
            "start",
            "--wait",
            "--silent",
            "--options",
            options,
            "--log",
            str(self.folder / "log"),
        )

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server in a mode of `pg_ctl`, by default at once, like a power loss."""
        self._run("pg_ctl", "stop", "--silent", "--mode", mode)

    def close(self) -> None:
        """Stop it and remove all that it had."""
        self._watch.communicate(timeout=60)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "--pgdata", str(self.folder / "data"), *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            **self._as,
        )  # fmt: skip
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(
                f"{program}: {done.stderr}{log.read_text('utf-8') if log.exists() else ''}"
            )


@contextmanager
def running(*, durable: bool = False) -> Generator[Server]:
    """Run a server for a while; `durable` brings every commit to the disk."""
    server = Server(durable=durable)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def postgresql() -> Generator[Server]:
    """Return the server of this run, each worker's own."""
    if (why := missing()) is not None:
        pytest.skip(why)
    with running() as server:
        yield server


@pytest.fixture
def schema() -> str:
    """Return a schema that nobody has used yet."""
    return f"s{uuid4().hex}"


def _programs() -> Path | None:
    """Return the folder of the server's programs; Debian keeps those of each version apart."""
    found = which("initdb")
    if found:
        return Path(found).parent
    versions = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    return versions[-1].parent if versions else None


def _other_user() -> Mapping[str, Any]:
    if os.getuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = next(name for name in USERS if name in names)
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": ()}
