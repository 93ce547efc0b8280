"""`polycontext receipts`, and `polycontext session undo` and `diff`."""

import json
from pathlib import Path

import pytest

from polycontext import ContextSession
from polycontext.polynomial.session.history import History
from tests.cli.command import Command, assistant, user
from tests.cli.session.conftest import Asked


@pytest.fixture
def compressed(small: Asked) -> Asked:
    """Return a session that was compressed once, with two messages since."""
    said = [
        each(f"{each.__name__} on wall {n}: " + "red " * 9)
        for n in range(7)
        for each in (user, assistant)
    ]
    small("append", stdin=json.dumps(said))
    small("compress", "--target", "0.1")
    small("append", stdin=json.dumps([user("And the door?"), assistant("Blue.")]))
    return small


def test_receipts_are_listed(compressed: Asked, polycontext: Command) -> None:
    """One a line for people, whole as JSON, and without the text of the conversation."""
    ran = polycontext("receipts", "list", "s")
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 2
    (receipt,) = polycontext("receipts", "list", "s", "--json").json()
    assert ran.out.splitlines()[1].startswith(receipt["id"])
    assert receipt["summariser"]["name"] == "extractive"
    assert "wall" not in json.dumps(receipt)


def test_a_check_finds_a_flipped_byte(compressed: Asked, polycontext: Command, store: Path) -> None:
    """It exits with 1 and names the compression."""
    assert polycontext("receipts", "check", "s").out == "1 compression: 1 same\n"
    assert polycontext("receipts", "check", "s", "--all").out.splitlines()[0].endswith(": same")
    # The store itself notices changed words; an export that somebody has edited does not.
    with ContextSession.open(store, "s") as session:
        lines = [line.replace("on wall 1:", "on wall l:") for line in session.history.export()]
    ContextSession.history.load(lines, store, "edited").close()
    ran = polycontext("receipts", "check", "edited")
    assert (ran.code, "differs: the view before it" in ran.out) == (1, True)
    (row,) = polycontext("receipts", "check", "edited", "--json").json()
    assert row["verdict"] == "differs"


def test_a_compression_is_undone_and_made_again(compressed: Asked) -> None:
    """What came back is told, and how to undo it."""
    ran = compressed("undo")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "to undo: polycontext session undo s"
    shown = compressed("messages").json()["messages"]
    assert len(shown) == 16
    again = compressed("undo", "--json").json()
    assert again["brought_back"]
    assert len(compressed("messages").json()["messages"]) < 16


def test_a_diff_shows_both_views(compressed: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Side by side, and as JSON with the receipt, without making all receipts."""
    monkeypatch.setattr(History, "receipts", None)
    ran = compressed("diff")
    assert "before: " in ran.out
    assert "[Summary of earlier messages]" in ran.out
    told = compressed("diff", "--json").json()
    ids = [[turn["id"] for turn in told[side]] for side in ("before", "after")]
    assert ids == [told["receipt"][side]["turns"] for side in ("before", "after")]
    key = told["receipt"]["id"]
    assert compressed("diff", key).out == ran.out
    wrong = compressed("diff", "c1")
    assert (wrong.code, key in wrong.err) == (2, True)


def test_a_session_without_compressions_says_so(small: Asked, polycontext: Command) -> None:
    """Nothing is listed, checked, shown or undone."""
    assert "never compressed" in polycontext("receipts", "list", "s").err
    assert polycontext("receipts", "check", "s").out == "0 compressions\n"
    assert "never compressed" in small("diff").err
    assert "Nothing to undo: no compression stands" in small("undo").err
