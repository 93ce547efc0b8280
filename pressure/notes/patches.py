"""Patches: unified diffs and other formats of patches as edits of single files."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .events import Change


class Edit(NamedTuple):
    """A change of one file, or with an empty path of the file in question or of all files."""

    path: str
    change: Change
    before: str = ""
    text: str = ""


_SECTION = re.compile(r"\*\*\* (Update|Add|Delete) File: (\S.{0,400})")
_OLD, _NEW = re.compile(r"--- (?:a/)?(\S{1,400})"), re.compile(r"\+\+\+ (?:b/)?(\S{1,400})")
_SEARCH = re.compile(r"\s{0,8}<{5,9} ?(?:SEARCH|ORIGINAL|HEAD|<?)\b.{0,9}|-{5,9} SEARCH")
_MIDDLE = re.compile(r"\s{0,8}={5,9}\s{0,9}")
_REPLACED = re.compile(r"\s{0,8}>{5,9} ?(?:REPLACE|UPDATED)\b.{0,9}|\+{5,9} REPLACE")


def is_diff(text: str) -> bool:
    """Return whether a text is a unified diff or a patch."""
    return (
        text.startswith(("@@", "diff --git ", "*** Begin Patch", "--- a/", "Index: "))
        or "\n@@ -" in text
        or ("\n+++ " in text and text.startswith("--- "))
    )


def opens_block(line: str) -> bool:
    """Return whether a line begins a SEARCH/REPLACE block."""
    return line[:1] == "<" and _SEARCH.fullmatch(line) is not None


def ends_block(line: str) -> bool:
    """Return whether a line ends a SEARCH/REPLACE block."""
    return line[:1] == ">" and _REPLACED.fullmatch(line) is not None


def edits_of_patch(text: str, path: str = "") -> Iterator[Edit]:
    r"""Yield the edits of a patch, one for each file; `path` is that of a patch that names none.

    >>> [*edits_of_patch("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b")]
    [Edit(path='x.py', change=<Change.DIFF: 'diff'>, before='', text='@@ -1 +1 @@\n-a\n+b')]
    """
    change, body, old = Change.DIFF, list[str](), ""
    for line in text.split("\n"):
        section, new = _SECTION.match(line), _NEW.match(line)
        if section or (new and (old or not body)):
            yield from _edit(path, change, body)
            body = []
            if section:
                path = section[2].strip()
                change = {"Add": Change.WRITE, "Delete": Change.REMOVE}.get(section[1], Change.DIFF)
            elif new:
                gone = new[1] == "/dev/null"
                path = old if gone else new[1]
                change = (
                    Change.REMOVE if gone else Change.WRITE if old == "/dev/null" else Change.DIFF
                )
            old = ""
        elif before := _OLD.match(line):
            old = before[1]
        elif not line.startswith(("*** ", "diff --git ", "index ", "new file", "deleted file")):
            body.append(line)
    yield from _edit(path, change, body)


def _edit(path: str, change: Change, body: list[str]) -> Iterator[Edit]:
    text = "\n".join(body).strip("\n")
    if change is Change.REMOVE:
        yield Edit(path, change)
    elif change is Change.WRITE:
        yield Edit(path, change, text="\n".join(line[1:] for line in body if line.startswith("+")))
    elif any(line.startswith(("+", "-")) for line in body):
        yield Edit(path, change, text=text)


def edits_of_blocks(text: str, path: str = "") -> Iterator[Edit]:
    r"""Yield the edits of SEARCH/REPLACE blocks, whose paths stand on the lines before them.

    A block that is not closed is no edit.

    >>> [*edits_of_blocks("a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE")]
    [Edit(path='a.py', change=<Change.REPLACE: 'replace'>, before='x', text='y')]
    """
    old: list[str] | None = None
    new: list[str] | None = None
    for line in text.split("\n"):
        if old is None and _SEARCH.fullmatch(line):
            old = []
        elif old is not None and new is None and _MIDDLE.fullmatch(line):
            new = []
        elif old is not None and new is not None and _REPLACED.fullmatch(line):
            before, after = "\n".join(old), "\n".join(new)
            old = new = None
            yield Edit(path, Change.REPLACE if before.strip() else Change.WRITE, before, after)
        elif new is not None:
            new.append(line)
        elif old is not None:
            old.append(line)
        elif label := path_label(line):
            path = label


_LONGEST_LABEL = 400
_LABEL = re.compile(
    r"[>#*\s`]{0,9}(?:(?:File|Edit file|Update|Create|Path|Filename): ?)?[*`]{0,3}"
    r"((?:[\w@~.+()\[\]-]{1,80}[/\\]){0,20}[\w@.+#()\[\]-]{0,80}\.[A-Za-z]\w{0,9}"
    r"|(?:[\w@~.+-]{1,80}/){1,20}[\w.-]{1,80}|Makefile|Dockerfile)[*`]{0,3}:?[*`]{0,3}"
)


def path_label(line: str) -> str:
    """Return the path that a line consists of, or "".

    >>> path_label("**`src/app.py`**:"), path_label("See src/app.py")
    ('src/app.py', '')
    """
    found = _LABEL.fullmatch(line.strip()) if len(line) <= _LONGEST_LABEL else None
    return found[1] if found else ""
