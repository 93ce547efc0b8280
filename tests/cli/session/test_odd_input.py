"""Invalid input gives one line with its type and a hint, and an exit code that scripts can test.

Nothing is changed, and nothing leaks.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polycontext.polynomial.stores import SQLiteStore
from tests.cli.command import Command, user
from tests.cli.session.conftest import Asked

COMMANDS = (
    ("append", "--role", "user", "x"),
    ("delete", "--yes"),
    ("export",),
    ("fork", "t"),
    ("forget", "t1", "--yes"),
)


USAGE: tuple[tuple[tuple[str, ...], int, str], ...] = (
    (("append", "--tool-call-id", "c1"), 2, "--tool-call-id needs a result"),
    (("append", "--role", "tool", "x"), 2, "--role tool and --tool-call-id go together"),
    (
        ("append", "--role", "user", "--tool-call-id", "c", "x"),
        2,
        "--role tool and --tool-call-id go together",
    ),
    (("append", "--role", "user", "x", "--from", "y"), 2, "there is a text and --from"),
    (("append", "--role", "assistant", "--root", ".", "x"), 2, "--root needs a user's text"),
    (("append", "--role", "user", "x", "--idempotency-key", ""), 2, "-key: ''. Use a text"),
    (("append", "--role", "user", "x", "--model", "gpt5"), 2, "unknown model 'gpt5'"),
    (("messages", "--body", "{"), 2, "--body is not JSON"),
    (("messages", "--body", "[]"), 2, "--body is not an object"),
    (
        ("messages", "--body", '{"messages": []}'),
        2,
        "--body has messages, which the session sets",
    ),
    (
        ("show", "--store", "oracle://scott:tiger@host/db?token=1"),
        2,
        "Invalid value for --store: 'oracle://***@host/db?***'. Use the path of a SQLite file",
    ),
    (("forget",), 2, "nothing to forget was given"),
    (("forget", "t1", "--older-than", "1"), 2, "nothing to forget was given"),
    (
        ("forget", "t1"),
        2,
        "this cannot be undone, and there is no terminal to confirm on. Add --yes.",
    ),
    (("forget", "--older-than", "nan", "--yes"), 2, "Invalid value for --older-than: nan. Use"),
    (("rewind",), 2, "Pass MOMENT, --back or --regenerate."),
    (
        ("rewind", "99"),
        2,
        "Use a revision from 0 to 4, a time with its zone such as 2026-11-23T10:00Z, or the id",
    ),
    (
        ("rewind", "2026-11-23T10:00"),
        2,
        "2026-11-23T10:00 has no time zone. Write 2026-11-23T10:00Z for UTC",
    ),
    (("rewind", "t9"), 1, "'t9' is not a moment of the session. Use a revision such as 7"),
    (("show", "--at", "yesterday"), 1, "a time such as 2026-11-23T10:00Z"),
    (("show", "--at", "99"), 2, "Invalid value for --at: 99. Use a revision from 0 to 4"),
    (("fork", ""), 2, "Invalid value for NEW: ''. Use a text"),
)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    USAGE,
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_named(four: Asked, arguments: tuple[str, ...], code: int, words: str) -> None:
    """One line names the option and shows no secret; the session is as it was."""
    before = four("export").out
    ran = four(*arguments, stdin="yes\n")
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.complaint
    assert "tiger" not in ran.err
    assert "token=1" not in ran.err
    assert four("export").out == before


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_session_that_is_not_there_is_refused(
    small: Asked, store: Path, command: tuple[str, ...]
) -> None:
    """A mistyped id is no new session; those like it are named."""
    ran = small(*command, of="ss")
    assert (ran.code, ran.out) == (1, "")
    assert (
        ran.complaint
        == "unknown session 'ss'. Did you mean 's'? Use s. To create it: polycontext session new ss"
    )
    assert SQLiteStore(store).list_sessions() == ("s",)


@pytest.mark.parametrize("command", [*COMMANDS, ("list",)], ids=lambda command: command[0])
def test_a_mistyped_path_makes_no_file(
    polycontext: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Only `new` and `import` create a store; other commands report that there is none."""
    word, *more = command
    name = () if word == "list" else ("s",)
    for store in (tmp_path / "gone" / "chat.db", f"sqlite:///{tmp_path}/chat.bd"):
        ran = polycontext("session", word, *name, *more, "--store", store)
        assert (ran.code, ran.out) == (1, "")
        assert "no such file. Pass the path of a file that holds sessions" in ran.complaint
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_another_process_keeps_is_busy(small: Asked, store: Path) -> None:
    """Beside a process that only has it open, a command works; one that writes is waited for."""
    code = (
        "import sys; from polycontext.polynomial.stores import SQLiteStore; held = "
        "SQLiteStore(sys.argv[1]); print(1, flush=True); sys.stdin.readline();\n"
        "with held.alone(): print(2, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        assert small("append", "--role", "user", "x").code == 0
        holder.stdin.write(b"\n")
        holder.stdin.flush()
        holder.stdout.readline()
        ran = small("append", "--role", "user", "x", "--timeout", "0.1")
        assert ran.code == 1
        assert "others wrote to it for more than the 0.1 seconds waited" in ran.complaint
        holder.communicate()
    assert small("append", "--role", "user", "x").code == 0


def test_a_deleted_session_is_gone(small: Asked, polycontext: Command, store: Path) -> None:
    """`delete` removes one session, and a second time fails."""
    small("new", of="other")
    small("append", "--role", "user", "the launch code is sesame")
    assert [row["session"] for row in polycontext("session", "list", "--json").json()] == [
        "other",
        "s",
    ]
    assert small("delete", "--yes", "--json").json() == {"session": "s", "deleted": True}
    assert small("delete", "--yes").code == 1
    assert [row["session"] for row in polycontext("session", "list", "--json").json()] == ["other"]
    assert b"sesame" not in b"".join(path.read_bytes() for path in store.parent.iterdir())
    assert "deleted session other" in small("delete", "--yes", of="other").err


def test_forgotten_words_are_nowhere(small: Asked, store: Path) -> None:
    """`forget` erases a turn's words from the session, its forks and the file.

    An unknown id changes nothing.
    """
    small(
        "append",
        stdin=json.dumps(
            [
                user("Open up."),
                {"role": "assistant", "content": "the launch code is sesame"},
                user("Thanks."),
            ]
        ),
    )
    small("fork", "other")
    refused = small("forget", "t2", "t9", "--yes")
    assert (refused.code, refused.complaint.startswith("there is no turn or resource 't9'")) == (
        1,
        True,
    )
    assert small("explain", "t2", "--json").json()["content"] == "the launch code is sesame"
    assert "forgotten: t2" in small("forget", "t2", "--yes").out
    assert small("forget", "t2", "--yes", "--json").json()["forgotten"] == []
    page = small("show").out
    assert "permanently erased" in page
    assert "\nforgotten  t2 (" in page
    assert small("show", "--json").json()["turns"][1]["now"] == "forgotten"
    assert "sesame" not in small("messages").out + small("messages", of="other").out
    assert b"sesame" not in b"".join(path.read_bytes() for path in store.parent.iterdir())


def test_another_program_may_keep_something_there(small: Asked, store: Path) -> None:
    """A companion of that name that no command has written is refused in words."""
    kept = SQLiteStore(store)
    kept.append("s", 0, [], {"command-line": '{"colour": "red"}'})
    kept.close()
    ran = small("show")
    assert (ran.code, "companion 'command-line'" in ran.complaint) == (2, True)


def test_an_empty_name_deletes_nothing(small: Asked, polycontext: Command, store: Path) -> None:
    """As an empty variable of a script gives it."""
    small("new", of="trip")
    ran = polycontext("session", "delete", "", "--yes", "--store", store)
    assert (ran.code, "no session was given" in ran.err) == (2, True)
    assert "trip" in polycontext("session", "list", "--store", store).out


@pytest.mark.parametrize(
    "name", ["a NoneType", "int is not t1", "raise max_tokens", "(see session.rules)"]
)
def test_a_users_own_words_stay_as_they_are(small: Asked, name: str) -> None:
    """An error says them as they are; a suggested command can be pasted."""
    shown = small("show", of=name)
    assert f"unknown session '{name}'" in shown.complaint
    assert shown.complaint.endswith(f"polycontext session new '{name}'")
    forgotten = small("forget", name, "--yes")
    assert f"{name!r}. Use an id that polycontext session show lists." in forgotten.complaint
    small("append", "--role", "user", "Hello.")
    result = small("append", "--role", "tool", "--tool-call-id", name, "x")
    assert f"its call {name!r} is not open" in result.complaint
    assert small("new", of=name).code == small("append", "--role", "user", "a", of=name).code == 0
    undo = small("rewind", "0", of=name).out.splitlines()[-1]
    assert undo == f"to undo: polycontext session rewind '{name}' 1"


def test_a_name_without_a_root_attaches_nothing(small: Asked) -> None:
    """A note says how to attach what is named."""
    said = small("append", "--role", "user", "See [@notes.md].")
    assert (said.code, "attaches nothing without --root DIR" in said.err) == (0, True)
