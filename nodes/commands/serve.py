"""The work of `polycontext serve`: the server of chats, until it is stopped."""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from attrs import frozen

from polycontext.linearity.extras import require
from polycontext.nodes.commands.output import FAULT, CommandError, complain, existing_folders

_STOPS_IN = 3
"""Seconds that answers have to end when the server is stopped."""


@frozen
class Served:
    """Hold how chats are served, as the options say."""

    store: str | None
    host: str
    port: int
    model: str | None
    name: str | None
    max_tokens: int
    system: str | None
    tokens: Sequence[str]
    origins: Sequence[str]
    a_minute: int
    roots: Sequence[Path] = ()


def serve(served: Served) -> int:
    """Serve chats until the process is told to stop; say where they are, and with which token where one is needed."""
    require("uvicorn", extra="server", purpose="conversations over HTTP")
    import uvicorn  # noqa: PLC0415 - an extra

    from polycontext.nodes.models.answering import answering  # noqa: PLC0415 - as above
    from polycontext.nodes.server.access import LOOPBACK, Access, is_loopback  # noqa: PLC0415 - as above
    from polycontext.nodes.server.app import create_app  # noqa: PLC0415 - as above
    from polycontext.nodes.server.connection import TimedProtocol  # noqa: PLC0415 - as above
    from polycontext.polynomial.stores import InMemoryStore  # noqa: PLC0415 - as above
    from polycontext.polynomial.stores.places import store_at  # noqa: PLC0415 - as above
    from polycontext.window.pills import FileResolver, Resolver, SymbolResolver  # noqa: PLC0415 - as above

    folders = existing_folders(served.roots)
    tokens = tuple(served.tokens)
    access = Access(tokens, LOOPBACK if is_loopback(served.host) else ("*",), served.origins, served.a_minute)
    who = answering(served.model, served.name)
    with closing(InMemoryStore() if served.store is None else store_at(served.store)) as store:
        resolvers: list[Resolver] = [FileResolver(folders), SymbolResolver(folders)] if folders else []
        app = create_app(store, lambda: who, access, resolvers=resolvers, max_tokens=served.max_tokens, system=served.system)

        class Server(uvicorn.Server):
            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                """Let listeners go first: those who wait for the next event would be waited for."""
                with suppress(TimeoutError):
                    async with asyncio.timeout(_STOPS_IN):
                        await app.state.chats.close()
                await super().shutdown(sockets)
                # Here: behind `run`, the signal that stopped the server ends the process.
                store.close()

        # Headers that name another client are anybody's word, also on loopback.
        config = uvicorn.Config(
            app, http=TimedProtocol, ws="none", log_level="warning", proxy_headers=False, timeout_graceful_shutdown=_STOPS_IN
        )
        server = Server(config)
        with closing(_bound(served.host, served.port)) as place:
            host = f"[{served.host}]" if ":" in served.host else served.host
            complain(f"chats at http://{host}:{place.getsockname()[1]}/ (Ctrl+C stops it)")
            server.run(sockets=[place])
    return 0


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound, before anything is said of it; port 0 takes a free one."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise CommandError(FAULT, f"nothing can be served at {host}:{port}: {error.strerror or error}", "serve") from None
