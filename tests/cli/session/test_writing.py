"""`polycontext session new`, `append`, `compress` and `recall` store input of any form once."""

import json
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextSession
from tests.cli.command import (
    Command,
    assistant,
    chat,
    result,
    saved,
    user,
)
from tests.cli.session.conftest import Asked

TEXT = [{"type": "text", "text": "Hello"}]
OUTPUT = [{"type": "output_text", "text": "Hello"}]


def log(store: Path, name: str = "s") -> list[str]:
    """Return what was said in a session, as a program reads it."""
    with ContextSession.open(store, name) as session:
        return [turn.text for turn in session.log()]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"choices": [{"index": 0, "message": user("a"), "finish_reason": "stop"}], "usage": {}},
            ["a"],
        ),
        (
            {
                "type": "message",
                "role": "assistant",
                "content": TEXT,
                "stop_reason": "end_turn",
            },
            ["Hello"],
        ),
        (
            {"output": [{"type": "message", "role": "assistant", "content": OUTPUT}]},
            ["Hello"],
        ),
    ],
    ids=["openai", "anthropic", "responses"],
)
def test_an_answer_goes_in_as_it_came(
    small: Asked, store: Path, data: Any, said: list[str]
) -> None:
    """The answer of each API is read from standard input; other shapes are in test_shapes."""
    assert small("append", stdin=json.dumps(data)).code == 0
    assert log(store)[-1:] == said


def test_a_tool_is_called_and_answered(small: Asked, store: Path) -> None:
    """An open call is listed and blocks `messages` until its result is appended."""
    waiting = small(
        "append", "--json", stdin=json.dumps([user("Look."), assistant(None, "c1")])
    ).json()
    assert waiting["open_calls"] == [{"id": "c1", "name": "look", "arguments": "{}"}]
    refused = small("messages")
    assert (refused.code, "unanswered-call" in refused.complaint) == (1, True)
    assert small("messages", "--allow-open").code == 0
    assert "waiting for the results of look (c1)" in small("show").out
    assert small("append", "--role", "tool", "--tool-call-id", "c1", "Found it.").code == 0
    assert small("messages").json()["messages"][-1] == result("c1", "Found it.")


def test_a_call_that_nobody_answers_any_more_is_closed(small: Asked, store: Path) -> None:
    """`--close-calls` answers open calls with a marked result that gives the reason.

    A repeat with its key, or without an open call, changes nothing.
    """
    small("append", stdin=json.dumps([user("Look."), assistant(None, "c1", "c2")]))
    assert small("append", "--role", "user", "Well?").code == 1
    assert small("append", "--close-calls", " ").code == 2
    assert small("append", "--close-calls", "it was stopped", "--expected-revision", "1").code == 1
    told = small(
        "append", "--close-calls", "it was stopped", "--idempotency-key", "k", "--json"
    ).json()
    assert (told["repaired"], told["open_calls"]) == (["t3", "t4"], [])
    for again in (("--idempotency-key", "k"), ()):
        assert (
            small("append", "--close-calls", "it was stopped", *again, "--json").json()["revision"]
            == told["revision"]
        )
    assert small("append", "--role", "user", "Well?").code == 0
    assert log(store) == ["Look.", "", *["[no result: it was stopped]"] * 2, "Well?"]


def test_what_is_said_again_with_its_key_is_done_once(ask: Asked, store: Path) -> None:
    """new, append, compress and recall with an idempotency key take effect once."""
    for _ in range(2):
        assert ask("new", "--max-tokens", "400", "--idempotency-key", "n").code == 0
        ask("append", "--idempotency-key", "a", stdin=json.dumps(chat(3)))
    assert len(log(store)) == 3
    first, second = (
        ask("compress", "--target", "0", "--idempotency-key", "c", "--json").json()
        for _ in range(2)
    )
    assert first["revision"] == second["revision"]
    assert (first["compression"] is None, second["compression"]) == (False, None)


