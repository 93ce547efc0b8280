"""Parsing turns into entries, the lines of a summary, and units, the whole pieces on them.

An entry is a statement (``user: ...``) or a call with its result (``search(city=Ulm) -> ...``). A
gist among the turns is parsed into the entries that it was printed from. Both types are flat.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from posixpath import normpath
from typing import Any

from attrs import define, field

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classification import is_reminder, without_elements
from polycontext.window import Role, TokenCounter, ToolCall, Turn
from polycontext.window.items import attached_outline, attachment_of

from ..gist import NO_TEXT, unframed
from ..injections import LIKELY, flag_injections, score
from ..terms import DECIDES, FAILED, is_prose, terms_of
from . import cues
from .lines import LAWGIVERS, SIZE, Entry, Unit, left_out, opening_of, parse_summary
from .pieces import GAP, Hides, excerpt, one_line, sentences_in, split, unnamed
from .records import (
    Item,
    Record,
    item_of,
    items_of,
    may_command,
    outer_records,
    parse_records,
    read_json,
)
from .updates import with_topics

ATTACHED = "attached "

SHOWN_ARGUMENT, SHOWN_ARGUMENTS, MOST_ARGUMENTS = 40, 60, 40
"""The most characters of an argument, and of all arguments, that are shown whenever the call is,
and the most arguments."""

MOST_RECORDS = 4_000
"""How many records of one text are read in detail, half at either end."""

LIST_BOOST, FIGURES = 2.0, 2.0
"""How much more a list of ids is worth, and a sentence of the user that has a number."""
SPEAKER_BOOST = {str(Role.USER): 1.6, str(Role.ASSISTANT): 1.2}
READ, LEAST_READ = 0.1, 5
"""The share of its worth that a line keeps if it can be read again, and the least lines of such a
text."""

CLOSING, COMMANDING = 0.1, 0.1
"""The shares of its worth that a sentence keeps if it is thanks or an offer of more help, and if it
looks like an injection in a tool's text."""

_PATH_KEY = re.compile(r"(?:target_?|absolute_?)?(?:path|file(?:_?(?:path|name))?)", re.IGNORECASE)
_WHOLE_KEY = re.compile(
    r"command|content|contents|file_text|text|data|encoding|description", re.IGNORECASE
)
_COMMAND = re.compile(r"command|cmd|script", re.IGNORECASE)
_FILE_TOOL = re.compile(
    r"(?:^|_)(?:read|write|view|create|save|open|cat)(?:_?file)?(?: |$)", re.IGNORECASE
)
_FAILED = re.compile(
    r"[\W\d]*(?:[\w.]*error\b|failed|failure|could not|cannot|can't|permission denied|access "
    r"denied|no such|not found|unable|traceback|[\"{\s]*(?:ok|success)\"\s?:\s?false)|cat: ",
    re.IGNORECASE,
)
_FAILED_WITHIN = 200
_HUNK = "\n@@ "
_EDITED = re.compile(r"[+-](?![rwx-]{3})\D")
_FIGURE = re.compile(r"(?<!\S)\W?\d")
_STATE = re.compile(r"[a-z]{2,}(?:[ _-][a-z]{2,})?")
"""A value that is one of few: a level, a status, yes or no."""


