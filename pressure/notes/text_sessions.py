"""Text sessions: the commands, edits and output that a message holds as text.

Agents without tools, and the histories of editors, write them between prose: fenced commands with
their output, SEARCH/REPLACE blocks, diffs, lines such as "Applied edit to app.py".
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from attrs import define, field

from polycontext.window import ToolCall

from ..terms import Kind as TermKind
from ..terms import kind_of
from .calls import Call, has_failed, read_call, read_command
from .events import Change, Effect, Event, Happening
from .patches import (
    Edit,
    edits_of_blocks,
    edits_of_patch,
    ends_block,
    is_diff,
    opens_block,
    path_label,
)
from .pieces import one_line
from .prose import is_item

_FENCE = re.compile(r"[ \t]{0,12}(`{3,}|~{3,})[ \t]*([^`\n]{0,200})\Z")
_ELEMENT = re.compile(r"\s{0,20}<(details|tool-use|think|function)\b[^<]{0,300}>")
_USED = re.compile(r"\s{0,9}(?:<summary>)?Tool use: \*\*([^*]{1,80})\*\*(?: •)? ?([^<]{0,2000})")
SHELLS = frozenset(
    re.findall(r"\w+", "bash sh shell zsh console powershell cmd fish terminal run_terminal_cmd")
)
_OUTPUTS = frozenset(["", *["text", "txt", "output", "console", "json", "plaintext", "log"]])
_NESTING = frozenset(["md", "markdown", "mdx", "mdc", "rst"])
_MARKED = re.compile(
    r"[>\s]{0,4}(Applied edit to|Commit(?= [0-9a-f]{6})|Removed:(?= [0-9a-f]{6})|Read file:)"
    r"\s+(\S.{0,400})"
)
_HISTORY = {"Commit": Change.COMMIT, "Removed:": Change.UNCOMMIT}
_APPLIED = re.compile(r"^[>\s]{0,4}Applied edit to (\S.{0,400})$", re.MULTILINE)
_HOSTED = re.compile(
    r"^>? ?(?:Tokens: [\d.,k]{1,12} sent|Applied edit to |Aider v\d|Added .{1,400} to the chat"
    r"|You can use /undo |The LLM did not conform|(?:Commit|Removed:) [0-9a-f]{6})",
    re.MULTILINE,
)
"""A line that the host of an editor prints; all of its lines are quoted."""
_NO_MATCH = re.compile(r"SEARCH(?:/REPLACE)? blocks? failed to (?:exactly )?match")
_PROMPT = re.compile(
    r"(?:[\w.-]{1,40}@[\w.-]{1,60}[: ][^\n$%#]{0,100}[$%#] |\$ |PS [A-Z]:[^>\n]{0,200}> )"
    r"(\S.{0,2000})"
)
_LOGGED = re.compile(
    r"E\s{2,}|>\s{2,}|\S{1,200}\.\w{1,9}:\d|={3,}|_{3,}|-{4,}|\s{0,9}\d{1,6}[│█|→]"
    r"|\s{0,9}File \"|@@ |Traceback |at \S|\s{0,9}(?:[✓✔√✗✘×]|PASS\b|FAIL(?:ED)?\b|\(pass\)"
    r"|\(fail\)|not ok\b|ok \d)|\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d"
    r"|\[(?:INFO|WARN|ERROR|DEBUG)|[-dl][rwx-]{9}\b|(?:remote|Enumerating|Counting|Writing): "
    r"|(?:[A-Za-z_.]{1,80}(?:Error|Exception)|error|fatal|warning|npm \w+): |[+-]{3} \S"
)
_CODED = re.compile(
    r"\s{0,40}(?:self\.|@\w|[\w.]{1,80}(?:: \w{1,40})? = \S|from \S{1,80} import\b"
    r"|(?:def|class|import|return|assert|const|let|var|if|for|while|function|export)"
    r" .{0,300}[:({;]\s{0,9}\Z|[})\]];?\s{0,9}\Z|[\w.]{1,80}\(.{0,300}\);?\s{0,9}\Z)"
)
_IDLE = re.compile(r"\s*[-*_]*\s*")
_INLINE = re.compile(r"`([^`]{1,4000})`")
_PATH_IN = re.compile(r"[\w@~.+/-]{1,200}\.[A-Za-z]\w{0,9}\b")
_SUMMARY = re.compile(r"<summary>\s{0,40}([^<]{0,2000})</summary>")
CHANGED = re.compile(
    r"(?:The file|File created successfully at:?|Applied \d{1,4} edits? to) (\S{1,400}?):?(?: |$)",
    re.MULTILINE,
)
NUMBERED = re.compile(r"^\s*\d+(?:→|│|\t|:\s)", re.MULTILINE)
"""The number of a line of a file."""
_EDITORS = re.compile(r"(?i)edit|writ|replace|insert|patch|creat|delet|remov|update|undo")
SEARCHES = re.compile(r"(?i)(?:\w*grep\w*|glob|\w*search|\w*fetch|task|agent|listed|searched)\Z")
_READ_TITLES = ("Read ", "Searched ", "Grep ", "Listed ", "Web ", "Fetched ")
_TITLES = (*_READ_TITLES, "Edit", "Ran ", "Terminal ", "Created ", "Deleted ", "MCP ")
_LOG_SHARE, _LOG_LINES, _LONGEST = 0.5, 2, 400


class Kind(Enum):
    """What a run of lines is."""

    PROSE = 1
    FENCED = 2
    ELEMENT = 3
    """A call of a tool, or a thought, as histories of editors write them."""


class Segment(NamedTuple):
    """A run of lines of prose, or the lines of a block, with the language on its fence."""

    text: str
    kind: Kind = Kind.PROSE
    language: str = ""


def segments(text: str) -> list[Segment]:
    r"""Return the prose and the blocks of a text, in order.

    A fence inside of a block of Markdown belongs to it; a block that is not closed ends with the
    text.

    >>> [part.text for part in segments("Look:\n```bash\nls\n```\nDone.")]
    ['Look:', 'ls', 'Done.']
    """
    scanner = _Scanner()
    for line in text.split("\n"):
        scanner.read(line)
    scanner.end()
    return scanner.found


@define
class _Scanner:
    """Reads lines as segments."""

    found: list[Segment] = field(factory=list)
    _lines: list[str] = field(factory=list)
    _kind: Kind = Kind.PROSE
    _language: str = ""
    _closing: str = ""
    """The fence or tag that ends a block, or ""."""
    _depth: int = 0

    def read(self, line: str) -> None:
        if self._kind is Kind.PROSE:
            self._read_prose(line)
        elif self._kind is Kind.ELEMENT:
            self._lines.append(line)
            if self._closing and line.rstrip().endswith(self._closing):
                self.end()
        elif not self._closing:
            self._lines.append(line)
            if ends_block(line):
                self.end()
        else:
            self._read_fenced(line)

    def _read_prose(self, line: str) -> None:
        if ("```" in line or "~~~" in line) and (fence := _FENCE.match(line)):
            self._open(Kind.FENCED, fence[1], fence[2].strip())
        elif line.strip() == "<source>":
            self._open(Kind.FENCED, "</source>", "")
        elif opens_block(line):
            self._open(Kind.FENCED, "", "")
            self._lines.append(line)
        elif element := _ELEMENT.match(line):
            self._open(Kind.ELEMENT, f"</{element[1]}>", "")
            self.read(line)
        elif _USED.match(line):
            # A call without an element goes on to the end of the message.
            self._open(Kind.ELEMENT, "", "")
            self._lines.append(line)
        else:
            self._lines.append(line)

    def _read_fenced(self, line: str) -> None:
        if self._closing.startswith("<") and line.strip() == self._closing:
            self.end()
            return
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        info = fence[2].strip() if fence else ""
        is_end = fence and not info and fence[1].startswith(self._closing)
        if is_end and not self._depth:
            self.end()
            return
        opens = bool(info) and self._language.lower() in _NESTING
        self._depth += -1 if is_end else opens
        self._lines.append(line)

    def _open(self, kind: Kind, closing: str, language: str) -> None:
        self.end()
        self._kind, self._closing, self._language = kind, closing, language

    def end(self) -> None:
        """End the segment."""
        text = "\n".join(self._lines)
        if text.strip() or self._kind is not Kind.PROSE:
            self.found.append(Segment(text, self._kind, self._language))
        self._lines, self._kind, self._closing, self._language = [], Kind.PROSE, "", ""
        self._depth = 0


def pasted(lines: Sequence[str], *, listed: bool = False) -> Happening | None:
    """Return whether lines are what a program printed, or code, or None for prose.

    Lines that are indented under an item of a list are neither.

    >>> pasted(["tests/test_a.py:3: in test_a", "E   assert 1 == 2"]).value
    'output'
    >>> pasted(["- a", "    b"]) is None
    True
    """
    logged = coded = indented = 0
    for line in lines:
        if is_item(line):
            listed = True
        elif listed and line.startswith((" ", "\t")):
            continue
        elif _LOGGED.match(line[:_LONGEST]):
            logged += 1
        elif _CODED.match(line[:_LONGEST]):
            coded += 1
        elif line.startswith(("    ", "\t")):
            indented += 1
    count = logged + coded + indented
    if count < max(_LOG_LINES, _LOG_SHARE * len(lines)) or not (logged or coded):
        return None
    return Happening.OUTPUT if logged else Happening.CODE


def read_text(text: str, base: Event, *, hosted: bool = False, calls: bool = False) -> list[Event]:
    """Return the events that a message of the assistant tells, with the turn and id of `base`.

    `hosted` states that a host may print in it. Of an assistant that `calls` tools, a diff in prose
    is only shown.
    """
    events = [*_read(text, base, hosted=hosted, calls=calls)]
    if not _NO_MATCH.search(text):
        return events
    # The host repeats the blocks that it could not apply.
    times = Counter((event.before, event.text) for event in events if event.before)
    some, others = _APPLIED.search(text) is not None, "blocks were applied" in text

    def failed(event: Event) -> bool:
        # Where the host names what it applied, it named all.
        named = event.failed if some else not others
        return named or times[event.before, event.text] > 1

    return [event._replace(failed=failed(event)) if event.before else event for event in events]


def _read(text: str, base: Event, *, hosted: bool, calls: bool) -> Iterator[Event]:
    parts = segments(text)
    hosted = hosted or _HOSTED.search(text) is not None
    applied = [_slashed(each.strip()) for each in _APPLIED.findall(text)] if hosted else None
    label, taken = "", -1
    for place, part in enumerate(parts):
        after = parts[place + 1 : place + 2]
        if part.kind is Kind.ELEMENT:
            yield from _element(part.text, base)
        elif part.kind is Kind.PROSE:
            said, label = _labelled(part.text, after[0]) if after else (part.text, "")
            yield from _prose(said, base, hosted=hosted)
        elif place != taken:
            language, _, named = part.language.lower().partition(" ")[0].partition(":")
            path = _slashed(path_label(named) or label)
            printed = [part for part in after if part.kind is Kind.FENCED]
            is_shown = language in SHELLS and printed and printed[0].language.lower() in _OUTPUTS
            if is_shown and "<<<<<<<" not in part.text:
                taken = place + 1
                command = read_command(part.text.strip().removeprefix("$ "))
                yield from call_events(command, base._replace(name=language), printed[0].text)
            else:
                is_shown = calls and not hosted
                yield from _block(part.text, language, path, base, applied, is_shown=is_shown)
            label = ""


def _labelled(prose: str, block: Segment) -> tuple[str, str]:
    """Return prose without a last line that is a path, and the path that it names for a block."""
    head, _, last = prose.rstrip().rpartition("\n")
    if path := path_label(last):
        return head, path
    lines = [line for line in prose[-_LONGEST:].split("\n") if not _IDLE.fullmatch(line)]
    is_named = lines and _is_edit(block.text, block.language)
    paths = _PATH_IN.findall(lines[-1]) if is_named else []
    return prose, next((path for path in paths if kind_of(path) is TermKind.FILE), "")


def _is_edit(text: str, language: str) -> bool:
    return "<<<<<<<" in text or language in ("diff", "patch") or is_diff(text)


def _block(
    body: str,
    language: str,
    path: str,
    base: Event,
    applied: Sequence[str] | None,
    *,
    is_shown: bool,
) -> Iterator[Event]:
    """Yield the events of a block that is not run with the next message as its output."""
    if not is_shown and (edits := _edits_of(body, language, path)):
        for edit in edits:
            where = _slashed(edit.path) or (applied[0] if applied and len(applied) == 1 else "")
            failed = applied is not None and where not in applied
            yield from events_of_edits([edit._replace(path=where)], base, failed=failed)
    elif language in SHELLS and (prompted := _PROMPT.match(body.strip())):
        printed = body.strip().partition("\n")[2]
        call = read_command(prompted[1])
        yield from call_events(call, base._replace(name=language), printed or None)
    elif applied and path in applied:
        yield from events_of_edits([Edit(path, Change.WRITE, text=body)], base)
    elif body.strip():
        yield base._replace(happening=Happening.CODE, text=body, name=language, path=path)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _edits_of(body: str, language: str, path: str) -> list[Edit]:
    if "<<<<<<<" in body and (edits := [*edits_of_blocks(body, path)]):
        return edits
    return [*edits_of_patch(body, path)] if _is_edit(body, language) else []


def _element(text: str, base: Event) -> Iterator[Event]:
    """Yield the events of an element around a call of a tool, a thought or a folded text."""
    tag = element[1] if (element := _ELEMENT.match(text)) else ""
    body = text.partition(">")[2].rpartition(f"</{tag}")[0] if tag else text
    if tag == "function":
        call = _function(text)
        yield from call_events(call, base._replace(name=_name_of(text)), None)
    elif tag == "think":
        thought = re.sub(r"</?details>|<summary>[^<]*</summary>", "", body).strip()
        yield base._replace(
            happening=Happening.CALL, effect=Effect.THINK, name="think", text=thought
        )
    else:
        yield from _tool(text, base)


def _name_of(text: str) -> str:
    return text.partition("=")[2].partition(">")[0].strip()


def _function(text: str) -> Call:
    """Return the call that is written as an element with an element for each parameter."""
    given = {}
    for parameter in text.split("<parameter=")[1:]:
        name, _, value = parameter.partition(">")
        given[name] = value.partition("</parameter>")[0].strip("\n")
    return read_call(ToolCall("1", _name_of(text) or "tool", json.dumps(given)))


def _tool(text: str, base: Event) -> Iterator[Event]:
    """Yield the events of a call that has a title, and a command, a diff or its result below."""
    summary = _SUMMARY.search(text)
    title = " ".join(summary[1].split()) if summary else text.partition("\n")[0]
    rest = text[summary.end() :] if summary else text.partition("\n")[2]
    body = re.sub(r"</?(?:details|tool-use)[^>]{0,300}>", "", rest).strip()
    used = _USED.match(title)
    if not used and not title.startswith(_TITLES):
        yield from _prose(body, base, hosted=False)
        return
    name, title = (used[1], used[2]) if used else (title.partition(" ")[0].lower(), title)
    parts = segments(body)
    if parts and parts[0].kind is Kind.PROSE:
        title = title or one_line(parts[0].text)[:_LONGEST]
    blocks = [part for part in parts if part.kind is Kind.FENCED]
    path = "" if SEARCHES.match(name) else _path_in(title, body)
    is_shell = name.lower() in SHELLS or 'data-tool-type="shell"' in text[:200]
    if is_shell and (command := _command_in(title, parts)):
        outputs = [part.text for part in blocks if part.language.lower() not in SHELLS]
        call, result = read_command(command), "\n".join(outputs)
    else:
        is_read = title.startswith(_READ_TITLES)
        effect = Effect.READ if is_read else read_call(ToolCall("1", name, "{}")).effect
        # A diff that was read or reported is nobody's edit.
        edits = [*_edits_in(name, path, blocks)] if _EDITORS.search(name) else []
        effect = Effect.EDIT if edits else effect
        call = Call(effect, "", "" if path else title, path, tuple(edits))
        result = _inside(body) or body
    yield from call_events(call, base._replace(name=name), result)


def _inside(body: str) -> str:
    """Return what stands between the first and the last fence, or ""."""
    fences = [*re.finditer(r"^[ \t]*(?:`{3,}|~{3,})[^`\n]*$", body, re.MULTILINE)]
    return body[fences[0].end() + 1 : fences[-1].start()].rstrip("\n") if fences[1:] else ""


def _command_in(title: str, parts: Sequence[Segment]) -> str:
    shells = (part.text for part in parts if part.language.lower() in SHELLS)
    inline = (_INLINE.search(text) for text in (*(part.text for part in parts[:1]), title))
    return next(shells, "") or next((found[1] for found in inline if found), "")


def _path_in(title: str, body: str) -> str:
    """Return the path that a call's title or its result names."""
    head = body.partition("\n")[0]
    inline = _INLINE.search(title) or _INLINE.fullmatch(head.strip())
    titled = title.rpartition(" file: ")[2] if " file: " in title else inline[1] if inline else ""
    changed = CHANGED.search(body)
    return titled or (changed[1] if changed else "")


