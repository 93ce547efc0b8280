"""Searching by meaning: an embedder's ranking beside the one by words."""

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from polycontext.base import InvalidOptionError, MissingExtraError, is_installed
from polycontext.models import WordLlamaEmbedder
from polycontext.polynomial import ContextSession
from polycontext.testing import FAST
from polycontext.window import ToolCall

MEANINGS = {"parcel": "goods", "delivery": "goods", "rain": "weather", "storm": "weather"}


class Thesaurus:
    """Compare texts by the meanings of their words, and keep what was embedded."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the meanings in each text."""
        self.embedded += texts
        return [
            {MEANINGS[word] for word in text.lower().split() if word in MEANINGS} for text in texts
        ]

    def compare(self, vectors: Sequence[Any], query: str) -> Sequence[float]:
        """Return how many meanings each shares with the query."""
        asked = {MEANINGS[word] for word in query.lower().split() if word in MEANINGS}
        return [len(asked & vector) for vector in vectors]


def told(embedder: Any) -> ContextSession:
    """Return a session with three turns apart."""
    session = ContextSession(8_000, counter=FAST, embedder=embedder)
    for text in ("my parcel", "one", "two", "three", "a storm", "four", "five", "six", "green tea"):
        session.add_user_turn(text)
    return session


def found(session: ContextSession, text: str, limit: int = 10) -> list[str]:
    """Return the snippets of what is found."""
    return [each.snippet for each in session.history.search(text, limit)]


def test_a_turn_of_similar_meaning_is_found_beside_turns_with_the_words() -> None:
    """Without an embedder it is not found."""
    assert found(told(None), "delivery of tea") == ["green tea"]
    assert {*found(told(Thesaurus()), "delivery of tea", 2)} == {"my parcel", "green tea"}
    assert found(told(Thesaurus()), "rain", 1) == ["a storm"]


def test_what_is_quoted_must_be_said() -> None:
    """A phrase is searched by words alone, and a query without words finds nothing."""
    assert found(told(Thesaurus()), '"delivery"') == found(told(Thesaurus()), " -- ") == []


def test_each_text_is_embedded_once_and_a_forgotten_one_is_not_kept() -> None:
    """Later searches embed what is new."""
    embedder = Thesaurus()
    session = told(embedder)
    for _ in range(2):
        found(session, "rain")
    assert len(embedder.embedded) == 9
    session.add_user_turn("another storm")
    session.history.forget(session.log()[0].resource_id)
    assert found(session, "rain", 2) == ["another storm", "a storm"]
    assert embedder.embedded.count("another storm") == 1
    assert "my parcel" not in repr(vars(session._embeddings)["_vectors"])


def test_calls_and_copies_are_searched_too() -> None:
    """A copy has the embedder of the original."""
    session = told(Thesaurus())
    session.add_assistant_turn(None, [ToolCall("c1", "track", "the parcel 7")])
    session.add_tool_turn("late", tool_call_id="c1")
    for again in (session, copy.deepcopy(session), pickle.loads(pickle.dumps(session))):  # noqa: S301 - ours
        assert len(found(again, "delivery", 3)) == 3


@pytest.mark.parametrize("method", ["embed", "compare"])
def test_an_embedder_returns_something_for_each_text(method: str) -> None:
    """The error names the method that does not."""
    embedder = Thesaurus()
    setattr(embedder, method, lambda texts, *_: [{"goods"}] if method == "embed" else [0.5])
    with pytest.raises(InvalidOptionError, match=rf"embedder\.{method}.*one for each text"):
        found(told(embedder), "delivery")


@pytest.mark.skipif(is_installed("wordllama"), reason="the extra `semantic` is installed")
def test_without_the_extra_the_error_names_it() -> None:
    """It is raised when the embedder is made, not at the first search."""
    with pytest.raises(MissingExtraError, match=r"needs wordllama.*\[semantic\]"):
        WordLlamaEmbedder()


@pytest.mark.skipif(not is_installed("wordllama"), reason="the extra `semantic` is not installed")
def test_the_weights_of_the_wheel_find_other_words() -> None:
    """No network is used; an empty text is no similar one."""
    session = ContextSession(8_000, counter=FAST, embedder=WordLlamaEmbedder())
    for text in ("The dog sleeps in its basket.", "We bought a car.", "", "It rains in Vienna."):
        session.add_user_turn(text or " ")
    assert found(session, "automobile purchase", 1) == ["We bought a car."]
