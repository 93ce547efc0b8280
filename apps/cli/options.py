"""Options that several commands share: the store, the session, the window, and writes."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from pkgutil import resolve_name
from shlex import quote
from typing import Annotated, Any, cast

import click
from attrs import define, frozen
from click.shell_completion import CompletionItem

from polycontext.base import PolycontextError, UnknownNameError
from polycontext.models.answers import Answering, make_answering
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore, SessionStore, store_at
from polycontext.window.providers import Provider

from .command import COUNT, NUMBER, argument, option
from .errors import message_of
from .output import FAULT, CommandError, tell
from .session.settings import Settings, find_session, session_of

STORE, SESSION = "POLYCONTEXT_STORE", "POLYCONTEXT_SESSION"
"""Environment variables that name the store and the session if the command line does not."""

FORMATS = tuple(map(str, Provider))
"""The names of the message formats, the same as elsewhere in the library."""

_STORES = "the path of a SQLite file, or the address of a PostgreSQL database"


def default_store() -> str:
    """Return the path of the store in the platform's folder of data."""
    home = Path.home()
    folders = {
        "win32": os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local",
        "darwin": home / "Library" / "Application Support",
    }
    others = os.environ.get("XDG_DATA_HOME") or home / ".local" / "share"
    return str(Path(folders.get(sys.platform, others)) / "polycontext" / "sessions.db")


