"""Search the log of a session: where it is kept, or in memory where its store cannot search (docs/search.md)."""

import sqlite3
from operator import is_
from threading import Lock

from polycontext.linearity import InvalidOptionError
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.polynomial.journal.log import Log
from polycontext.polynomial.stores.asked_words import AskedWords, found_in
from polycontext.polynomial.stores.session_store import Found, SearchableStore
from polycontext.polynomial.stores.word_index import WordIndex

MOST_FOUND = 1_000
"""Turns that one search returns, at most."""


def check_search(text: object, limit: object) -> None:
    """Raise `InvalidOptionError` for what is no text to look for, or no number of turns to return."""
    if not isinstance(text, str):
        raise InvalidOptionError("text", text, "the words to look for")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_FOUND:
        raise InvalidOptionError("limit", limit, f"a whole number of turns, 1..{MOST_FOUND}")


def found_in_store(store: SearchableStore, session_id: str, conversation: Conversation, text: str, limit: int) -> tuple[Found, ...]:
    """Return the best turns of `conversation`: a store may have turns that are not of it, as another writer's newest are."""
    ask = limit
    while True:
        found = store.search(session_id, text, ask)
        known = tuple(each for each in found if each.resource_id in conversation.window.linearity)
        if len(known) >= limit or len(found) < ask:
            return known[:limit]
        ask *= 2


class LogIndex:
    """Index a log in memory: made when it is first searched, and brought up to date at each further search; safe under threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._index: WordIndex | None = None
        self._log = Log()

    def search(self, log: Log, text: str, limit: int) -> tuple[Found, ...]:
        """Return the turns of `log` that say what `text` asks for, best first."""
        asked = AskedWords.of(text)
        with self._lock:
            hits = self._up_to_date(log).find(asked, limit)
        return tuple(found_in(log[number - 1], asked, score) for number, score in hits)

    def _up_to_date(self, log: Log) -> WordIndex:
        index, known = self._index, len(self._log)
        # Going back and forgetting change what was known: every turn is looked at, which is far cheaper than what a search costs.
        if index is None or known > len(log) or not all(map(is_, self._log, log)):
            index, known = WordIndex(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False), "words"), 0
            index.make()
        self._index = None  # one that stops half-way is not gone on with
        with index.db:
            index.db.execute("BEGIN")
            index.add(enumerate(log[known:], known + 1))
        self._index, self._log = index, log
        return index
