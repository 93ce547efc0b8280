"""`polycontext session rewind` and `fork`, and `--at`: earlier states of a session."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from polycontext import ContextSession
from tests.cli.session.conftest import Asked


def said(ask: Asked, *options: str, of: str = "s") -> list[str]:
    """Return what a model would be sent."""
    return [message["content"] for message in ask("messages", *options, of=of).json()["messages"]]


def test_a_rewind_goes_back_and_can_be_undone(four: Asked) -> None:
    """Back to a turn, and by the revision that was told, forward again: all four stand."""
    ran = four("rewind", "t2")
    assert "removed: t3, t4" in ran.out
    assert said(four) == ["a", "b"]
    assert ran.out.splitlines()[-1] == "to undo: polycontext session rewind s 4"
    undone = four("rewind", "4", "--json").json()
    assert (undone["brought_back"], undone["taken_back"]) == (["t3", "t4"], [])
    assert said(four) == ["a", "b", "c", "d"]


def test_messages_are_counted_back(four: Asked) -> None:
    """`--back` takes back the given number of messages, or all if there are fewer."""
    assert "removed: t3, t4" in four("rewind", "--back", "2").out
    assert said(four) == ["a", "b"]
    assert four("rewind", "--back", "9", "--json").json()["taken_back"] == ["t1", "t2"]
    assert four("show", "--json").json()["turns"] == []


def test_an_answer_is_made_anew(four: Asked) -> None:
    """`--regenerate` rewinds to the last user message, and a second call changes nothing."""
    assert "removed: t4" in four("rewind", "--regenerate").out
    assert said(four) == ["a", "b", "c"]
    assert "to undo" not in four("rewind", "--regenerate").out or said(four) == ["a", "b", "c"]


def test_a_session_is_seen_as_it_stood(four: Asked) -> None:
    """`show` and `messages` accept a revision, a time or a turn id, and change nothing."""
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for moment, what in (("2", ["a", "b"]), ("t1", ["a"]), (later, ["a", "b", "c", "d"])):
        assert said(four, "--at", moment) == what
        assert [turn["id"] for turn in four("show", "--json", "--at", moment).json()["turns"]] == [
            f"t{n}" for n in range(1, len(what) + 1)
        ]
    assert "session s: revision 2, " in four("show", "--at", "2").out
    assert four("show", "--json").json()["revision"] == 4


def test_a_fork_goes_its_own_way(four: Asked, store: Path) -> None:
    """A fork has the turns and the window of its source, and the two do not share additions."""
    assert four("fork", "other").out == "session other: revision 4, forked from s\n"
    assert four("fork", "early", "--at", "t2", "--json").json() == {
        "session": "early",
        "forked_from": "s",
        "revision": 2,
    }
    assert four("append", "--role", "user", "e", "--json", of="early").json()["max_tokens"] == 400
    assert said(four, of="early") == ["a", "b", "e"]
    assert said(four) == said(four, of="other") == ["a", "b", "c", "d"]
    assert ContextSession.history.list_sessions(store) == ("early", "other", "s")
    again = four("fork", "other")
    assert (again.code, again.complaint.startswith("")) == (1, True)
