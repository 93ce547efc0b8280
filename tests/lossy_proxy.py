"""A TCP proxy that cuts a connection before a commit arrives, or before its answer returns."""

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Thread

COMMIT = b"COMMIT\0"
"""The command, and not the name of a level of isolation."""


class Cutting:
    """A proxy between clients and a server, over TCP on loopback.

    `cut` says where the next connection that commits ends: "before" the server receives the commit,
    or "after" its answer, which is lost. `meanwhile` is called then. Once `gone`, every connection
    fails.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.cut: str | None = None
        self.meanwhile: Callable[[], object] = lambda: None
        self.gone_then = False
        self._open: list[socket.socket] = []
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Let nobody through any more."""
        for each in (self._listening, *self._open):
            _end(each)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._upstream))
                self._open += [client, server]
                Thread(target=self._client_to_server, args=(client, server), daemon=True).start()
                Thread(target=self._pass_on, args=(server, client), daemon=True).start()

    def _client_to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while said := client.recv(65_536):
                if self.cut is not None and COMMIT in said:
                    cut, self.cut = self.cut, None
                    if self.gone_then:
                        # Before anybody notices: nobody finds another way.
                        _end(self._listening)
                    # The client hears no more.
                    client.shutdown(socket.SHUT_WR)
                    if cut == "after":
                        server.sendall(said)
                        # The server ends a connection once it has done what it was told.
                        server.shutdown(socket.SHUT_WR)
                        self._until_ended(server)
                    _end(server)
                    self.meanwhile()
                    if self.gone_then:
                        self.close()
                    _end(client)
                    return
                server.sendall(said)
        for each in (client, server):
            _end(each)

    @staticmethod
    def _until_ended(server: socket.socket) -> None:
        with suppress(OSError):
            while server.recv(65_536):
                pass

    @staticmethod
    def _pass_on(server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while said := server.recv(65_536):
                client.sendall(said)
        _end(client)


def _end(connection: socket.socket) -> None:
    """End a connection, also where another thread waits for it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def cutting(port: int) -> Generator[Cutting]:
    """Stand between clients and the server at `port` for a while."""
    way = Cutting(port)
    try:
        yield way
    finally:
        way.close()