def test_who_has_seen_another_revision_is_refused(small: Asked, store: Path) -> None:
    """`--expected-revision` lets nothing in that was made for another state of things."""
    assert small("append", "--role", "user", "a", "--expected-revision", "0").code == 0
    ran = small("append", "--role", "user", "b", "--expected-revision", "0")
    assert (ran.code, ran.complaint) == (
        1,
        "session revision: expected 0, found 1. Repeat the change on the current state.",
    )
    assert small("compress", "--expected-revision", "7").code == 1
    assert log(store) == ["a"]


def test_what_was_summarised_is_brought_back(ask: Asked) -> None:
    """Compressing shortens what is old, recalling brings a turn back word for word."""
    ask("new", "--max-tokens", "2000")
    ask("append", stdin=json.dumps(chat(12, 30)))
    did = ask("compress", "--target", "0.2", "--query", "w3x4", "--json").json()["compression"]
    assert did["gisted"]
    assert (
        any("Fact 2: w2x0 w2x1" in str(message) for message in ask("messages").json()["messages"])
        is False
    )
    assert all(each.startswith("t") for each in did["gisted"])
    assert ask("recall", did["gisted"][0]).out.endswith(f"restored: {did['gisted'][0]}\n")
    assert ask("recall", "t99").complaint.startswith("there is no turn or resource 't99'")


def test_what_the_window_is_need_be_said_once(ask: Asked, store: Path) -> None:
    """The session keeps the window of `new`, and of later writes, but not of reads."""
    ask("new", "--max-tokens", "400", "--reserve", "50", "--format", "anthropic")
    assert ask("append", "--role", "user", "Hi", "--json").json()["max_tokens"] == 350
    assert "of 950 tokens" in ask("show", "--max-tokens", "1000").out
    assert ask("show", "--json").json()["max_tokens"] == 350
    assert (
        ask("append", "--role", "assistant", "Ho", "--max-tokens", "1000", "--json").json()[
            "max_tokens"
        ]
        == 950
    )
    assert ask("show", "--json").json()["max_tokens"] == 950
    assert ask("messages").json()["messages"][0]["content"] == [{"type": "text", "text": "Hi"}]
    assert ask("compress", "--model", "gpt-5", "--json").json()["max_tokens"] > 100_000
    assert "input" not in ask("messages").json()


def test_a_session_of_a_program_is_not_shrunk_unasked(ask: Asked, store: Path) -> None:
    """A window size is required for a session that no command created."""
    with ContextSession.open(store, "s", max_tokens=100_000) as session:
        session.extend(chat(200))
        tokens = session.window.total_tokens
    for command in (
        ("append", "--role", "user", "x"),
        ("compress",),
        ("show",),
        ("messages",),
        ("recall", "t1"),
    ):
        ran = ask(*command)
        assert ran.code == 2
        assert "session 's' was not made by this program" in ran.complaint
        assert "Pass --max-tokens or --model." in ran.complaint
    assert ask("explain", "t1").code == 0
    assert ask("show", "--max-tokens", "100000", "--json").json()["tokens"] == tokens


def test_an_id_that_is_there_is_not_made_anew(small: Asked, store: Path) -> None:
    """`new` refuses an id that a session has, and a mistake in its options makes no file."""
    ran = small("new")
    assert (ran.code, ran.complaint) == (
        1,
        "session 's' already exists. Choose another name.",
    )
    other = store.with_name("other.db")
    for options in (
        ("--model", "gpt5"),
        ("--max-tokens", "9", "--reserve", "9"),
    ):
        assert small("new", "--store", other, *options).code in (1, 2)
    assert small("new", "--store", other, of="").code == 2
    assert not other.exists()


