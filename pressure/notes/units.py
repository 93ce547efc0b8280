"""Read turns into entries, the lines of a summary, and units, the whole pieces that may be said on them; both are kept flat.

One entry is what somebody said (``user: ...``) or a call with its result (``search(city=Ulm) -> ...``). A gist among the turns
is read back into the entries that it was printed as.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import normpath
from typing import Any, NamedTuple

from polycontext.linearity import constraint_sentences
from polycontext.pressure.gist import NO_TEXT, SUMMARY_END, attachment_in, unframed
from polycontext.pressure.notes import cues
from polycontext.pressure.notes.excerpt import MOST_CHARS, excerpt
from polycontext.pressure.notes.injections import LIKELY, injected, score
from polycontext.pressure.notes.pieces import Hides, Piece, split
from polycontext.pressure.notes.printing import CONVERSATION, GAP, NEXT, STANDING, left_out, opening_of
from polycontext.pressure.notes.records import Item, Literal, Record, item_of, parsed, records_of
from polycontext.pressure.notes.terms import FAILED, is_prose, terms_of
from polycontext.window import Role, TokenCounter, ToolCall, Turn

MODEL_TITLES = ("Task:", "Constraints:", "Decisions:", "Facts:", "Files:", "Errors:", "Done:", "Open:", "Next step:")
TITLES = frozenset((STANDING, NEXT, CONVERSATION, *MODEL_TITLES))
"""The headings of notes, and those of a model's: no line of a summary."""

LAWGIVERS = frozenset({Role.USER, Role.SYSTEM})
ATTACHED = "attached "
EARLIER = "earlier: "
"""Stands before what a gist that came in says in another's name."""

SHOWN_ARGUMENT, SHOWN_ARGUMENTS, MOST_ARGUMENTS = 40, 60, 40
"""How many characters an argument, and all of a call, may have to be shown whenever the call is; how many arguments are."""

MOST_RECORDS = 4_000
"""How many records of one text are read in detail, half at either end."""

LIST_BOOST, USER_BOOST, CHANGING = 2.0, 1.5, 1.5
COMMANDING = 0.1
"""What is left of the worth of a sentence in a tool's text that looks like an injection."""

_CHANGING_ARGUMENT = re.compile(
    r"(?:new|content|text|value|body|command|code|replace|insert|status|message|data|patch|file_text)", re.IGNORECASE
)
_PATH_KEY = re.compile(r"(?:target_?|absolute_?)?(?:path|file(?:_?(?:path|name))?)", re.IGNORECASE)
_WHOLE_KEY = re.compile(r"command|content|contents|file_text|text|data|encoding|description", re.IGNORECASE)
_FILE_TOOL = re.compile(r"(?:^|_)(?:read|write|view|create|save|open|cat)(?:_?file)?(?: |$)", re.IGNORECASE)
_FAILED = re.compile(
    r"[\W\d]*(?:[\w.]*error\b|failed|failure|could not|cannot|can't|permission denied|access denied|no such|not found|unable|traceback|[\"{\s]*(?:ok|success)\"\s?:\s?false)|cat: ",
    re.IGNORECASE,
)
_FAILED_WITHIN = 200
SPOKEN_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?((?:system|user|assistant|tool)(?: [^:\n]{1,64})?): ")
CALL_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?([\w.-]{1,64})(?:\((.*?)\)(?: -> |\Z)| -> (?=\S))", re.DOTALL)
_NEW_LINE = re.compile(r"\n(?=\S)")


class Entry(NamedTuple):
    """Hold a line of a summary: what it begins with, the turn it ended in, the speaker's role, and the id of that turn.

    `arguments` are a call's, each whole or a name and ``=`` that units go on from; None for what is no call. A later entry of the
    same `key` has the current text. `records` is how many records its result has.
    """

    opening: str
    turn: int
    role: str
    id: str
    arguments: tuple[str, ...] | None = None
    key: str = ""
    records: int = 0
    terms: tuple[str, ...] = ()
    cost: int = 0


class Unit(NamedTuple):
    """Hold a whole piece of an entry, or a marked part of a long one: where it stands, its text, and what is printed around it.

    `record` is -1 for the arguments of a call, `item` the pair and `place` the piece in it; `items` is how many pairs the record
    has, `pieces` how many pieces the pair has where all of them belong together. `subject` is what the unit tells of: a later unit with the same subject is newer; `was` is the value that it replaces.
    """

    entry: int
    record: int
    item: int
    place: int
    turn: int
    text: str
    terms: tuple[str, ...] = ()
    cost: int = 0
    boost: float = 1.0
    glue: str = " "
    opens: bool = True
    ends: bool = True
    under: int = -1
    label: str = ""
    close: str = ""
    parent: str = ""
    header: str = ""
    items: int = 1
    pieces: int = 0
    said: bool = False
    standing: bool = False
    step: bool = False
    hidden: bool = False
    subject: str = ""
    was: str = ""


