"""Reading or writing a file again leaves only its newest text.

Another file, a part of it, or a failure replaces nothing.
"""

import json
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polycontext import project
from polycontext.testing import FAST
from polycontext.window import Turn
from tests.pressure.notes.extractive_samples import LETTERS, assistant, called, summarise, user

ROOM = 100_000
BETWEEN = assistant("The loft is swept and aired.")
OLD, NEW = "def mast():\n    return 'ash wood'\n", "def mast():\n    return 'oak wood'\n"
_NUMBERS = count()


def call(name: str, result: str, **arguments: object) -> list[Turn]:
    """Return a call and its result."""
    return called(name, json.dumps(arguments), result, f"c{next(_NUMBERS)}")


def read(text: str, **further: object) -> list[Turn]:
    """Return a file that is read."""
    return call("read_file", text, path="boat/mast.py", **further)


def write(text: str, answer: str = "wrote 2 lines", **further: object) -> list[Turn]:
    """Return a file that is written."""
    return call("write_file", answer, path="boat/mast.py", content=text, **further)


def shell(command: str, answer: str = "") -> list[Turn]:
    """Return a command of a shell."""
    return call("bash", answer, command=command)


def noted(*turns: Turn) -> str:
    """Return what is noted of turns where there is room for all."""
    return summarise(turns, ROOM, counter=LETTERS)


def numbered(text: str, sign: str) -> str:
    """Return `text` with its lines numbered."""
    return "".join(f"{number:6}{sign}{row}\n" for number, row in enumerate(text.splitlines(), 1))


TELLINGS = {
    "read": (read(OLD), read(NEW)),
    "written": (write(OLD), write(NEW)),
    "read, then written": (read(OLD), write(NEW)),
    "written, then read": (write(OLD), read(NEW)),
    "read by another name": (read(OLD), call("Read", numbered(NEW, "→"), file_path="boat/mast.py")),
    "the path spelled in another way": (
        read(OLD),
        call("read_file", NEW, path="./boat/../boat/mast.py"),
    ),
    "by a server of tools": (
        write(OLD),
        call("mcp__fs__write_file", "ok", path="boat/mast.py", content=NEW),
    ),
    "by an editor": (
        call("str_replace_editor", OLD, command="view", path="/boat/mast.py"),
        call("str_replace_editor", "ok", command="create", path="/boat/mast.py", file_text=NEW),
    ),
    "in a shell": (
        shell("cat /boat/mast.py", OLD),
        shell(f"cd /boat && cat > mast.py <<'EOF'\n{NEW}EOF"),
    ),
    "a part, then all": (read("    return 'ash wood'", offset=2, limit=1), write(NEW)),
    "the same part": (
        read("    return 'ash wood'", offset=2),
        call("view", "    return 'oak wood'", file="boat/mast.py", offset=2),
    ),
    "emptied": (read(OLD), write("")),
}