def test_sessions_are_kept_in_the_folder_of_data(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its place is told once, when the first session is made; before that, nothing is there."""
    monkeypatch.delenv("POLYCONTEXT_STORE", raising=False)
    monkeypatch.setattr("polycontext.cli.options.sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    file = tmp_path / "polycontext" / "sessions.db"
    assert polycontext("session", "list").complaint.startswith("there are no sessions yet. Use ")
    assert not file.parent.exists()
    assert f"sessions are kept in {file}; --store and" in polycontext("session", "new", "s").err
    assert file.exists()
    assert polycontext("session", "new", "t").err == ""


def test_the_beginning_of_a_name_is_enough(polycontext: Command, tmp_path: Path) -> None:
    """Output has the whole name; a beginning of several names, or of none, is refused."""
    store = ("--store", tmp_path / "a.db")
    for name in ("trip-to-vienna", "trip-home", "work"):
        polycontext("session", "new", name, "--max-tokens", "500", *store)
    ran = polycontext("session", "append", "trip-t", "Where to?", *store)
    assert (ran.code, ran.out.startswith("session trip-to-vienna: ")) == (0, True)
    ran = polycontext("session", "show", "trip", *store)
    assert (ran.code, "several sessions: trip-home, trip-to-vienna." in ran.complaint) == (1, True)
    ran = polycontext("session", "show", "wrok", *store)
    assert (ran.code, "Did you mean 'work'?" in ran.complaint) == (1, True)
    assert polycontext("session", "delete", "wo", "--yes", *store).err.endswith("session work\n")


def test_a_text_alone_is_what_the_user_says(polycontext: Command, tmp_path: Path) -> None:
    """A file of that name, or ``-``, is read instead."""
    store = ("--store", tmp_path / "a.db")
    polycontext("session", "new", "s", "--max-tokens", "500", *store)
    (file := tmp_path / "more.json").write_text(json.dumps([assistant("Hi."), user("Bye.")]))
    for given in ("Hello!", file):
        assert polycontext("session", "append", "s", given, *store).code == 0
    assert polycontext("session", "append", "s", "-", *store, stdin='{"role":"user"}').code == 2
    printed = polycontext("session", "messages", "s", *store).json()["messages"]
    assert [each["role"] for each in printed] == ["user", "assistant", "user"]


@pytest.mark.parametrize("guard", [("--expected-revision", "0"), ("--idempotency-key", "k")])
@pytest.mark.parametrize("twice", [("--root", "."), ("--close-calls", "it was stopped")])
def test_what_writes_more_than_once_takes_no_guard(
    small: Asked, guard: tuple[str, str], twice: tuple[str, str]
) -> None:
    """A key that held for a part of it would let the rest be done again: nothing is added."""
    ran = small("append", "--role", "user", "Hello", *twice, *guard)
    assert (ran.code, "Leave out --expected-revision and --idempotency-key" in ran.complaint) == (
        2,
        True,
    )
    assert small("show", "--json").json()["revision"] == 0


def test_a_file_in_the_place_of_a_text_is_read_or_told(
    small: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt file of messages is no text, and a file that holds none says how to attach it."""
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "notes.md", "# Notes")
    assert "mesages.json: cannot be read: no such file" in small("append", "mesages.json").complaint
    ran = small("append", "notes.md")
    assert "To attach it, use --root . '[@notes.md]'; to say it, --role user." in ran.complaint
    assert small("show", "--json").json()["revision"] == 0
    assert small("append", "--role", "user", "mesages.json").code == 0


def test_a_text_is_read_from_a_file_or_standard_input(
    small: Asked, store: Path, tmp_path: Path
) -> None:
    """Without its last line end; what is blank or no text is refused."""
    file = saved(tmp_path, "b.txt", "b\nc\n")
    assert small("append", "--role", "user", stdin="a\r\n").code == 0
    assert small("append", "--role", "assistant", "--from", file).code == 0
    assert log(store) == ["a", "b\nc"]
    for data in (b"\n", b"\xff"):
        ran = small("append", "--role", "user", stdin=data)
        assert (ran.code, "<stdin>: " in ran.complaint) == (2, True)