class Told(NamedTuple):
    """Hold a line of an earlier summary: what it begins with, who speaks, what it says, and what it demands."""

    label: str
    role: Role
    text: str
    is_call: bool = False
    standing: tuple[str, ...] = ()


class _Reading:
    """Collect the entries and units of turns."""

    def __init__(self, first_entry: int, failure_bonus: float, *, ids: bool) -> None:
        self.entries: dict[int, Entry] = {}
        self.units: list[Unit] = []
        self._keys: dict[int, str] = {}
        self._next, self._failure_bonus, self._ids = first_entry, failure_bonus, ids

    def add(self, turn: Turn, index: int, opening: str, role: Role, *, arguments: tuple[str, ...] | None = None, key: str = "") -> int:
        number, self._next = self._next, self._next + 1
        shown = f"[{turn.resource_id}] {opening}" if self._ids and opening and not opening.startswith("[") else opening
        self.entries[number] = Entry(shown, index, str(role), turn.resource_id, arguments, key)
        return number

    def call(self, turn: Turn, index: int, call: ToolCall) -> int:
        """Add a call; its long arguments are units, each in the place of its name."""
        value = _object(call.arguments)
        arguments, items = _arguments(call.arguments, value)
        shown = call.arguments if value is None else json.dumps(value, sort_keys=True)
        number = self.add(turn, index, one_line(call.name), Role.TOOL, arguments=arguments)
        self._keys[number] = _file_key(call.name, value or {}) or f"{call.name}({shown})"
        units = [*self._of_records(number, index, [Record("", "", items, "")], said=True, record=-1)]
        coming = [unit for unit in units if unit.label and cues.is_open(unit.text)][: cues.MOST_STEPS]
        self.units += [unit._replace(step=True) if unit in coming else unit for unit in units]
        return number

    def result(self, number: int, turn: Turn, index: int) -> None:
        text = unframed(turn.text)
        # What failed, or is cut, takes the place of nothing.
        failed = turn.is_gist or turn.metadata.get("is_error") is True or _FAILED.match(text[:_FAILED_WITHIN]) is not None
        key = "" if failed else self._keys.get(number, "")
        self.entries[number] = self.entries[number]._replace(turn=index, id=turn.resource_id, key=key)
        self._text(number, index, text, Role.TOOL)

    def spoken(self, turn: Turn, index: int) -> None:
        label = attached_label(turn)
        role = Role.TOOL if label else turn.role
        opening = label or (f"{turn.role} {one_line(turn.name)}" if turn.name else str(turn.role))
        number = self.add(turn, index, f"{opening}: ", role, key=label)
        self._text(number, index, _attached(turn) if label else turn.text, role)

    def gist(self, turn: Turn, index: int) -> None:
        for told in told_in(turn):
            number = self.add(turn, index, told.label, told.role)
            self._text(number, index, told.text, told.role, demands=told.standing, parse=False)

    def _text(
        self,
        number: int,
        index: int,
        text: str,
        role: Role,
        *,
        demands: Sequence[str] | None = None,
        parse: bool = True,
    ) -> None:
        """Add the units of what was said or answered: records as notes, all else by sentences and lines."""
        is_tool = role is Role.TOOL
        # What a user pasted is as little the user's words as what a tool said.
        hides = injected if is_tool or (role is Role.USER and not is_prose(text)) else None
        lead, value = parsed(text) if parse else ("", None)
        record = 0
        if value is None or lead:
            prose = excerpt(lead if value is not None else text, demands=role in LAWGIVERS)
            self.units += self._of_prose(number, index, prose, role, demands=demands, hides=hides)
            record = 1
        if value is not None:
            records = [*records_of(value, hides)]
            self.entries[number] = self.entries[number]._replace(records=len(records))
            near = records if len(records) <= MOST_RECORDS else [*records[: MOST_RECORDS // 2], *records[-MOST_RECORDS // 2 :]]
            for unit in self._of_records(number, index, near, said=not is_tool, record=record):
                self.units.append(unit._replace(boost=unit.boost * COMMANDING) if is_tool and score(unit.text) > LIKELY else unit)

    def _of_records(self, number: int, index: int, records: Iterable[Record], *, said: bool, record: int) -> Iterator[Unit]:
        for nth, (parent, header, items, about) in enumerate(records, record):
            for place, item in enumerate(items):
                boost = (LIST_BOOST if item.lists_ids else 1.0) * (CHANGING if record < 0 and _CHANGING_ARGUMENT.match(item.key) else 1.0)
                for at, piece in enumerate(item.pieces):
                    yield Unit(
                        number, nth, place, at, index, piece.text, terms_of(_value_of(item, piece)), 0, boost, piece.glue, piece.opens,
                        piece.ends, piece.under, item.label, item.close, parent, header, len(items),
                        len(item.pieces) if item.label or record < 0 else 0, said, hidden=piece.hidden,
                        subject="" if record < 0 or item.label else f"{about}\t{item.key}",
                    )  # fmt: skip

    def _of_prose(
        self, number: int, index: int, text: str, role: Role, *, demands: Sequence[str] | None, hides: Hides | None
    ) -> Iterator[Unit]:
        said = role is not Role.TOOL and hides is None
        demanded = constraint_sentences(text) if demands is None and role in LAWGIVERS else demands or ()
        wanted = [one_line(sentence) for sentence in demanded]
        steps = [one_line(step) for step in _steps(text)] if role is Role.ASSISTANT else []
        pieces = [*split(text, hides)]
        frames = {*_frames(pieces)}
        for place, piece in enumerate(pieces):
            words = piece.text
            terms = () if piece.hidden else terms_of(words)
            boost = 1.0
            if place in frames or cues.says_failure(words):
                boost *= self._failure_bonus
                terms = (*terms, f"{FAILED}{words}")
            elif not said and role is not Role.USER and score(words) > LIKELY:
                boost *= COMMANDING
            if said and role is Role.USER:
                boost *= USER_BOOST
            yield Unit(
                number, 0, 0, place, index, words, terms, 0, boost, piece.glue, piece.opens, piece.ends, piece.under, said=said, standing=_is_in(words, wanted), step=_is_in(words, steps), hidden=piece.hidden,
            )  # fmt: skip


def read(
    turns: Sequence[Turn], first_entry: int, first_turn: int, counter: TokenCounter, failure_bonus: float = 3.0, *, ids: bool = False
) -> tuple[dict[int, Entry], list[Unit]]:
    """Return the entries of `turns` by number and their units, in order, counted; each result stands on the line of its call."""
    reading = _Reading(first_entry, failure_bonus, ids=ids)
    calls: dict[str, int] = {}
    for index, turn in enumerate(turns, first_turn):
        if turn.role is Role.TOOL:
            number = calls.pop(turn.tool_call_id or "", None)
            if number is None:
                opening = "" if len(turns) == 1 else f"{one_line(turn.name or 'tool')} -> "
                number = reading.add(turn, index, opening, Role.TOOL)
            reading.result(number, turn, index)
            continue
        if turn.is_gist:
            reading.gist(turn, index)
        elif turn.text.strip():
            reading.spoken(turn, index)
        calls = {call.id: reading.call(turn, index, call) for call in turn.tool_calls}
    costs: dict[str, int] = {}
    for number, entry in reading.entries.items():
        opening = opening_of(entry, {})  # pyright: ignore[reportArgumentType] - it sees this module twice
        if opening not in costs:
            costs[opening] = counter.count(opening) + 1
        terms = terms_of(opening) if entry.arguments is not None else ()
        reading.entries[number] = entry._replace(terms=terms, cost=costs[opening])
    return reading.entries, [unit._replace(cost=counter.count(unit.text) + 1) for unit in reading.units]


def one_line(text: str) -> str:
    """Return `text` with its white space as single spaces."""
    return " ".join(text.split())


def attached_label(turn: Turn) -> str:
    """Return what the line of an attachment begins with; empty where `turn` is none."""
    attachment = attachment_in(turn)
    return f"{ATTACHED}{attachment.type} {attachment.name}" if attachment else ""


def _attached(turn: Turn) -> str:
    from polycontext.window.items import attached_outline, fenced_text  # noqa: PLC0415 - for those who attach something

    outline = [entry.text for entry in attached_outline(turn)]
    return "\n".join(outline) or fenced_text(turn.text)[1] or NO_TEXT


def told_in(gist: Turn) -> Iterator[Told]:
    """Yield the lines of a summary that stands in a conversation; of one that came in only the user's own words are taken as such.

    What carries no label there may be the user's too, who wrote something that looks like a summary: what it demands stands.
    """
    trusted, under = bool(gist.sources), ""
    text = unframed(gist.text.strip())
    for block in _NEW_LINE.split(text if trusted else excerpt(text, demands=True)):
        line = "\n".join(filter(None, map(one_line, block.splitlines())))
        if line in TITLES:
            under = line
        if not line or line == SUMMARY_END or line in TITLES:
            continue
        spoken, called = SPOKEN_LINE.match(line), CALL_LINE.match(line)
        if spoken and (trusted or spoken[1].partition(" ")[0] == Role.USER):
            role, said = Role(spoken[1].partition(" ")[0]), line[spoken.end() :]
            # What stands under these headings was checked when the gist was made (`Quotes`).
            is_quote = trusted and role is Role.USER and under in (STANDING, "Constraints:")
            yield Told(line[: spoken.end()], role, said, standing=tuple(said.split(f" {GAP} ")) if is_quote else _demands(said, role))
        elif called:
            yield Told(line[: called.end()], Role.TOOL, line[called.end() :], is_call=True)
        else:
            yield Told(
                "" if trusted else EARLIER, Role.ASSISTANT, line, standing=() if trusted or spoken else tuple(constraint_sentences(line))
            )


def _demands(text: str, role: Role) -> tuple[str, ...]:
    return tuple(constraint_sentences(text)) if role in LAWGIVERS else ()


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text, parse_float=Literal, parse_int=Literal)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _arguments(text: str, value: Mapping[str, Any] | None) -> tuple[tuple[str, ...], tuple[Item, ...]]:
    """Return the arguments of a call as they are shown, each whole or as its name, and the pieces of those that are long."""
    if value is None:
        short = one_line(text)
        if len(short) <= SHOWN_ARGUMENT:
            return (short,) if short else (), ()
        return ("=",), (Item("", tuple(split(excerpt(text)))),)
    shown: list[str] = []
    items: list[Item] = []
    left = SHOWN_ARGUMENTS
    for key, told in list(value.items())[:MOST_ARGUMENTS]:
        item = item_of(key, excerpt(told) if isinstance(told, str) else told, "=")
        whole = item.label + item.pieces[0].text + item.close if len(item.pieces) == 1 else ""
        fits = bool(whole) and len(whole) <= SHOWN_ARGUMENT and len(whole) <= left
        left -= len(whole) if fits else 0
        shown.append(whole if fits else f"{one_line(key)}=")
        # What goes on behind its name is printed there: it stands without one.
        items.append(Item("", ()) if fits else item)
    if len(value) > MOST_ARGUMENTS:
        shown.append(left_out(len(value) - MOST_ARGUMENTS, "argument"))
        items.append(Item("", ()))
    return tuple(shown), tuple(items)


def _file_key(name: str, value: Mapping[str, Any]) -> str:
    """Return what tells that a call reads or writes all of a file, or the same part of it; empty where it does neither."""
    path = next((value[key] for key in value if _PATH_KEY.fullmatch(key) and isinstance(value[key], str)), "")
    if not path or not _FILE_TOOL.search(f"{name} {value.get('command', '')}"):
        return ""
    part = [f"{key}={told}" for key, told in value.items() if not _PATH_KEY.fullmatch(key) and not _WHOLE_KEY.fullmatch(key)]
    return " ".join(("file", normpath(path), *sorted(part)))


def _value_of(item: Item, piece: Piece) -> str:
    return "" if piece.hidden else piece.text.removeprefix(item.key)


def _steps(text: str) -> list[str]:
    spans = cues.open_items(text) if len(text) <= MOST_CHARS else []
    intended = cues.intention(text) if not spans else None
    return [text[start:end] for start, end in ([intended] if intended else spans)]


def _is_in(words: str, sentences: Sequence[str]) -> bool:
    return any(words in sentence or sentence in words for sentence in sentences)


def _frames(pieces: Sequence[Piece]) -> Iterator[int]:
    """Yield the places of the frame nearest to each error: the last before it with its line of code, or the first right behind it."""
    frame, error = -1, -2
    for place, piece in enumerate(pieces):
        if cues.is_frame(piece.text):
            if place == error + 1:
                yield place
            frame = place
        elif cues.says_failure(piece.text):
            if frame >= 0:
                yield from (frame, frame + 1)
            frame, error = -1, place