ALIKE = {
    "another folder": (read(OLD), call("read_file", NEW, path="ship/mast.py")),
    "an absolute path": (read(OLD), call("read_file", NEW, path="/srv/boat/mast.py")),
    "a shell that stands anywhere": (shell("cat mast.py", OLD), shell("cat -n mast.py", NEW)),
    "another host": (read(OLD), read(NEW, host="quay")),
    "all, then a part": (read(OLD), read("    return 'oak wood'", offset=2)),
    "another part": (
        read("    return 'ash wood'", offset=2, limit=1),
        read("    return 'oak wood'", offset=3, limit=1),
    ),
    "a search": (
        read(OLD),
        call("grep", "    return 'oak wood'", path="boat/mast.py", pattern="wood"),
    ),
    "an edit": (read(OLD), call("edit_file", "ok", path="boat/mast.py", old="ash", new="oak wood")),
    "a patch": (
        read(OLD),
        call("write_patch", "ok", path="boat/mast.py", content="-ash\n+oak wood"),
    ),
    "an addition": (write(OLD), call("append_file", "ok", path="boat/mast.py", content=NEW)),
    "an addition by mode": (write(OLD), write(NEW, mode="append")),
    "an addition in a shell": (
        shell(f"cat > /m.py <<'E'\n{OLD}E"),
        shell(f"cat >> /m.py <<'E'\n{NEW}E"),
    ),
    "more than a text in a shell": (
        shell(f"cat > /m.py <<'E'\n{OLD}E"),
        shell(f"cat > /m.py <<'E'\n{NEW}E\nmake ash"),
    ),
    "what is told about it": (
        call("lint_file", "ash wood: 2 warnings", path="boat/mast.py"),
        read(NEW),
    ),
    "several files": (read(OLD), call("read_file", NEW, path="boat/mast.py", file="boat/oar.py")),
    "a text that is cut": (write(OLD), read(f"{NEW}[120 more lines]\n")),
    "a first page": (write(OLD), read(f"{NEW}oak\n" + "plank\n" * 47)),
    "no text": (read(OLD), read("", timeout=3)),
    "no arguments at all": (read(OLD), called("read_file", '["boat/mast.py"]', NEW, "x")),
    "no JSON": (read(OLD), called("read_file", "boat/mast.py", NEW, "x")),
    "a path that is none": (read(OLD), call("read_file", NEW, path=["boat/mast.py"])),
    "a command that is none": (
        shell("cat /m.py", OLD),
        call("bash", NEW, command=["cat", "/m.py"]),
    ),
    "the same text": (read(OLD), write(f"\n{OLD}")),
    "the same text with numbers": (write(OLD), read("Lines 1 to 2:\n" + numbered(OLD, "\t"))),
}


FAILURES = {
    "read": (read(OLD), read("Error: no such file")),
    "read in another way": (read(OLD), call("view", "mast.py does not exist", path="boat/mast.py")),
    "written": (write(OLD), write(NEW, "permission denied")),
    "written, as JSON": (write(OLD), write(NEW, '{"ok": false, "status": 403}')),
    "the same again": (
        write(OLD, "wrote 2 lines, oak wood next"),
        write(OLD, "disk full: write failed"),
    ),
    "by its mark": (
        read(OLD),
        [read(NEW)[0], Turn("tool", NEW, tool_call_id="late", metadata={"is_error": True})],
    ),
}


def test_a_call_without_an_answer_takes_nothing_away() -> None:
    """Nobody knows yet whether it was done."""
    assert "ash wood" in noted(*read(OLD), BETWEEN, write(NEW)[0])


def test_a_projection_tells_of_one_text_alone() -> None:
    """Of a file that is written again and again the view has the newest text."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Build the boat."}]
    for number in range(40):
        arguments = json.dumps(
            {
                "path": "boat/mast.py",
                "content": f"mast = {number}00\nsail = 'canvas of the year {number}'\n",
            }
        )
        called_now = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "write_file", "arguments": arguments},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [called_now]},
            {"role": "tool", "content": "ok", "tool_call_id": f"c{number}"},
            {"role": "user", "content": f"Plank {number} is next."},
        ]
    view = str(project(messages, 700, counter=FAST).messages)
    assert "mast = 3900" in view
    assert "mast = 2" not in view


WORDS = st.lists(st.sampled_from(["ash", "oak", "elm", "fir"]), min_size=1, max_size=4)


@given(
    st.lists(
        st.tuples(st.sampled_from(["a/x.py", "b/x.py", "x.py"]), WORDS, st.booleans()), max_size=12
    )
)
def test_each_file_is_told_as_it_is_now(steps: list[tuple[str, list[str], bool]]) -> None:
    """Law: of each path all that is left says what was written or read there last."""
    turns: list[Turn] = []
    latest: dict[str, str] = {}
    for path, words, written in steps:
        text = "".join(f"{path} of {word} wood\n" for word in words)
        turns += (
            call("write", "done", path=path, content=text)
            if written
            else call("read", text, path=path)
        )
        latest[path] = text
    told = [
        line
        for line in noted(user("Go."), *turns, user("Go on.")).replace("\\n", "\n").splitlines()
        if " wood" in line
    ]
    for path, text in latest.items():
        woods = {
            word
            for word in ("ash", "oak", "elm", "fir")
            for line in told
            if f" {path} of {word}" in f" {line.replace(chr(34), ' ')}"
        }
        assert woods == {row.split()[2] for row in text.splitlines()}
