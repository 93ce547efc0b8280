"""Where stores are: the path of a file, or a URL; and how to speak of a URL that may hold a secret."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from polycontext.linearity import InvalidOptionError
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.polynomial.stores.sqlite import SQLiteStore

_SQLITE = "sqlite:///"
_LEGAL = 'the path of a SQLite file, "sqlite:///" with a path behind it, or a store with load and append'


def store_at(url: Any, timeout: float = 5.0) -> SessionStore:
    """Return the store at `url`: opened, or the store itself where it is one.

    Raises:
        InvalidOptionError: no store can be there; shows no secret of the URL.
        StoreError: it cannot be opened.

    >>> store_at("oracle://scott:tiger@host/db?token=1")
    Traceback (most recent call last):
    polycontext.linearity.errors.InvalidOptionError: url = 'oracle://***@host/db?***'; legal: the path of a SQLite file, "sqlite:///" with a path behind it, or a store with load and append
    """
    if isinstance(url, Path):
        return SQLiteStore(url, timeout=timeout)
    if isinstance(url, str):
        return SQLiteStore(_path_in(url), timeout=timeout)
    if callable(getattr(url, "load", None)) and callable(getattr(url, "append", None)):
        store: SessionStore = url
        return store
    raise InvalidOptionError("url", url, _LEGAL)


def shown(url: str) -> str:
    """Return `url` without what may be secret in it: who opens it by which password, and its options.

    >>> shown("postgresql://me:secret@host:5432/db?sslpassword=x"), shown("sessions.db")
    ('postgresql://***@host:5432/db?***', 'sessions.db')
    """
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    place, options, _ = rest.partition("?")
    user, at, host = place.rpartition("@")
    return scheme + mark + ("***@" if user or at else "") + host + ("?***" if options else "")


def _path_in(url: str) -> str:
    """Return the path of a file, of a text that is one or names one by a URL."""
    path = unquote(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else url
    memory = path in ("", ":memory:")
    if memory or (path is url and "://" in url) or (path is not url and "?" in url):
        what = f"{_LEGAL}; what is to be kept in memory needs no url: ContextSession(...)" if memory else _LEGAL
        raise InvalidOptionError("url", shown(url), what)
    return path
