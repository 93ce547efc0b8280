"""`polycontext serve`: a server for chats that runs until it is stopped."""

import logging
import os
import socket
from collections.abc import Sequence
from contextlib import closing, nullcontext
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, TextIO

import click

from polycontext.base import require_extra

# Check for the extra before any module that needs it is imported.
for _module in ("fastapi", "uvicorn"):
    require_extra(_module, extra="server", purpose="polycontext serve")

from polycontext.polynomial.stores import hide_secrets
from polycontext.server import (
    Access,
    Gateway,
    Originals,
    Server,
    create_app,
    create_gateway,
    hosts_of,
)

from .command import COUNT, command, option
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
def serve(
    *,
    where: StoreOptions,
    host: Annotated[
        str,
        option("The address to listen on; any but loopback requires a token.", default="127.0.0.1"),
    ],
    port: Annotated[
        int, option("The port; 0 picks a free one.", type=click.IntRange(0, 65535), default=8400)
    ],
    models: Annotated[
        Sequence[str],
        option(
            "The model that answers, such as gpt-5. May be repeated: the page lets users choose.",
            "-m",
            "--model",
            metavar="NAME",
        ),
    ],
    base_url: BaseUrl,
    agent: AgentName,
    max_tokens: Annotated[
        int, option("The size of the window.", type=COUNT, default=8000, metavar="TOKENS")
    ],
    system: Annotated[
        str | None, option("A system prompt for every chat, hidden from browsers.", metavar="TEXT")
    ],
    tokens: Annotated[
        Sequence[str],
        option(
            "An access token of at least 16 characters; each is a separate user. May be repeated. "
            'With " inspect" behind it, its user may see what the model sees. '
            "Other users of the machine can read it in the list of processes.",
            "--token",
            envvar=TOKENS,
            show_envvar=True,
        ),
    ],
    token_file: Annotated[
        TextIO | None,
        option(
            "A file of access tokens, one a line; `-` reads them from standard input.",
            type=click.File(encoding="utf-8"),
        ),
    ],
    origins: Annotated[
        Sequence[str],
        option("Another web origin that may call the API (CORS). May be repeated.", "--origin"),
    ],
    a_minute: Annotated[
        int,
        option(
            "The number of requests a user may make per minute.",
            type=COUNT,
            default=600,
            metavar="N",
        ),
    ],
    proxies: Annotated[
        Sequence[str],
        option("A trusted reverse proxy. May be repeated.", "--proxy", metavar="ADDRESS"),
    ],
    answer_timeout: Annotated[
        float,
        option(
            "How long an answer may be silent before it ends.",
            type=click.FloatRange(min=0, min_open=True),
            default=120.0,
            metavar="SECONDS",
        ),
    ],
    editor: Annotated[
        str | None,
        option(
            "The command that opens an attached file on this machine, such as code; needs "
            "loopback.",
            metavar="COMMAND",
        ),
    ],
    roots: Roots,
    compress_only: Annotated[
        bool, option("Serve no chats, only /v1/compress and /v1/retrieve for LLM gateways.")
    ],
    originals: Annotated[
        Path | None,
        option(
            "A SQLite file for the originals of what /v1/compress shortens; in memory by default.",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
        ),
    ],
    originals_mb: Annotated[
        int, option("The most that is kept of originals.", type=COUNT, default=256, metavar="MB")
    ],
    originals_days: Annotated[
        int,
        option(
            "How long an original is kept after it was last sent or read.",
            type=COUNT,
            default=30,
            metavar="DAYS",
        ),
    ],
    strict: Annotated[
        bool, option("Answer 503 if compressing fails, instead of returning the rows unchanged.")
    ],
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
    access = Access(tokens, hosts_of(host), origins, a_minute, inspectors)
    if editor is not None and "*" in access.hosts:
        raise CommandError("--editor opens files on this machine. Use a loopback --host.")
    store = None if where.store == default_store() else where.store
    if compress_only:
        chat = {"--store": store, "--base-url": base_url, "--agent": agent, "--system": system}
        for name, value in (chat | {"--model": models, "--root": roots}).items():
            if value not in (None, ()):
                raise CommandError(f"--compress-only serves no chats. Leave out {name}.")
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
        server = Server(app, proxies, *(each for each in (chats, kept) if each is not None))
        with closing(_bind(host, port)) as place:
            named = f"[{host}]" if ":" in host else host
            what, file = ("originals", originals) if compress_only else ("chats", where.store)
            tell(
                f"serving http://{named}:{place.getsockname()[1]}/, {what} are kept "
                f"{'in memory until it stops' if file is None else f'in {file}'}. "
                "Stop with Ctrl+C."
            )
            server.run(sockets=[place])


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
