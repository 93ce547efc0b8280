"""`polycontext session retain`, and that every command of the group is there and says what is wrong with its options."""

import json

import pytest

from tests.cli.command import Command, chat, user
from tests.cli.session.conftest import Asked

WORDS = (
    "new|append|show|context|messages|compress|recall|explain|search|rewind|fork|export|import|list|delete|forget|retain|close-open-calls"
)


@pytest.mark.parametrize("word", WORDS.split("|"))
def test_every_command_is_there(polycontext: Command, word: str) -> None:
    """Each tells what it is for, how it is used, and takes a store."""
    ran = polycontext("session", word, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"polycontext session {word} " in ran.out
    assert "--store" in ran.out
    assert "Examples" in ran.out


def test_no_command_is_left_out(polycontext: Command) -> None:
    """The help of the group lists those commands, and no other."""
    lines = polycontext("session", "--help").out.partition("Commands")[2].splitlines()
    assert sorted(line[2:].split()[0] for line in lines if line[:2] == "│ " and line[2:3].strip()) == sorted(WORDS.split("|"))


def test_old_words_expire_and_the_view_stays(small: Asked) -> None:
    """How many turns expired is told, once; what the model sees is what it was; the words are nowhere."""
    small("append", stdin=json.dumps([*chat(20), user("And now?")]))
    small("compress", "--target", "0")
    sent, revision = small("messages").out, small("show", "--json").json()["revision"]
    assert small("retain", "--days", "1e300", "--max-bytes", "1000000", "--json").json() == {
        "session": "s",
        "revision": revision,
        "expired": 0,
    }
    ran = small("retain", "--days", "0")
    gone = [turn["id"] for turn in small("show", "--json").json()["turns"] if turn["now"] == "expired"]
    assert gone
    assert ran.out == f"session s: revision {revision + 1}, expired: {len(gone)} turns\n"
    assert small("messages").out == sent
    assert small("search", "w2x19").code == 1
    assert small("retain", "--max-bytes", "0", "--json").json()["expired"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "--log", "--messages", "openai"), "--log and --messages; legal: one of them"),
        (("export", "--messages", "poet"), "'poet'"),
        (("import", "--session", ""), "session_id = ''"),
        (("import", "--from", "gone.jsonl"), "gone.jsonl: cannot be read"),
        (("import", "--from", "."), ".: cannot be read"),
        (("retain",), "neither --days nor --max-bytes"),
        (("retain", "--days", "-1"), "--days"),
        (("retain", "--days", "nan"), "days"),
        (("retain", "--max-bytes", "1.5"), "--max-bytes"),
        (("search",), "TEXT"),
        (("search", "x", "--limit", "0"), "--limit"),
        (("close-open-calls",), "REASON"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_named(small: Asked, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2 and one line that ends on the help of the command; the session is as it was."""
    ran = small(*arguments, stdin=small("export").out)
    assert (ran.code, ran.out, words in ran.complaint) == (2, "", True)
    assert ran.complaint.endswith(f"; see polycontext session {arguments[0]} --help")
    assert small("show", "--json").json()["revision"] == 0