def complete_session(
    ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the session names with this prefix, or none if the store cannot be read.

    A shell inserts them as they are, so names that it would interpret are left out.
    """
    url = ctx.params.get("store") or default_store()
    try:
        with closing(store_at(url, 1.0, create=False)) as store:
            names = store.list_sessions()
    except (PolycontextError, TypeError, OSError):
        return []
    plain = (name for name in names if quote(name) == name)
    return [CompletionItem(name) for name in plain if name.startswith(incomplete)]


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete file names."""
    return [CompletionItem(incomplete, type="file")]


File = Annotated[str, argument(shell_complete=complete_file)]
Json = Annotated[bool, option("Print JSON.", "--json")]


@define(kw_only=True)
class StoreOptions:
    """The options that choose a store."""

    store: Annotated[
        str,
        option(
            f"Where sessions are kept: {_STORES}.",
            envvar=STORE,
            show_envvar=True,
            default=default_store,
            show_default="sessions.db in your folder of data",
            metavar="URL",
            shell_complete=complete_file,
        ),
    ]
    timeout: Annotated[
        float,
        option(
            "How long to wait for a store that another process uses.",
            type=click.FloatRange(min=0),
            default=5.0,
            metavar="SECONDS",
        ),
    ]

    def open_store(self, *, create: bool = False) -> AbstractContextManager[SessionStore]:
        """Return a context manager for the store; only with `create` is a missing file created.

        The folder of the default store is created with it, and its place is told once.
        """
        if self.store == default_store() and not Path(self.store).exists():
            if not create:
                raise CommandError("there are no sessions yet. Use polycontext session new NAME.")
            folder = Path(self.store).parent
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                problem = f"{folder}: cannot be created: {(error.strerror or str(error)).lower()}"
                raise CommandError(f"{problem}. Name a store with --store.", FAULT) from error
            tell(f"sessions are kept in {self.store}; --store and {STORE} change that")
        return closing(store_at(self.store, self.timeout, create=create))


@frozen(kw_only=True)
class WindowOptions:
    """The options that set the window's size: a number of tokens, or a model."""

    max_tokens: Annotated[
        int | None,
        option("The size of the window, in tokens.", type=COUNT, metavar="TOKENS"),
    ]
    model: Annotated[
        str | None,
        option(
            "The model, such as gpt-5: sets the window and how tokens are counted.",
            "-m",
            "--model",
            metavar="NAME",
        ),
    ]

    @property
    def settings(self) -> Settings:
        """Return the settings that a session remembers."""
        return Settings(self.model, self.max_tokens)


@define(kw_only=True)
class SessionOptions(StoreOptions):
    """The options that choose a session, by name or through the environment variable.

    The beginning of a name will do if no other name begins so; opening completes it.
    """

    session: Annotated[
        str,
        argument(
            metavar="[SESSION]", envvar=SESSION, required=False, shell_complete=complete_session
        ),
    ]

    @contextmanager
    def open(self, window: WindowOptions | None = None) -> Generator[ContextSession]:
        """Open the session with the settings it remembers, and close its store at the end.

        Settings in `window` override the remembered ones and are saved with the next write. Without
        `window`, the window's size need not be known.

        Raises:
            CommandError: there is no such session, or its window has no known size.
        """
        with self.open_store() as store:
            self.session = find_session(store, self.session)
            said = None if window is None else window.settings
            yield session_of(store, self.session, said)


@define(kw_only=True)
class NamedSession(SessionOptions):
    """The options that choose a session by name, for commands with further arguments."""

    session: Annotated[str, argument(metavar="SESSION", shell_complete=complete_session)]

    def check(self) -> None:
        """Refuse a session that is not in the store, before any input is read."""
        with self.open_store() as store:
            self.session = find_session(store, self.session)


@frozen(kw_only=True)
class WriteOptions(WindowOptions):
    """The options of a write: guards against repetition and conflicts, and the output format."""

    expected_revision: Annotated[
        int | None,
        option("Refuse if the session is at another revision.", type=NUMBER, metavar="N"),
    ]
    idempotency_key: Annotated[
        str | None,
        option("A key for this write; repeating it has no further effect.", metavar="TEXT"),
    ]

    as_json: Json

    @property
    def guards(self) -> dict[str, Any]:
        """Return the guards as keyword arguments of the session's write methods."""
        return {
            "expected_revision": self.expected_revision,
            "idempotency_key": self.idempotency_key,
        }


Moment = Annotated[
    str | None,
    option(
        "The state at a revision, at a time with a time zone, or after a message (its id).",
        "--at",
        metavar="MOMENT",
    ),
]
MessageFormat = Annotated[
    Provider | None,
    option(
        "The message format; detected by default.",
        "--format",
        type=click.Choice(FORMATS),
        callback=lambda _, __, name: name and Provider(name),
    ),
]
Roots = Annotated[
    Sequence[Path],
    option(
        "A folder of files and symbols. May be repeated.",
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
    ),
]
Output = Annotated[
    Path | None,
    option(
        "Write to a file instead of standard output, which is -.",
        "-o",
        "--output",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        callback=lambda _, __, path: None if path == Path("-") else path,
        metavar="FILE",
    ),
]
KeepRecent = Annotated[
    int,
    option("The number of recent messages to shorten last.", type=NUMBER, default=6, metavar="N"),
]
Repair = Annotated[
    bool,
    option("Mend the order of calls and results, and add missing results, instead of refusing."),
]
ChatStore = Annotated[
    str | None,
    option(
        f"Where chats are kept: {_STORES}; in memory by default.",
        envvar=STORE,
        show_envvar=True,
        metavar="URL",
    ),
]
BaseUrl = Annotated[
    str | None,
    option("The address of the model's API; by default its vendor's.", metavar="URL"),
]
AgentName = Annotated[
    str | None,
    option(
        "An agent of yours instead of a model: a function that takes a session and returns an "
        "Agent (docs/agents.md).",
        metavar="MODULE:NAME",
    ),
]
Query = Annotated[
    str | None,
    option("The topic of the next answer; summaries keep more about it.", metavar="TEXT"),
]
Yes = Annotated[
    bool,
    option("Do not ask for confirmation."),
]


def model_at(base_url: str | None, model: str | None) -> Answering:
    """Return the model with this name and address, or the built-in script if neither is given.

    Raises:
        CommandError: the model cannot be called, for example because the API key is missing.
        InvalidOptionError: the address is invalid.
    """
    try:
        return make_answering(base_url, model)
    except PolycontextError:
        raise
    except Exception as error:
        # The message is the vendor's.
        unknown = _unknown(str(model))
        raise CommandError(f"{unknown}the model cannot be called: {error}", FAULT) from error


def _unknown(model: str) -> str:
    """Return that no model is known by this name, as the beginning of a message, or nothing."""
    from polycontext.window import find_model  # noqa: PLC0415 - errors are rare

    try:
        find_model(model)
    except UnknownNameError as unknown:
        return f"{message_of(unknown)} Also, "
    return ""


def answering_at(
    base_url: str | None, model: str | None, agent: str | None
) -> tuple[Answering, dict[str, Any]]:
    """Return what answers, and the options of sessions that it needs.

    Raises:
        CommandError: the agent cannot be imported, or as for `model_at`.
    """
    if agent is None:
        return model_at(base_url, model), {}
    if model is not None or base_url is not None:
        raise CommandError("an agent brings its own model. Pass --agent without --model.")
    from polycontext.agents import AgentAnswering  # noqa: PLC0415 - slow to import

    make = imported(agent)
    if not callable(make):
        raise CommandError(f"{agent} is not a function. Name one that takes a session.")
    who = AgentAnswering(cast("Callable[[ContextSession], Any]", make))
    return who, {"machine": who.machine}


def imported(name: str) -> Any:
    """Return the object that ``module:name`` names; the working directory is searched, too.

    Raises:
        CommandError: it cannot be imported.
    """
    sys.path.insert(0, str(Path.cwd()))
    try:
        return resolve_name(name)
    except Exception as error:  # importing a module can raise anything
        problem = f"{name}: cannot be imported: {type(error).__name__}: {error}"
        advice = "Write module:name, such as app:name for app.py in this folder."
        raise CommandError(f"{problem}. {advice}") from error


def chats_at(store: str | None) -> AbstractContextManager[SessionStore]:
    """Return a context manager for the store of chats, which is in memory if `store` is None."""
    return closing(InMemoryStore() if store is None else store_at(store))
