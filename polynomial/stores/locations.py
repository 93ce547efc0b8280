"""The locations of stores: the path of a file, or a URL."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from polycontext.linearity import InvalidOptionError

from .session_store import SessionStore, hide_secrets
from .sqlite import SQLiteStore

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql://", "postgresql+psycopg://")
_LEGAL = (
    'the path of a SQLite file, "sqlite:///" with a path behind it, '
    '"postgresql://" with a server behind it, '
    "or a store with load and append"
)


def store_at(url: Any, timeout: float = 5.0, *, create: bool = True) -> SessionStore:
    """Return the opened store at `url`; a store is returned unchanged.

    Without `create`, a file must exist.

    Raises:
        InvalidOptionError: `url` is not the location of a store; shows no secret of the URL.
        StoreError: the store cannot be opened.
        MissingExtraError: it is on a PostgreSQL server, and the extra `postgresql` is missing.

    >>> store_at("oracle://scott:tiger@host/db?token=1")
    Traceback (most recent call last):
    polycontext.linearity.errors.InvalidOptionError: url = 'oracle://***@host/db?***'. Use the \
path of a SQLite file, "sqlite:///" with a path behind it, "postgresql://" with a server behind \
it, or a store with load and append.
    """
    if isinstance(url, Path):
        return SQLiteStore(url, timeout=timeout, create=create)
    if isinstance(url, str) and url.startswith(_POSTGRESQL):
        from .postgresql import PostgreSQLStore  # noqa: PLC0415 - needs an extra

        return PostgreSQLStore(url, timeout=timeout)
    if isinstance(url, str):
        return SQLiteStore(_path_in(url), timeout=timeout, create=create)
    if callable(getattr(url, "load", None)) and callable(getattr(url, "append", None)):
        store: SessionStore = url
        return store
    raise InvalidOptionError("url", url, _LEGAL)


def _path_in(url: str) -> str:
    """Return the file path that `url` is or contains."""
    path = unquote(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else url
    memory = path in ("", ":memory:")
    if memory or (path is url and "://" in url) or (path is not url and "?" in url):
        what = (
            f"{_LEGAL}; what is to be kept in memory needs no url: ContextSession(...)"
            if memory
            else _LEGAL
        )
        raise InvalidOptionError("url", hide_secrets(url), what)
    return path