def _edits_in(name: str, path: str, blocks: Sequence[Segment]) -> Iterator[Edit]:
    """Yield the edits that the blocks of a call show: diffs, a file, or that it was changed."""
    writes = name.lower() in ("write", "write_file", "create_file")
    for block in blocks:
        if _is_edit(block.text, block.language):
            yield from _edits_of(block.text, block.language, path)
        elif CHANGED.match(block.text):
            yield Edit(path, Change.INSERT)
        elif writes:
            yield Edit(path, Change.WRITE, text=block.text)


def call_events(call: Call, base: Event, result: str | None) -> Iterator[Event]:
    """Yield the event of a call and those of its edits."""
    failed = result is not None and has_failed(result, call.effect, shell=bool(call.command))
    yield base._replace(
        happening=Happening.CALL, text=result or call.thought, command=call.command,
        arguments=call.arguments, path=call.path, effect=call.effect, failed=failed,
    )  # fmt: skip
    yield from events_of_edits(call.edits, base, failed=failed)


def events_of_edits(edits: Sequence[Edit], base: Event, *, failed: bool = False) -> Iterator[Event]:
    """Yield the events of edits."""
    for path, change, before, text in edits:
        yield base._replace(
            happening=Happening.EDIT, path=path, change=change, before=before, text=text,
            failed=failed,
        )  # fmt: skip


