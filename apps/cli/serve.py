"""The work of `polycontext serve`: the server of chats, until it is stopped."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import closing, suppress
from ipaddress import ip_network
from pathlib import Path

from attrs import frozen

from polycontext.linearity import require_extra

from .output import FAULT, USAGE, CommandError, complain, existing_folders


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
    proxies: Sequence[str] = ()


def serve(served: Served) -> int:
    """Serve chats until the process is told to stop; say where they are, and with which token where one is needed."""
    require_extra("uvicorn", extra="server", purpose="conversations over HTTP")
    import uvicorn  # noqa: PLC0415 - an extra

    from polycontext.models import answering  # noqa: PLC0415 - as above
    from polycontext.polynomial.stores import InMemoryStore, store_at  # noqa: PLC0415 - as above
    from polycontext.server import LOOPBACK, STOPS_IN, Access, configuration, create_app, is_loopback  # noqa: PLC0415 - as above
    from polycontext.window import FileResolver  # noqa: PLC0415 - as above
    from polycontext.window.pills import Resolver, SymbolResolver  # noqa: PLC0415 - as above

    folders = existing_folders(served.roots)
    _check_proxies(served.proxies)
    # A variable with nothing in it is a token that is too short, and not the wish for none.
    tokens = tuple(served.tokens) or ("",) * ("POLYCONTEXT_TOKENS" in os.environ)
    access = Access(tokens, LOOPBACK if is_loopback(served.host) else ("*",), served.origins, served.a_minute)
    who = answering(served.model, served.name)
    with closing(InMemoryStore() if served.store is None else store_at(served.store)) as store:
        resolvers: list[Resolver] = [FileResolver(folders), SymbolResolver(folders)] if folders else []
        app = create_app(store, lambda: who, access, resolvers=resolvers, max_tokens=served.max_tokens, system=served.system)

        class Server(uvicorn.Server):
            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                """Let listeners go first: those who wait for the next event would be waited for."""
                with suppress(TimeoutError):
                    async with asyncio.timeout(STOPS_IN):
                        await app.state.chats.close()
                await super().shutdown(sockets)
                # Here: behind `run`, the signal that stopped the server ends the process.
                store.close()

        server = Server(configuration(app, served.proxies))
        with closing(_bound(served.host, served.port)) as place:
            host = f"[{served.host}]" if ":" in served.host else served.host
            complain(f"chats at http://{host}:{place.getsockname()[1]}/ (Ctrl+C stops it)")
            server.run(sockets=[place])
    return 0


def _check_proxies(proxies: Sequence[str]) -> None:
    for proxy in proxies:
        try:
            ip_network(proxy)
        except ValueError:
            raise CommandError(USAGE, f"--proxy {proxy} is not an address. Pass one such as 10.0.0.2 or 10.0.0.0/24.", "serve") from None


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound, before anything is said of it; port 0 takes a free one."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise CommandError(FAULT, f"nothing can be served at {host}:{port}: {error.strerror or error}", "serve") from None
