"""Text sessions: commands, edits and output between prose are read as what they are."""

import pytest

from polycontext.pressure.notes.events import Change, Happening
from polycontext.pressure.notes.text_sessions import segments
from tests.pressure.notes.conversations import kinds, read, talk

BLOCK = "pump.py\n```python\n<<<<<<< SEARCH\nred\n=======\nblue\n>>>>>>> REPLACE\n```"


def spoken(text: str) -> list[str]:
    """Return what happens in a message of the assistant."""
    return kinds(talk("Go.", text)[1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I paint it.\n\nIt is red.", ["say"]),
        ("Run it:\n```bash\nnpm test\n```\nThen tell me.", ["say", "code", "say"]),
        ("```bash\nnpm test\n```\n```\n3 passed\n```", ["run"]),
        ("```console\n$ npm test\n3 passed\n```", ["run"]),
        ("```python\nx = 1\n```", ["code"]),
        ("```markdown\n```bash\nrm -rf a\n```\nmore\n```", ["code"]),
        ("~~~\n```bash\nls\n```\n~~~", ["code"]),
        (
            'It failed:\n\nTraceback (most recent call last)\n  File "a.py", line 3',
            ["say", "output"],
        ),
        ("- First:\n    npm ci\n    npm test\n\n    and wait", ["say"]),
        ("- First:\n    x = 1\n    y = 2\n\n    z = 3\n    print(z)", ["say"]),
        ("1. Paint\n2. Dry", ["say"]),
        ("Add this:\n\ndef paint():\n    self.wall = RED", ["say", "code"]),
        ("<think>It rains.</think>", ["think"]),
        ("pump.py\n<source>\nx = 1\n</source>\n\n> Applied edit to pump.py", ["write"]),
        ("```bash\ngo test -v ./pump\n```\n```\n3 passed\n```", ["run"]),
        ("```bash\ngo -v\n```\n```\n1.25\n```", ["read"]),
    ],
)
def test_the_parts_of_a_message_are_told_apart(text: str, expected: list[str]) -> None:
    """A block is a command only with its output; lists are no logs; nested fences no commands."""
    assert spoken(text) == expected


def test_search_and_replace_blocks_are_edits() -> None:
    """The path stands above the block, and an empty search writes the file."""
    new = BLOCK.replace("red\n", "").replace("pump.py", "`src/new.py`:")
    say, edit, write = read(talk("Go.", f"I paint.\n\n{BLOCK}\n\n{new}")[1:])
    assert say.text == "I paint."
    assert (edit.path, edit.change, edit.before, edit.text) == ("pump.py", "replace", "red", "blue")
    assert (write.path, write.change, write.text) == ("src/new.py", "write", "blue")


def test_an_edit_that_the_editor_did_not_apply_has_failed() -> None:
    """If an editor says which edits it applied, the others failed."""
    other = BLOCK.replace("pump.py", "hose.py")
    events = read(talk("Go.", f"{BLOCK}\n\n{other}\n\n> Applied edit to pump.py")[1:])
    assert [(event.path, event.failed) for event in events] == [
        ("pump.py", False),
        ("hose.py", True),
    ]


def test_blocks_without_a_fence_are_edits() -> None:
    """The line before names the file."""
    block = BLOCK.replace("```python\n", "").replace("\n```", "").removeprefix("pump.py\n")
    _, edit = read(talk("Go.", f"I paint `pump.py`:\n{block}\nDone.")[1:])[:2]
    assert (edit.path, edit.before, edit.text) == ("pump.py", "red", "blue")


@pytest.mark.parametrize(
    ("others", "failed"), [("# The other 1 SEARCH/REPLACE blocks were applied.", False), ("", True)]
)
def test_a_block_that_matched_nothing_has_failed(others: str, *, failed: bool) -> None:
    """The host repeats it; the others failed only if it says nothing of them."""
    block = BLOCK.split("```python\n")[1].removesuffix("\n```")
    other = BLOCK.replace("red", "dry")
    report = f"# 1 SEARCH/REPLACE block failed to match!\nIn pump.py:\n{block}\n{others}"
    events = read(talk("Go.", f"{BLOCK}\n\n{other}\n\n> Tokens: 4k sent\n{report}")[1:])
    found = {event.before: event.failed for event in events if event.change == Change.REPLACE}
    assert found == {"red": True, "dry": failed}


def test_a_file_in_a_block_is_written_if_it_was_applied() -> None:
    """A block under a path is only shown, unless the editor applied it."""
    text = "pump.py\n```python\nx = 1\n```"
    (shown,) = read(talk("Go.", text)[1:])
    assert (shown.happening, shown.path) == (Happening.CODE, "pump.py")
    (edit,) = read(talk("Go.", f"{text}\nApplied edit to pump.py")[1:])
    assert (edit.change, edit.text) == (Change.WRITE, "x = 1")


def test_commits_and_undone_ones_are_read() -> None:
    """The hash is the path and the message the text."""
    commit, undone = read(talk("Go.", "Commit ab12cd3 Paint it\n\nRemoved: ab12cd3 Paint it")[1:])
    assert (commit.change, commit.path, commit.text) == ("commit", "ab12cd3", "Paint it")
    assert (undone.change, undone.path) == ("uncommit", "ab12cd3")
    assert spoken("Commit the change when you are ready.") == ["say"]