@define
class _TurnParser:
    """Collects the entries and units of turns, with their token counts."""

    _next: int
    _counter: TokenCounter
    _failure_bonus: float
    _ids: bool
    entries: dict[int, Entry] = field(factory=dict)
    units: list[Unit] = field(factory=list)
    keys: dict[int, str] = field(factory=dict)
    """The keys that results give to the entries of their calls."""
    command: str = ""
    """The shell command that the message before ends with."""

    def add(self, opening: str, turn: Turn, index: int, role: Role, **more: Any) -> int:
        number, self._next = self._next, self._next + 1
        if self._ids and opening and not opening.startswith("["):
            opening = f"[{turn.resource_id}] {opening}"
        entry = Entry(opening, index, str(role), turn.resource_id, **more)
        shown = opening_of(entry, {})  # pyright: ignore[reportArgumentType] - module seen twice
        terms = () if entry.arguments is None else terms_of(shown)
        self.entries[number] = entry._replace(terms=terms, cost=self._cost(shown))
        return number

    def call(self, turn: Turn, index: int, call: ToolCall) -> int:
        """Add a call, with its long arguments as units in place of their names."""
        value = read_json(call.arguments)
        value = value if isinstance(value, dict) else None
        arguments, items = _arguments(call.arguments, value)
        given = value or {}
        shown = call.arguments if value is None else json.dumps(value, sort_keys=True)
        command = next(
            (str(given[key]) for key in given if _COMMAND.fullmatch(key)),
            "" if given else call.arguments,
        )
        number = self.add(
            one_line(call.name),
            turn,
            index,
            Role.TOOL,
            arguments=arguments,
            changes=cues.may_change(call.name, command),
        )
        self.keys[number] = _file_key(call.name, given) or f"{call.name}({shown})"
        units = [*self._of_records(number, [(Record("", "", {}, ""), items)], -1)]
        coming = [unit for unit in units if unit.label and cues.is_open(unit.text)]
        self.units += [
            unit._replace(
                step=unit in coming[: cues.MOST_STEPS], outcome=bool(command) and not place
            )
            for place, unit in enumerate(units)
        ]
        return number

    def result(self, number: int, turn: Turn, index: int) -> None:
        # A failed or truncated result replaces nothing.
        failed = (
            turn.is_gist
            or turn.metadata.get("is_error") is True
            or _FAILED.match(turn.text[:_FAILED_WITHIN])
        )
        entry = self.entries[number]
        changes, key = entry.changes and not turn.is_gist, self.keys.get(number, "")
        self.entries[number] = entry._replace(
            turn=index, id=turn.resource_id, changes=changes, key="" if failed else key
        )
        self._output(number, unframed(turn.text))

    def spoken(self, turn: Turn, index: int) -> None:
        if label := attached_label(turn):
            number = self.add(f"{label}: ", turn, index, Role.TOOL, key=label)
            self._attached(number, _attached(turn))
        else:
            opening = f"{turn.role} {one_line(turn.name)}: " if turn.name else f"{turn.role}: "
            if turn.role is Role.USER and self.command and cues.is_output(turn.text):
                changes = cues.may_change("", self.command)
                self._output(self.add(opening, turn, index, Role.TOOL, changes=changes), turn.text)
            else:
                number = self.add(opening, turn, index, turn.role)
                self._text(number, unnamed(_said(turn), turn.name or ""))

    def gist(self, turn: Turn, index: int) -> None:
        for told in parse_summary(turn):
            number = self.add(told.label, turn, index, told.role)
            if told.label.startswith(ATTACHED):
                self._attached(number, told.text, told.standing)
            else:
                self._text(number, told.text, told.standing)

    def _attached(self, number: int, text: str, demands: Sequence[str] | None = None) -> None:
        """Add the units of what is attached; the first says what it is."""
        before = len(self.units)
        self._text(number, text, demands)
        self.units[before : before + 1] = (
            unit._replace(boost=unit.boost * LIST_BOOST) for unit in self.units[before : before + 1]
        )

    def _output(self, number: int, text: str) -> None:
        """Add the units of a result; of one that can be read again, the first is its size."""
        before = len(self.units)
        self._text(number, text)
        units = self.units[before:]
        if self.entries[number].changes or len(units) < LEAST_READ:
            return
        edits = _HUNK in text
        read = [
            unit._replace(outcome=True) if edits and _EDITED.match(unit.text) else _as_read(unit)
            for unit in units
        ]
        if self.entries[number].opening and all(map(_is_line, units)):
            lines, letters = cues.size_of(text)
            size = left_out(lines, "line") if lines > 1 else left_out(letters, "letter")
            cost = self._cost(size)
            terms = (f"{DECIDES}{number}",)
            first = units[0]._replace(text=size, place=SIZE, terms=terms, cost=cost, outcome=True)
            read.insert(0, first)
        self.units[before:] = read

    def _text(self, number: int, text: str, demands: Sequence[str] | None = None) -> None:
        """Add the units of a text: records as notes, other text by sentences and lines.

        `demands` are those of a line of a gist.
        """
        role = self.entries[number].role
        # Text that a user pasted counts as little as the user's words as the output of a tool.
        hides = (
            flag_injections
            if role == Role.TOOL or (role == Role.USER and not is_prose(text))
            else None
        )
        lead, value = parse_records(text) if demands is None else ("", None)
        prose = text if value is None else lead
        if prose:
            self.units += self._of_prose(
                number, excerpt(prose, demands=role in LAWGIVERS), demands, hides
            )
        if value is not None:
            near, count = outer_records(value, MOST_RECORDS)
            self.entries[number] = self.entries[number]._replace(records=count)
            self.units += self._of_records(
                number, ((record, items_of(record, hides)) for record in near), 1 if prose else 0
            )

    def _of_records(
        self, number: int, records: Iterable[tuple[Record, Sequence[Item]]], first: int
    ) -> Iterator[Unit]:
        turn, is_call = self.entries[number].turn, first < 0
        said = is_call or self.entries[number].role != Role.TOOL
        for nth, (record, items) in enumerate(records, first):
            for place, item in enumerate(items):
                boost = LIST_BOOST if item.lists_ids else 1.0
                subject = "" if is_call or item.label else f"{record.about}\t{item.key}"
                together = len(item.pieces) if item.label or is_call else 0
                for at, piece in enumerate(item.pieces):
                    value = piece.text.removeprefix(item.key)
                    commands = not said and may_command(value) and score(piece.text) > LIKELY
                    terms = () if piece.hidden else terms_of(value)
                    if subject and _STATE.fullmatch(value.strip()):
                        terms = (*terms, f"{DECIDES}{record.about} {piece.text}")
                    yield Unit(
                        number, nth, place, at, turn, *piece, terms, self._cost(piece.text),
                        boost * (COMMANDING if commands else 1.0), said,
                        item.label, item.close, record.parent, record.header,
                        len(items), together, subject=subject,
                    )  # fmt: skip

    def _of_prose(
        self, number: int, text: str, demands: Sequence[str] | None, hides: Hides | None
    ) -> Iterator[Unit]:
        _, turn, role, *_ = self.entries[number]
        said = role != Role.TOOL and hides is None
        if demands is None:
            demands = constraint_sentences(text) if role in LAWGIVERS else ()
        wanted = [*map(one_line, demands)]
        pieces = [*split(text, hides)]
        lines = sentences_in(pieces) if role == Role.ASSISTANT else ()
        planned = cues.planned(lines)
        steps = planned or cues.intended(lines)
        texts = [piece.text for piece in pieces]
        failing = {*cues.failing(texts)}
        command = cues.command_at(texts) if role == Role.ASSISTANT else -1
        for place, piece in enumerate(pieces):
            if place and (piece.text == GAP or cues.is_tag(piece.text)):
                continue  # Printing marks what is left out.
            words, boost = piece.text, SPEAKER_BOOST.get(role, 1.0) if said else 1.0
            terms = () if piece.hidden else terms_of(words)
            if place in failing or (role == Role.TOOL and cues.says_verdict(words)):
                boost *= self._failure_bonus
                terms = (*terms, f"{FAILED}{words}")
            elif role == Role.TOOL and score(words) > LIKELY:
                boost *= COMMANDING
            elif said and cues.is_closer(words):
                boost *= CLOSING
            elif said and role == Role.USER and _FIGURE.search(words):
                boost *= FIGURES
            yield Unit(
                number, 0, 0, place, turn, *piece, terms, self._cost(words), boost, said,
                standing=_is_in(words, wanted), step=(step := _is_in(words, steps)),
                outcome=place == command, intended=step and not planned,
            )  # fmt: skip

    def _cost(self, text: str) -> int:
        return self._counter.count(text) + 1


