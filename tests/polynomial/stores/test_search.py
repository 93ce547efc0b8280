"""Searching a log: what is found, in which order, and what is left of the words of who is gone."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import (
    Found,
    InMemoryStore,
    SQLiteStore,
    WordIndex,
    sqlite_index,
    word_index,
)
from polycontext.polynomial.stores.search_query import (
    MOST_TERMS,
    MOST_WORDS_A_PHRASE,
    SNIPPET,
    AskedWords,
)
from polycontext.postgresql import PostgreSQLStore
from polycontext.pressure.ranking import folded
from polycontext.testing import FAST
from polycontext.testing.strategies import ANY_TEXT
from polycontext.window import Role, ToolCall, Turn
from tests.polynomial.stores.files import change
from tests.postgresql.server import Server


@pytest.fixture(params=["in memory", "in a file"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ContextSession]:
    """Return a session that is searched by its log, or by its store."""
    store = (
        InMemoryStore() if request.param == "in memory" else SQLiteStore(tmp_path / "sessions.db")
    )
    yield ContextSession(2_000, counter=FAST, store=store, session_id="s")
    store.close()


def said(session: ContextSession, *texts: str) -> None:
    """Let the user say these."""
    session.extend([Turn("user", text) for text in texts])


def found(session: ContextSession, text: str, limit: int = 10) -> list[str]:
    """Return the snippets of what is found."""
    return [each.snippet for each in session.history.search(text, limit)]


def test_a_finding_says_who_said_what_and_can_be_recalled(session: ContextSession) -> None:
    """Its id, its role, a line of it, and a score."""
    said(
        session,
        "Where is my parcel?",
        *(f"filler {number} " + "word " * 60 for number in range(40)),
    )
    session.compress(0.1)
    (first,) = session.history.search("parcel")
    assert first == Found("t1", Role.USER, "Where is my parcel?", first.score)
    assert first.score > 0
    assert session.recall(first.resource_id).window.all_turns()


def test_who_says_more_of_it_comes_first_and_of_equals_the_newest(session: ContextSession) -> None:
    """Words weigh by how few turns say them; one of them is enough."""
    apart = ["sky", "sea", "sand", "stone", "grass"]
    said(session, "red apple", *apart, "red pear", *apart, "green apple", *apart, "red apple")
    assert found(session, "apple pear") == ["red pear", "red apple", "green apple", "red apple"]
    assert [each.resource_id for each in session.history.search("red apple", 3)] == [
        "t19",
        "t1",
        "t13",
    ]


def test_a_turn_among_turns_about_it_comes_before_one_that_stands_alone(
    session: ContextSession,
) -> None:
    """Neighbours count, but a turn without a word of the query is not found."""
    away = ["sky", "sea", "sand", "stone", "grass"]
    said(session, "a red door", *away, "Which wall?", "a red roof", "The red wall.", *away)
    assert found(session, "red") == ["The red wall.", "a red roof", "a red door"]


def test_phrases_in_quotes_must_be_there(session: ContextSession) -> None:
    """All of them, as they stand; words beside them only rank."""
    said(session, "night train to Vienna", "the train at night", "Vienna", "a night train to Graz")
    assert set(found(session, '"night train"')) == {
        "a night train to Graz",
        "night train to Vienna",
    }
    assert found(session, '"night train" Vienna')[0] == "night train to Vienna"
    assert len(found(session, '"night train" Vienna')) == 2
    assert found(session, '"night train" "to Graz"') == ["a night train to Graz"]
    assert found(session, '"night bus" Vienna') == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("trains", "a train"),
        ("planning", "We planned it."),
        ("party", "two parties"),
        ("快递", "我的快递在哪里"),
        ("我的快递在哪", "他说我的快递到了"),
        ("東京", "明日は東京へ行きます"),
        ("서울", "서울에서 만나요"),
        ("รถไฟ", "ฉันรอรถไฟอยู่"),
        ("हिन्दी", "वह हिन्दी बोलता है"),
        ("MUNCHEN", "Zug nach München"),
        ("naive", "a naïve question"),
        ("АНТОН", "позвони Антон завтра"),
        ("src/agent.py", "see src/agent.py, line 3"),
        ("QX7-2281", "the order is QX7-2281."),
        ("snake_case", "rename snake_case"),
        ("AI模型", "训练模型很慢"),
    ],
)
def test_words_of_any_language_are_found(session: ContextSession, query: str, text: str) -> None:
    """Words are compared by their stems; in quotes they stand as they were typed.

    A search finds words of any language, case and accent, and names from code.
    """
    said(session, "something else", text, "other things")
    assert found(session, query) == [text]
    assert found(session, f'"{query}"') == ([text] if folded(query) in folded(text) else [])


def test_a_phrase_without_spaces_is_found_as_it_stands(session: ContextSession) -> None:
    """Pairs of characters are what is asked for outside of quotes; inside it is the whole."""
    said(session, "快递我的", "我的快递")
    assert found(session, '"我的快递"') == ["我的快递"]
    assert len(found(session, "我的快递")) == 2


def test_calls_are_searched_and_gists_are_not(session: ContextSession) -> None:
    """A search finds calls, but not the text of gists."""
    said(session, *(f"wall {number} got the colour shade-{number}" for number in range(200)))
    session.add_assistant_turn(None, [ToolCall("c1", "read_file", '{"path": "paint.py"}')])
    (call,) = session.history.search("paint.py")
    assert (call.role, call.snippet) == (Role.ASSISTANT, 'read_file {"path": "paint.py"}')
    assert any(turn.sources for turn in session.window.all_turns())
    assert [each.resource_id for each in session.history.search('"shade-3"')] == ["t4"]


def test_a_session_finds_its_own_turns_and_not_those_of_a_writer_ahead(
    session: ContextSession,
) -> None:
    """A session finds its own turns, and not those of a writer ahead that it has not read yet."""
    said(session, "parcel one", "parcel two")
    ahead = ContextSession(2_000, counter=FAST, store=session._writer.store, session_id="s")
    said(ahead, *(f"parcel parcel {number}" for number in range(9)))
    assert sorted(found(session, "parcel", 2)) == ["parcel one", "parcel two"]
    assert len(found(ahead, "parcel", 20)) == 11


@given(
    text=ANY_TEXT | st.text(alphabet='ab"*()^:-+ANDORNEAR \0\ud800日本'), limit=st.integers(1, 3)
)
def test_any_text_is_a_search(text: str, limit: int) -> None:
    """No sign has a meaning that could be wrong, and what says nothing finds nothing."""
    session = ContextSession(100_000, counter=FAST)
    said(session, "a b AND OR NEAR 日本", "a", "b")
    results = session.history.search(text, limit)
    assert len(results) <= limit
    assert bool(results) <= any(map(str.isalnum, text))
    assert all(len(each.snippet) <= SNIPPET for each in results)


@given(before=ANY_TEXT, behind=ANY_TEXT)
def test_what_was_said_is_found_whatever_stands_beside_it(before: str, behind: str) -> None:
    """A word between any two others, and in the snippet it stands."""
    session = ContextSession(1_000_000, counter=FAST)
    try:
        said(session, f"{before} quittengelee {behind}")
    except Exception:  # noqa: BLE001 - no turn can say this
        return
    (only,) = session.history.search("Quittengelee")
    assert "quittengelee" in only.snippet
    assert len(only.snippet) <= SNIPPET


@pytest.mark.parametrize("piece", ["a/", "a.", "ab ", "快", "a-é/", 'a/"b c" '])
@pytest.mark.parametrize("quotes", ["", '"'])
def test_a_query_asks_for_few_words_however_long_it_is(
    session: ContextSession, piece: str, quotes: str
) -> None:
    """A query has a bounded number of stems, and a phrase of words, however long it is."""
    asked = AskedWords.of(
        f"{quotes}{piece * 50_000}{quotes} "
        + " ".join(f"{piece * number}{number}" for number in range(2, 500))
    )
    assert 0 < len(asked.stems) <= MOST_TERMS
    assert all(len(phrase.split()) <= MOST_WORDS_A_PHRASE for phrase in asked.phrases)
    said(session, piece * 40)
    assert found(session, piece * 20_000)


@pytest.mark.parametrize("word", ["हिन्दी", "e\u0301te\u0301", "كِتَاب"])
def test_a_long_phrase_is_cut_behind_a_word_whatever_its_script(
    session: ContextSession, word: str
) -> None:
    """A long phrase is cut between words, and never before a vowel sign or an accent."""
    said(session, " ".join([word] * 50))
    assert len(found(session, f'"{" ".join([word] * 50)}"')) == 1
    (phrase,) = AskedWords.of(f'"{" ".join([word] * 50)}"').phrases
    assert len(set(phrase.split())) == 1
    assert len(phrase.split()) == MOST_WORDS_A_PHRASE


@pytest.mark.parametrize(
    "text",
    [
        "x" * 3_000 + " needle " + "y" * 3_000,
        "needle " + "y " * 3_000,
        "é " * 1_000 + "needle",
        " needle ".center(3_000),
    ],
)
def test_a_snippet_shows_where_it_stands(session: ContextSession, text: str) -> None:
    """A long turn is cut around the word."""
    said(session, text)
    (snippet,) = found(session, "needle")
    assert "needle" in snippet
    assert len(snippet) <= SNIPPET
    assert "\n" not in snippet


@pytest.mark.parametrize(
    ("text", "limit"),
    [(None, 10), (5, 10), ("a", 0), ("a", 1_001), ("a", True), ("a", "3"), ("a", None)],
)
def test_what_is_no_search_is_refused(session: ContextSession, text: Any, limit: Any) -> None:
    """Text and a number of turns are what a search is made of."""
    said(session, "a")
    with pytest.raises(InvalidOptionError, match=r"text|limit"):
        session.history.search(text, limit)


def test_an_index_in_memory_begins_anew_for_another_log() -> None:
    """A log that does not go on from the one that was indexed shares no finding with it."""
    session, other = (ContextSession(2_000, counter=FAST) for _ in range(2))
    said(session, "one", "two", "three")
    said(other, "one", "four")
    assert found(session, "three") == ["three"]
    other._log_index = session._log_index
    assert found(other, "three two") == []
    assert found(other, "four") == ["four"]


# --- in a file ---------------------------------------------------------------------


def kept(path: Path, session_id: str = "s") -> ContextSession:
    """Return a session in a file."""
    return ContextSession.open(path, session_id, 100_000, counter=FAST)


def test_an_append_indexes_nothing(path: Path) -> None:
    """A file has no index before its first search, and then contains each word once.

    The index outlives its writer, and is brought up to date.
    """
    with kept(path) as session:
        said(session, *(f"quittengelee {number}" for number in range(300)))
        with session._writer.store._file.erasing():  # type: ignore[attr-defined]
            pass
        without = path.stat().st_size
        assert indexed(session) == []
        session.history.search("quittengelee")
        assert indexed(session) == [300]
        with session._writer.store._file.erasing():  # type: ignore[attr-defined]
            pass
        assert path.stat().st_size < 1.8 * without
    with kept(path) as session:
        said(session, "quittengelee")
        assert len(found(session, "quittengelee", 400)) == 301
        assert indexed(session) == [301]


def indexed(session: ContextSession) -> list[int]:
    """Return to which event each session with an index is indexed."""
    with session._writer.store._file.reading() as db:  # type: ignore[attr-defined]
        select = (
            "SELECT indexed FROM sessions WHERE EXISTS "
            "(SELECT 1 FROM words WHERE words.session = sessions.id)"
        )
        return [upto for (upto,) in db.execute(select).fetchall()]


def test_a_long_session_is_indexed_in_steps(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write between two of them; a step that fails is taken again."""
    monkeypatch.setattr(sqlite_index, "BATCH", 7)
    with kept(path) as session:
        said(session, *(f"parcel {number}" for number in range(50)))
        added = WordIndex.add
        monkeypatch.setattr(WordIndex, "add", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.history.search("parcel")
        monkeypatch.setattr(WordIndex, "add", added)
        assert len(found(session, "parcel", 100)) == 50


def test_a_frequent_word_is_looked_up_in_the_newest_turns(
    session: ContextSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rarer words, and phrases, are found in the whole log."""
    monkeypatch.setattr(word_index, "NEWEST", 20)
    session = ContextSession(100_000, counter=FAST, store=session._writer.store, session_id="long")
    said(session, "rare parcel", *(f"parcel {number}" for number in range(2_100)))
    snippets = found(session, "parcel", 1_000)
    assert len(snippets) == 20
    assert "parcel 2099" in snippets
    assert found(session, "rare parcel")[0] == "rare parcel"
    assert found(session, '"parcel 7"') == ["parcel 7"]


@pytest.mark.parametrize("undone", [0, 30, 1_500])
def test_turns_that_were_undone_do_not_count_as_uses(
    undone: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stood before, all stores find the same turns with the same scores."""
    monkeypatch.setattr(word_index, "NEWEST", 20)
    results = []
    for store in (InMemoryStore(), path):
        with ContextSession.open(store, "long", max_tokens=1_000_000, counter=FAST) as session:
            said(session, *["parcel old"] * undone)
            session.history.rewind(0)
            said(session, *(f"parcel {number % 7}" for number in range(1_200)))
            results.append(
                [(each.snippet, each.score) for each in session.history.search("parcel", 50)]
            )
    assert results[0] == results[1]
    assert len(results[0]) == 20
    assert results[0][0][1] < 0.1


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE words SET postings = x'010203'",
        "DELETE FROM words WHERE term = ''",
    ],
)
def test_an_index_that_is_damaged_is_made_anew(path: Path, damage: str) -> None:
    """It is derived: the words it was made of are there."""
    with kept(path) as session:
        said(session, *(f"parcel {number}" for number in range(50)))
        session.history.search("parcel")
    change(path, damage)
    with kept(path) as session:
        assert len(found(session, "parcel", 100)) == 50
        assert found(session, '"parcel 7"') == ["parcel 7"]