@pytest.mark.parametrize(
    ("line", "path"),
    [("Now I update the pump.ts file:", "pump.ts"), ("Now I go on.\n\n---", "")],
)
def test_a_diff_is_an_edit_of_the_file_that_it_names_or_the_line_above(
    line: str, path: str
) -> None:
    """A diff may have no header."""
    edit = read(talk("Go.", f"{line}\n\n---\n\n```diff\n- red\n+ blue\n```")[1:])[-1]
    assert (edit.change, edit.path, edit.text) == (Change.DIFF, path, "- red\n+ blue")
    named = read(talk("Go.", "```diff\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n```")[1:])
    assert [event.path for event in named] == ["x.py"]


def test_what_an_editor_prints_for_its_user_is_left_out() -> None:
    """Costs, prompts and lists of files are no statements."""
    printed = (
        "> Tokens: 4.2k sent, 1.9k received.\n> pump.py\n"
        "> Add file to the chat? (Y)es/(N)o [Yes]: y\n"
        "> All chat history cleared."
    )
    assert spoken(f"It leaks.\n\n{printed}") == ["say"]
    assert spoken(printed) == []


HISTORY = """Let me see.

Read file: src/pump.ts

<details>
            <summary>Grep search for "pump" • **1** files</summary>

| File | Line | Match |
|------|------|-------|
| `src/pump.ts` | L3 | `pump()` |

</details>

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>
Run the tests

`npm test`

```text
Exit code 1
1 failed
```
</details></tool-use>

<tool-use data-tool-type="write" data-tool-name="search_replace">
<details><summary>Tool use: **search_replace** • Edit file: src/pump.ts</summary>

```diff
@@ -3 +3 @@
-pump()
+pump(3)
```

</details>
</tool-use>

Done."""


def test_the_history_of_an_editor_is_read_as_calls() -> None:
    """Elements around calls of tools have a title, a path, a command with its output or a diff."""
    say, file, grep, test, call, edit, done = read(talk("Go.", HISTORY)[1:])
    assert (say.text, done.text) == ("Let me see.", "Done.")
    assert (file.effect, file.path) == ("read", "src/pump.ts")
    assert (grep.effect, "pump()" in grep.text) == ("read", True)
    assert (test.command, test.text, test.failed) == ("npm test", "Exit code 1\n1 failed", True)
    assert (call.effect, edit.path, edit.change) == ("edit", "src/pump.ts", "diff")


def test_a_call_without_an_element_has_a_title() -> None:
    """It goes on to the end of the message."""
    run = "Tool use: **Bash** Run the tests\n\n`npm test`\n\nResult:\n\n```\n1 failed\n```"
    (call,) = read(talk("Go.", run)[1:])
    assert (call.command, call.text) == ("npm test", "1 failed")
    note = "The file /srv/pump.ts has been updated. Here's a snippet:\n  1→pump(3)"
    call, edit = read(talk("Go.", f"Tool use: **Edit**\n\nResult:\n\n```\n{note}\n```")[1:])
    assert (call.effect, edit.path, edit.text) == ("edit", "/srv/pump.ts", "")


def test_a_diff_that_a_tool_read_or_the_assistant_shows_is_no_edit() -> None:
    """An assistant that calls tools edits with them; without any, a diff is its edit."""
    diff = "```diff\n--- a/src/pump.ts\n+++ b/src/pump.ts\n@@ -3 +3 @@\n-pump()\n+pump(3)\n```"
    shown = "<tool-use><details>\n<summary>Tool use: **{}**</summary>\nReview it\n\n{}\n</details>"
    shown = f"{shown}</tool-use>"
    assert kinds(talk("Go.", shown.format("Task", diff))[1:]) == ["run"]
    assert kinds(talk("Go.", shown.format("Read", diff))[1:]) == ["read"]
    assert kinds(talk("Go.", shown.format("ApplyPatch", diff))[1:]) == ["edit", "diff"]
    said = f"This is what the last commit did:\n\n{diff}"
    assert kinds(talk("Go.", said)[1:]) == ["say", "diff"]
    assert kinds(talk("Go.", shown.format("Read", "`a.ts`"), "And?", said)[1:])[-1] == "code"


def test_a_call_of_a_text_session_says_what_it_was_asked() -> None:
    """A search has a pattern and no path; a report is whole with the blocks in it."""
    text = (
        "<tool-use><details>\n<summary>Tool use: **{}**</summary>\n {}\n\n{}\n</details></tool-use>"
    )
    found = "```text\nsrc/pump.ts\n```"
    (call,) = read(talk("Go.", text.format("Glob", "pattern `src/*.ts`", found))[1:])
    assert (call.arguments, call.path, call.text) == ("pattern `src/*.ts`", "", "src/pump.ts")
    report = "```text\n# Pumps\n```ts\npump()\n```\nAll are dry.\n```"
    (call,) = read(talk("Go.", text.format("Task", "Find the pumps", report))[1:])
    assert call.text == "# Pumps\n```ts\npump()\n```\nAll are dry."


def test_calls_that_are_written_as_elements_are_run() -> None:
    """The next message is the result."""
    text = "<function=bash>\n<parameter=command>pytest -q</parameter>\n</function>"
    (call,) = read(talk("Go.", text, "OBSERVATION:\n2 passed")[1:])
    assert (call.command, call.effect, call.text) == ("pytest -q", "run", "2 passed")


def test_segments_hold_all_lines() -> None:
    """A block that is not closed ends with the text."""
    text = "a\n```py\nb\n<details>\nc"
    assert [part.text for part in segments(text)] == ["a", "b\n<details>\nc"]