def parse_turns(
    turns: Sequence[Turn],
    first_entry: int,
    first_turn: int,
    counter: TokenCounter,
    failure_bonus: float = 3.0,
    *,
    ids: bool = False,
) -> tuple[dict[int, Entry], list[Unit]]:
    """Return the entries of `turns` by number and their units in order, with token counts.

    Each result is on the line of its call.
    """
    parser = _TurnParser(first_entry, counter, failure_bonus, ids)
    calls: dict[str | None, int] = {}
    for index, turn in enumerate(turns, first_turn):
        if turn.role is Role.TOOL:
            if turn.tool_call_id not in calls:
                opening = "" if len(turns) == 1 else f"{one_line(turn.name or 'tool')} -> "
                calls[turn.tool_call_id] = parser.add(opening, turn, index, Role.TOOL)
            parser.result(calls.pop(turn.tool_call_id), turn, index)
            continue
        if turn.is_gist:
            parser.gist(turn, index)
        elif turn.text.strip():
            parser.spoken(turn, index)
        calls = {call.id: parser.call(turn, index, call) for call in turn.tool_calls}
        parser.command = _command(turn) if turn.role is Role.ASSISTANT else ""
    return parser.entries, [*with_topics(parser.entries, parser.units)]


def _said(turn: Turn) -> str:
    """Return the words of a turn; a host's reminders in a user's message are not the user's."""
    return without_elements(turn.text, is_reminder) if turn.role is Role.USER else turn.text


