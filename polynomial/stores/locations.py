"""The locations of stores: the path of a file, or a URL."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from polycontext.base import InvalidOptionError

from .session_store import SessionStore, hide_secrets
from .sqlite import SQLiteStore

_SQLITE = "sqlite:///"
_GROUP = "polycontext.stores"
"""The entry points of stores that are opened by the scheme of their URL, such as `postgresql`."""
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
    polycontext.errors.InvalidOptionError: url = 'oracle://***@host/db?***'. Use the \
path of a SQLite file, "sqlite:///" with a path behind it, "postgresql://" with a server behind \
it, or a store with load and append.
    """
    if isinstance(url, Path):
        return SQLiteStore(url, timeout=timeout, create=create)
    if isinstance(url, str):
        scheme, found, _ = url.partition("://")
        for guest in entry_points(group=_GROUP, name=scheme.split("+")[0]) if found else ():
            opened: SessionStore = guest.load()(url, timeout=timeout)
            return opened
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