def _prose(text: str, base: Event, *, hosted: bool) -> Iterator[Event]:
    """Yield the statements, marks and output of prose without fences."""
    said, listed = list[str](), False

    def statement() -> Iterator[Event]:
        if said:
            yield base._replace(happening=Happening.SAY, text="\n\n".join(said))
            said.clear()

    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if not _IDLE.fullmatch(line)]
        marks = [mark for line in lines if (mark := _MARKED.fullmatch(line[:_LONGEST]))]
        for event in filter(None, (_marked(mark, base) for mark in marks)):
            yield from statement()
            yield event
        lines = [
            line
            for line in lines
            if not (hosted and line.startswith((">", "Tokens: ", "Retrying in ")))
            and not (marks and _MARKED.fullmatch(line[:_LONGEST]))
        ]
        if not lines:
            continue
        if kind := pasted(lines, listed=listed):
            yield from statement()
            yield base._replace(happening=kind, text="\n".join(lines), name=kind)
        else:
            listed = is_item(lines[0]) or (listed and lines[0][:1] in " \t")
            said.append("\n".join(lines))
    yield from statement()


def _marked(mark: re.Match[str], base: Event) -> Event | None:
    """Return the event that a line of an editor tells."""
    told = mark[2].strip("`* ")
    if mark[1] == "Read file:":
        return base._replace(happening=Happening.CALL, effect=Effect.READ, name="read", path=told)
    if mark[1] not in _HISTORY:
        return None
    commit, _, text = told.partition(" ")
    return base._replace(happening=Happening.EDIT, change=_HISTORY[mark[1]], path=commit, text=text)