def _as_read(unit: Unit) -> Unit:
    """Return a line that can be read again with less worth; an error or a change keeps its own."""
    keeps = not _is_line(unit) or cues.says_failure(unit.text)
    return unit if keeps else unit._replace(boost=unit.boost * READ, read=True)


def _is_line(unit: Unit) -> bool:
    return not (unit.subject or unit.header or unit.label)


def _command(turn: Turn) -> str:
    lines = [*map(str.strip, turn.text.splitlines())]
    place = cues.command_at(lines)
    return "\n".join(lines[place:]) if place >= 0 else ""


def attached_label(turn: Turn) -> str:
    """Return the label of the line of an attachment, or "" if `turn` is not one."""
    attachment = attachment_of(turn)
    return f"{ATTACHED}{attachment.type} {attachment.name}" if attachment else ""


def _attached(turn: Turn) -> str:
    from polycontext.window.items import fenced_text  # noqa: PLC0415 - only for attachments

    outline = [entry.text for entry in attached_outline(turn)]
    body = fenced_text(turn.text)[1]
    return "\n".join(outline) or (body if body.strip() else NO_TEXT)


def _arguments(
    text: str, value: Mapping[str, Any] | None
) -> tuple[tuple[str, ...], tuple[Item, ...]]:
    """Return the arguments of a call as shown, and the pieces of those that are long.

    Each is shown completely or as its name.
    """
    if value is None:
        short = one_line(text)
        if len(short) <= SHOWN_ARGUMENT:
            return (short,) if short else (), ()
        return ("=",), (Item("", tuple(split(excerpt(text)))),)
    shown: list[tuple[str, Item]] = []
    left = SHOWN_ARGUMENTS
    for key, told in list(value.items())[:MOST_ARGUMENTS]:
        item = item_of(key, excerpt(told) if isinstance(told, str) else told, "=")
        whole = item.label + (item.pieces[0].text if item.pieces else '""') + item.close
        if len(item.pieces) <= 1 and len(whole) <= min(SHOWN_ARGUMENT, left):
            left -= len(whole)
            shown.append((whole, _NO_ITEM))
        else:
            shown.append((f"{one_line(key)}=", item))
    if len(value) > MOST_ARGUMENTS:
        shown.append((left_out(len(value) - MOST_ARGUMENTS, "argument"), _NO_ITEM))
    return tuple(text for text, _ in shown), tuple(item for _, item in shown)


_NO_ITEM = Item("", ())
"""Stands for an argument that is shown completely."""


def _file_key(name: str, value: Mapping[str, Any]) -> str:
    """Return a key that is equal for calls that read or write the same part of a file.

    The key is empty for other calls.
    """
    path = next(
        (value[key] for key in value if _PATH_KEY.fullmatch(key) and isinstance(value[key], str)),
        "",
    )
    if not path or not _FILE_TOOL.search(f"{name} {value.get('command', '')}"):
        return ""
    part = [
        f"{key}={told}"
        for key, told in value.items()
        if not _PATH_KEY.fullmatch(key) and not _WHOLE_KEY.fullmatch(key)
    ]
    return " ".join(("file", normpath(path), *sorted(part)))


def _is_in(words: str, sentences: Collection[str]) -> bool:
    return bool(sentences) and any(words in sentence or sentence in words for sentence in sentences)
