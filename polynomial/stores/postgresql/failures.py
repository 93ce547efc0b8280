"""What PostgreSQL and its driver say, in our words, and without what may be secret in it."""

import re
from typing import Any
from urllib.parse import quote, quote_plus

from attrs import frozen
from psycopg import OperationalError
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from polycontext.linearity import InvalidOptionError

from ...errors import StoreBusyError, StoreError
from ..session_store import shown

_SCHEMES = ("postgresql", "postgresql+psycopg")
_URL = "postgresql://user:password@host:5432/database"

_LOCKED = "55P03"
_UNANSWERED = ("08007", "40003")
"""The transaction ended, and nobody knows how."""

_PASSING = ("40001", "40P01", "53300", "57P01", "57P02", "57P03", "57P05", *_UNANSWERED)
"""Of others at the same time, or of a server that comes and goes (https://www.postgresql.org/docs/current/errcodes-appendix.html)."""

_COMING = ("the database system is", "too many", "remaining connection slots", "terminating connection")
"""What a server says that will let us in later; of a connection that was refused nobody is told the code."""

_SHORT = 3
"""Letters of which no secret is made."""

_OTHER_TABLES = ("the tables in its schema are not those of a store", "a schema of its own")
_PROBLEMS = {
    "22P05": ("the encoding of the database has no place for a character", "a database with the encoding UTF8"),
    "25006": ("the server is read-only", "the server that the others follow"),
    "42501": ("the user may not do this", "a user who may make a schema in the database, or a schema that belongs to the user"),
    "42703": _OTHER_TABLES,
    "42P01": _OTHER_TABLES,
    "42P07": _OTHER_TABLES,
    "42P06": _OTHER_TABLES,
    "53100": ("the server's disk is full", "making room, and saying it again"),
    _LOCKED: ("another writer held the session for too long", "saying it again, or a longer timeout"),
}
_LOST = ("the connection was lost, or there was none", "a server that can be reached")
_REFUSED = ("it was refused", "what is said there")


@frozen
class Failure:
    """Hold what went wrong: the code of the server, if it gave one, what it said, and whether the connection is gone."""

    code: str | None
    said: str
    lost: bool

    @classmethod
    def of(cls, error: DBAPIError, url: URL) -> "Failure":
        """Return what a driver's error tells, but for the secrets of `url`."""
        driver: Any = error.orig
        code = getattr(driver, "sqlstate", None)
        told = (getattr(driver.diag, "message_primary", None) if code else None) or str(driver)
        # Without a code it is about the connection; what cannot pass is told as FATAL by the server, in most of its languages.
        refused = "FATAL" in told and not any(words in told for words in _COMING)
        none = code is None and isinstance(driver, OperationalError) and not refused
        return cls(code, _without_secrets(told.strip().partition("\n")[0], url), error.connection_invalidated or none)

    @property
    def passing(self) -> bool:
        """Tell whether the same may succeed a moment later."""
        return self.code in _PASSING if self.code else self.lost

    @property
    def unanswered(self) -> bool:
        """Tell whether a commit that ended so may have happened."""
        return self.lost or self.code in _UNANSWERED

    def explained(self, store: str, *, unknown: bool) -> StoreError:
        """Return the error that says it in words; `unknown` where it may have been stored all the same."""
        problem, legal = _PROBLEMS.get(self.code or "", _LOST if self.lost else _REFUSED)
        if unknown:
            problem, legal = f"{problem}; it is not known whether this was stored", "saying it again with the same idempotency_key"
        kind = StoreBusyError if self.code == _LOCKED else StoreError
        return kind(store, f"{problem} ({self.said})", legal)


def parsed(url: str) -> URL:
    """Return a URL of a server with the driver that is used here; raise `InvalidOptionError`, without its secrets, for what is none."""
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        found = None
    if found is None or found.drivername not in _SCHEMES:
        raise InvalidOptionError("url", shown(url), _URL)
    return found.set(drivername=_SCHEMES[1])


def _without_secrets(text: str, url: URL) -> str:
    """Return what a driver said without the password, the user, and the options of the URL."""
    options = [word for name, value in url.query.items() for word in (name, *((value,) if isinstance(value, str) else value))]
    # What is called `options` holds settings, of which one may be told.
    options += [piece for word in options for piece in re.split(r"[\s=]+", word) if len(piece) > _SHORT]
    secrets = [(url.password, "{}"), *((word, r"(?<!\w){}(?!\w)") for word in (url.username, *options))]
    for secret, pattern in secrets:
        for form in {secret, quote(secret, safe=""), quote_plus(secret)} if secret else ():
            text = re.sub(pattern.format(re.escape(form)), "***", text)
    return text
