"""`polycontext session forget` by age."""

import json

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
