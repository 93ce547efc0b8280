"""`polycontext session forget` by age, and its errors."""

import json

import pytest

from tests.cli.command import chat, user
from tests.cli.session.conftest import Asked


def test_old_words_expire_and_the_view_stays(small: Asked) -> None:
    """Expired turns are counted once and erased everywhere, while the view stays the same."""
    small("append", stdin=json.dumps([*chat(20), user("And now?")]))
    small("compress", "--target", "0")
    sent, revision = small("messages").out, small("show", "--json").json()["revision"]
    assert small(
        "forget", "--older-than", "1e300", "--max-bytes", "1000000", "--yes", "--json"
    ).json() == {
        "session": "s",
        "revision": revision,
        "expired": 0,
    }
    ran = small("forget", "--older-than", "0", "--yes")
    gone = [
        turn["id"] for turn in small("show", "--json").json()["turns"] if turn["now"] == "expired"
    ]
    assert gone
    assert ran.out == f"session s: revision {revision + 1}, erased: {len(gone)} messages\n"
    assert small("messages").out == sent
    assert small("search", "w2x19").code == 1
    assert small("forget", "--max-bytes", "0", "--yes", "--json").json()["expired"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("forget",), "nothing to forget was given"),
        (("forget", "t1", "--older-than", "1"), "nothing to forget was given"),
        (
            ("forget", "t1"),
            "this cannot be undone, and there is no terminal to confirm on. Add --yes.",
        ),
        (("forget", "--older-than", "nan", "--yes"), "Invalid value for --older-than: nan. Use"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_named(small: Asked, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2 and one line ; the session is as it was."""
    ran = small(*arguments, stdin=small("export").out)
    assert (ran.code, ran.out, words in ran.complaint) == (2, "", True)
    assert small("show", "--json").json()["revision"] == 0