# --- in every store --------------------------------------------------------------------

WORDS = (
    *("red", "green", "walls", "painting", "painted", "trains", "a", "the", "is"),
    *("快递", "到了", "ümlaut", "src/paint.py", "PO-7781"),
)
QUERIES = (
    "red walls",
    "who painted the green wall",
    "the",
    "快递",
    "umlaut paint.py",
    '"the red"',
    '"painted a" trains',
    "PO-7781",
    '"red" "green"',
    "absent",
)


def lived(session: ContextSession, seed: int) -> list[tuple[Found, ...]]:
    """Live a conversation that is searched on its way, rewound and compressed; return all found."""
    drawn = Random(seed)  # noqa: S311 - no secret
    found: list[tuple[Found, ...]] = []
    passed: list[int] = []
    for step in range(60):
        passed.append(session.history.revision)
        text = " ".join(drawn.choices(WORDS, k=drawn.randint(1, 12)))
        match drawn.randrange(8):
            case 0:
                session.history.rewind(drawn.choice(passed))
            case 1 if session.log():
                session.add_assistant_turn(None, [ToolCall(f"c{step}", "paint", f'"{text}"')])
                session.add_tool_turn(text, tool_call_id=f"c{step}")
            case 2 if session.log():
                session.compress(0.1)
            case 3:
                found.append(session.history.search(drawn.choice(QUERIES), drawn.randint(1, 9)))
            case _:
                session.add_user_turn(text)
    return found + [session.history.search(query, limit) for query in QUERIES for limit in (3, 100)]


@pytest.mark.parametrize("seed", range(3))
def test_a_file_finds_what_memory_finds_in_the_same_order(path: Path, seed: int) -> None:
    """Turns, order and scores are the same, also after a session was rewound to what it undid."""
    with ContextSession.open(path, "s", 2_000, counter=FAST) as session:
        assert lived(session, seed) == lived(ContextSession(2_000, counter=FAST), seed)


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(3))
def test_a_server_finds_what_memory_finds_in_the_same_order(
    postgresql: Server, schema: str, seed: int
) -> None:
    """Turns, order and scores are the same, also after a session was rewound to what it undid."""
    with closing(PostgreSQLStore(postgresql.url, schema=schema)) as store:
        session = ContextSession(2_000, counter=FAST, store=store, session_id="s")
        assert lived(session, seed) == lived(ContextSession(2_000, counter=FAST), seed)
