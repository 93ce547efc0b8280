"""`polycontext serve`: a server for chats that runs until it is stopped."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import closing, suppress
from ipaddress import ip_network
from typing import TextIO

import click

from polycontext.base import require_extra

# Check for the extra before any module that needs it is imported.
for _module in ("fastapi", "uvicorn"):
    require_extra(_module, extra="server", purpose="polycontext serve")

import uvicorn
from fastapi import FastAPI

from polycontext.polynomial.stores import SessionStore
from polycontext.server import LOOPBACK, STOPS_IN, Access, configuration, create_app, is_loopback

from .command import command
from .options import AgentName, BaseUrl, ChatStore, Model, Roots, answering_at, chats_at
from .output import FAULT, CommandError, tell
from .pills import resolvers_of

TOKENS = "POLYCONTEXT_TOKEN"


@command(
    "polycontext serve",
    "polycontext serve --store chats.db --model gpt-5",
    "polycontext serve --host 0.0.0.0 --token-file tokens.txt",
    "polycontext serve --root .",
    "polycontext serve --agent kitchen:agent",
)
@click.option(
    "--host",
    default="127.0.0.1",
    help="The address to listen on; any but loopback requires a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8400,
    help="The port; 0 picks a free one.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    default=8000,
    metavar="TOKENS",
    help="The size of the window.",
)
@click.option(
    "--system", metavar="TEXT", help="A system prompt for every chat, hidden from browsers."
)
@click.option(
    "--token",
    "tokens",
    multiple=True,
    envvar=TOKENS,
    show_envvar=True,
    help="An access token of at least 16 characters; each is a separate user. May be repeated. "
    "Other users of the machine can read it in the list of processes.",
)
@click.option(
    "--token-file",
    type=click.File(encoding="utf-8"),
    help="A file of access tokens, one a line; `-` reads them from standard input.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    help="Another web origin that may call the API (CORS). May be repeated.",
)
@click.option(
    "--a-minute",
    type=click.IntRange(min=1),
    default=600,
    metavar="N",
    help="The number of requests a user may make per minute.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="A trusted reverse proxy. May be repeated.",
)
def serve(
    *,
    store: ChatStore,
    host: str,
    port: int,
    model: Model,
    base_url: BaseUrl,
    agent: AgentName,
    max_tokens: int,
    system: str | None,
    tokens: Sequence[str],
    token_file: TextIO | None,
    origins: Sequence[str],
    a_minute: int,
    proxies: Sequence[str],
    roots: Roots,
) -> None:
    """Serve chats over HTTP, with a web page and an API under /api.

    Each user sees only their own chats; command-line sessions are not shown. Without --model or
    --agent, a built-in script answers. Stop it with Ctrl+C; chats in a store are saved.
    """
    _check_proxies(proxies)
    # An empty variable counts as a token that is too short, not as no token.
    listed = () if token_file is None else token_file.read().split("\n")
    given = (*tokens, *filter(None, map(str.strip, listed)))
    # The same holds for a file without a token.
    tokens = given or ("",) * (TOKENS in os.environ or token_file is not None)
    hosts = LOOPBACK if is_loopback(host) else ("*",)
    access = Access(tokens, hosts, origins, a_minute)
    who, options = answering_at(base_url, model, agent)
    with chats_at(store) as chats:
        app = create_app(
            chats,
            lambda: who,
            access,
            resolvers=resolvers_of(roots) if roots else (),
            max_tokens=max_tokens,
            system=system,
            **options,
        )
        server = Server(configuration(app, proxies), app, chats)
        with closing(_bind(host, port)) as place:
            named = f"[{host}]" if ":" in host else host
            where = "in memory until it stops" if store is None else f"in {store}"
            tell(
                f"serving http://{named}:{place.getsockname()[1]}/, chats are kept {where}. "
                "Stop with Ctrl+C."
            )
            server.run(sockets=[place])


class Server(uvicorn.Server):
    """A uvicorn server that closes event streams before it shuts down."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, store: SessionStore) -> None:
        super().__init__(config)
        self._chats, self._store = app.state.chats, store

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the event streams first: uvicorn would otherwise wait for clients that listen."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOPS_IN):
                await self._chats.close()
        await super().shutdown(sockets)
        # Close the store here: after `run` returns, the signal that stopped the server ends the
        # process.
        self._store.close()


def _check_proxies(proxies: Sequence[str]) -> None:
    for proxy in proxies:
        try:
            ip_network(proxy)
        except ValueError:
            raise CommandError(
                f"--proxy {proxy} is not an address. Pass one such as 10.0.0.2 or 10.0.0.0/24.",
            ) from None


def _bind(host: str, port: int) -> socket.socket:
    """Return a bound socket, so that the port is known before it is printed; 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        problem = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise CommandError(f"{problem}. Pass another --port.", FAULT) from None
