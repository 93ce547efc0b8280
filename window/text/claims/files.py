"""What a call tells of a file: all of its text or a part of it, read or written; an edit, a search and a listing tell neither.

Two calls that tell of one path and one part are about the same thing, and where their texts differ the later one holds. What is not known to be
harmless makes a call tell nothing: a stale text that stays costs less than one that is taken away and still holds.
"""

import json
import re
from hashlib import blake2b
from posixpath import isabs, join, normpath
from typing import Any

from attrs import frozen

from polycontext.window.text.claims.wording import table

_READING, _WRITING = table("read view cat get fetch"), table("write create save put overwrite")
_BESIDE = table("a the fs file whole full entire tool")
"""Words that the name of a tool may have beside what it does."""

_EDITORS = table("str_replace_editor str_replace_based_edit_tool file_editor")
"""Tools that are told by an argument what to do."""

_PATHS = table("path file_path filepath filename file_name file absolute_path target_file")
_WORKING = table("cwd workdir working_directory")
_TEXTS = table("content contents text file_text file_content")
_PARTS = table("""
    offset limit line lines view_range start_line end_line start end from to line_start line_end from_line to_line first_line last_line range line_range
    head tail max_lines num_lines page
""")
"""Arguments that say which part of a file is read."""

_HARMLESS = table("encoding description explanation thought reason timeout create_dirs overwrite security_risk")
"""Arguments that change nothing of what is told."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NAME = r"[\w./@+-]+"
_SHOWN = re.compile(rf"(?:cd (?P<at>{_NAME}) && )?cat (?:-n )?(?P<path>{_NAME})\s*")
_WRITTEN = re.compile(
    rf"(?:cd (?P<at>{_NAME}) && )?cat ?> ?(?P<path>{_NAME}) ?<< ?(?P<quote>['\"])(?P<end>\w+)(?P=quote)\n(?P<text>.*?\n|)(?P=end)\s*",
    re.DOTALL,
)
"""A command that writes what is quoted behind it to a file and does nothing else."""

_FAILED = re.compile(
    r"\b(?:errors?|fail\w*|denied|refus\w*|reject\w*|cannot|can't|could not|couldn't|unable|not|no such|invalid|exceptions?|traceback|aborted"
    r"|cancel\w*|timed? ?out|conflict\w*|already exists|skipped|dry.?run)\b|(?:code|status)[>\":= ]{1,3}[1-9]",
    re.IGNORECASE,
)
_ANSWER = 300
"""A result that says that a read failed has this many characters at most; of one that answers a write so many are looked at."""

_CUT = re.compile(
    r"^[^\w\n]*(?:\w+ ){0,6}(?:truncated|clipped|omitted|elided|more lines|cut off)|^(?=[^\w\n]*+$)[^\n]*?(?:\.\.\.|…)",
    re.IGNORECASE | re.MULTILINE,
)
_PAGE = 50
"""A text of a multiple of so many lines may be the first page of a longer one."""

_NUMBERED = re.compile(r"\s*(\d{1,6})(?:→|\||:|\t| )")
_MOST_UNNUMBERED = 2


@frozen
class FileText:
    """Hold which file a call tells of, and what says which part of it, empty where that is all of it.

    Two equal texts have one `mark`; it is empty where the text is not all there. A call that `failed` tells nothing of the file.
    """

    path: str
    part: str = ""
    mark: str = ""
    failed: bool = False


def file_text(name: str, arguments: str, result: str, *, failed: bool = False, whole: bool = True) -> FileText | None:
    """Return what a call tells of a file, None where nothing is known to be told; of a result that is not `whole` no text is known.

    >>> [file_text("read_file", arguments, "x = 1").part for arguments in ('{"path": "a.py"}', '{"path": "a.py", "offset": 10}')]
    ['', '{"offset": 10}']
    >>> file_text("grep", '{"path": "a.py", "pattern": "x"}', "x = 1")
    """
    try:
        called = json.loads(arguments)
    except (ValueError, RecursionError):  # no JSON, or arrays in arrays without end
        return None
    if not isinstance(called, dict):
        return None
    given = {key: value for key, value in called.items() if value is not None and key not in _HARMLESS}
    told = _by_command(given) or _by_name(name, given)
    if told is None:
        return None
    path, part, written = told
    answer = result if written is None else result[:_ANSWER]
    if failed or (len(answer) <= _ANSWER and _FAILED.search(answer.replace(path, ""))):
        return FileText(path, part, failed=True)
    if written is not None:
        return FileText(path, part, _mark(written) if whole else "")
    return FileText(path, part, _mark(result) if whole and _is_all(result) else "")


def _by_command(given: dict[str, Any]) -> tuple[str, str, str | None] | None:
    """Return the path, the part and the text written of a shell command that shows or writes one file and does nothing else."""
    command, at = given.get("command", given.get("cmd")), next((given[key] for key in _WORKING if key in given), "")
    if not isinstance(command, str) or not isinstance(at, str) or given.keys() - _WORKING - {"command", "cmd"}:
        return None
    found = _SHOWN.fullmatch(command) or _WRITTEN.fullmatch(command)
    if found is None:
        return None
    path = normpath(join(at, found["at"] or "", found["path"]))
    # Where a shell stands is not known: the same name may be another file.
    return (path, "", found.groupdict().get("text")) if isabs(path) else None


def _by_name(name: str, given: dict[str, Any]) -> tuple[str, str, str | None] | None:
    """Return the path, the part and the text written of a tool whose name says that it reads or writes a file and nothing else."""
    tool = name.rpartition("__")[2].rpartition(".")[2]
    told = given.pop("command", "") if tool in _EDITORS else tool
    words = {word.lower() for word in _WORD.findall(told)} if isinstance(told, str) else set[str]()
    paths, texts, rest = (
        {key: value for key, value in given.items() if (key in _PATHS, key in _TEXTS) == kind}
        for kind in ((True, False), (False, True), (False, False))
    )
    path, text = next(iter(paths.values()), None), next(iter(texts.values()), None)
    if len(paths) != 1 or not isinstance(path, str) or not path:
        return None
    beside = _BESIDE | ({"text", "contents", "content"} if "file" in words else set())
    if len(words & _READING) == 1 and words <= _READING | beside and not texts and rest.keys() <= _PARTS:
        return normpath(path), json.dumps(rest, sort_keys=True) if rest else "", None
    if len(words & _WRITING) == 1 and words <= _WRITING | beside and len(texts) == 1 and isinstance(text, str) and not rest:
        return normpath(path), "", text
    return None


def _is_all(text: str) -> bool:
    """Tell whether a result is likely all that was asked for."""
    return bool(text) and _CUT.search(text) is None and (len(text.splitlines()) % _PAGE > 0)


def _mark(text: str) -> str:
    """Return the mark of a text: white space, numbers of lines and what stands above or below numbered lines make no difference."""
    rows = [row for row in text.splitlines() if row.strip()]
    found = [match for match in map(_NUMBERED.match, rows) if match]
    numbers = [int(match[1]) for match in found]
    if (
        found
        and len(found) >= max(len(rows) - _MOST_UNNUMBERED, len(rows) / 2)
        and numbers == [*range(numbers[0], numbers[0] + len(numbers))]
    ):
        rows = [match.string[match.end() :] for match in found]
    return blake2b("\n".join(" ".join(row.split()) for row in rows).encode(), digest_size=8).hexdigest()
