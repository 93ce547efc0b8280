"""`polycontext serve`: a server for chats that runs until it is stopped."""

import asyncio
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from ipaddress import ip_network
from pathlib import Path
from typing import TextIO

import click

from polycontext.base import require_extra

# Check for the extra before any module that needs it is imported.
for _module in ("fastapi", "uvicorn"):
    require_extra(_module, extra="server", purpose="polycontext serve")

import uvicorn
from fastapi import FastAPI

from polycontext.polynomial.stores import SessionStore, hide_secrets
from polycontext.server import (
    LOOPBACK,
    STOPS_IN,
    Access,
    Gateway,
    Originals,
    configuration,
    create_app,
    create_gateway,
    is_loopback,
)

from .command import command
from .options import (
    AgentName,
    BaseUrl,
    Roots,
    StoreOptions,
    answering_at,
    default_store,
    model_at,
)
from .output import FAULT, CommandError, is_verbose, tell
from .pills import resolvers_of

TOKENS = "POLYCONTEXT_TOKEN"
INSPECT = " inspect"
"""The word behind a token whose user may inspect."""


@command(
    "polycontext serve",
    "polycontext serve --store chats.db --model gpt-5",
    "polycontext serve --host 0.0.0.0 --token-file tokens.txt",
    "polycontext serve --root .",
    "polycontext serve --agent app:make_agent",
    "polycontext serve --compress-only --originals originals.db",
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
    'With " inspect" behind it, its user may see what the model sees. '
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
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="The model that answers, such as gpt-5. May be repeated: the page lets users choose.",
)
@click.option(
    "--answer-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    metavar="SECONDS",
    help="How long an answer may be silent before it ends.",
)
@click.option(
    "--editor",
    metavar="COMMAND",
    help="The command that opens an attached file on this machine, such as code; needs loopback.",
)
@click.option(
    "--compress-only",
    is_flag=True,
    help="Serve no chats, only /v1/compress and /v1/retrieve for LLM gateways.",
)
@click.option(
    "--originals",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A SQLite file for the originals of what /v1/compress shortens; in memory by default.",
)
@click.option(
    "--originals-mb",
    type=click.IntRange(min=1),
    default=256,
    metavar="MB",
    help="The most that is kept of originals.",
)
@click.option(
    "--originals-days",
    type=click.IntRange(min=1),
    default=30,
    metavar="DAYS",
    help="How long an original is kept after it was last sent or read.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Answer 503 if compressing fails, instead of returning the rows unchanged.",
)
def serve(
    *,
    where: StoreOptions,
    host: str,
    port: int,
    models: Sequence[str],
    base_url: BaseUrl,
    agent: AgentName,
    max_tokens: int,
    system: str | None,
    tokens: Sequence[str],
    token_file: TextIO | None,
    origins: Sequence[str],
    a_minute: int,
    proxies: Sequence[str],
    answer_timeout: float,
    editor: str | None,
    roots: Roots,
    compress_only: bool,
    originals: Path | None,
    originals_mb: int,
    originals_days: int,
    strict: bool,
) -> None:
    """Serve chats over HTTP, with a web page and an API under /api, and compress rows for gateways.

    Each user sees only their own chats. Without tokens, you also see the sessions of other
    programs in the store, read-only. Without --model or --agent, a built-in script answers. Stop
    it with Ctrl+C.
    """
    if is_verbose():
        logging.getLogger("polycontext.server").setLevel(logging.DEBUG)
    _check_proxies(proxies)
    # An empty variable counts as a token that is too short, not as no token.
    listed = () if token_file is None else token_file.read().split("\n")
    given = (*tokens, *filter(None, map(str.strip, listed)))
    # The same holds for a file without a token.
    given = given or ("",) * (TOKENS in os.environ or token_file is not None)
    inspectors = [each.removesuffix(INSPECT) for each in given if each.endswith(INSPECT)]
    tokens = tuple(each.removesuffix(INSPECT) for each in given)
    hosts = LOOPBACK if is_loopback(host) else ("*",)
    access = Access(tokens, hosts, origins, a_minute, inspectors)
    if editor is not None and not is_loopback(host):
        raise CommandError("--editor opens files on this machine. Use a loopback --host.")
    store = None if where.store == default_store() else where.store
    if compress_only:
        chat = {"--store": store, "--base-url": base_url, "--agent": agent}
        _check_no_chats({**chat, "--model": models or None, "--system": system})
        _check_no_chats({"--root": roots or None})
    first = models[0] if models else None
    who, options = answering_at(base_url, first, agent)
    if models:
        options["models"] = {first: who} | {name: model_at(base_url, name) for name in models[1:]}
    kept = Originals(originals, megabytes=originals_mb, days=originals_days)
    with closing(kept), nullcontext() if compress_only else where.open_store(create=True) as chats:
        gateway = Gateway(kept, strict)
        app = (
            create_gateway(gateway, access)
            if chats is None
            else create_app(
                chats,
                lambda: who,
                access,
                resolvers=resolvers_of(roots) if roots else (),
                gateway=gateway,
                editor=editor,
                place=hide_secrets(where.store),
                timeout=answer_timeout,
                max_tokens=max_tokens,
                system=system,
                **options,
            )
        )
        server = Server(
            configuration(app, proxies), app, *(each for each in (chats, kept) if each is not None)
        )
        with closing(_bind(host, port)) as place:
            named = f"[{host}]" if ":" in host else host
            what, file = ("originals", originals) if compress_only else ("chats", where.store)
            tell(
                f"serving http://{named}:{place.getsockname()[1]}/, {what} are kept "
                f"{'in memory until it stops' if file is None else f'in {file}'}. "
                "Stop with Ctrl+C."
            )
            server.run(sockets=[place])


class Server(uvicorn.Server):
    """A uvicorn server that closes event streams before it shuts down, and stores afterwards."""

    def __init__(
        self, config: uvicorn.Config, app: FastAPI, *stores: SessionStore | Originals
    ) -> None:
        super().__init__(config)
        self._chats, self._stores = getattr(app.state, "chats", None), stores

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the event streams first: uvicorn would otherwise wait for clients that listen."""
        if self._chats is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOPS_IN):
                    await self._chats.close()
        await super().shutdown(sockets)
        # Close the stores here: after `run` returns, the signal that stopped the server ends the
        # process.
        for store in self._stores:
            store.close()


def _check_no_chats(given: Mapping[str, object]) -> None:
    for name in (name for name, value in given.items() if value is not None):
        raise CommandError(f"--compress-only serves no chats. Leave out {name}.")


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
