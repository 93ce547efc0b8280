"""Parse the text of a view independently of the summariser, into entries and pairs.

Each pair of key and value comes with its record.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from attrs import field, frozen

from benchmarks.retention.recordings import Message
from polycontext.pressure.gist import is_gist_text

MARK = re.compile(
    r"\[… [^\]\n]{1,80}\]|\[?…(?: ?\(?[\d,]+ (?:more )?"
    r"(?:lines?|rows?|items?|records?|entries|characters|letters|tokens)"
    r"(?: [a-z]+){0,3}\)?)?(?: ?…)?\]?"
)
"""A mark of an omission: an ellipsis, optionally with a count."""
TIMES = re.compile(r" \((?:×\d+|\d+×)(?:, the last shown|, before: .*?)?\)(?= ->|\n|$)")
"""How often a line or a call occurs."""
WAS = re.compile(r" ?\((?:was|were|before:?|formerly) ([^()]*)\)")
"""A note of the previous value."""
HEADER = re.compile(r"((?:[^\s:,\"{}\[\]]|:(?=\S))+(?: (?:[^\s:,\"{}\[\]]|:(?=\S))+){0,7}): ?")
SPEAKER = re.compile(
    r"(?:\[[^\]\n]{3,40}\] )?(?:system|user|assistant|tool|earlier)(?: [^:\n]{1,64})?: "
)
"""Who says a line, optionally with the date in brackets before it."""
TOLD = re.compile(
    r"`|(?:failed to edit|wrote|edited|removed|put back|committed|undone[^:\n]*"
    r"|\d+ (?:undone )?commits|thought|read|from|output)\b:? ?"
)
"""The beginning of an entry that tells what was done or read in words of its own."""
CALLED = re.compile(r"([\w.-]{1,64})(?=\(| ->|$)")

_ENTRY = re.compile(r"\n(?=\S)")
_ID_KEY = re.compile(r"(?:.*[_-])?(?:id|number|no|code|uuid|sku|key)|.*[a-z]Id", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:…]|[^\s{}\[\],:"…]+|"')
_WAS_END = re.compile(r" ?\(was .*\)$")
_LISTED = re.compile(r"(?:\([\d,]+\) )?\[(.*?)\]?")
_BRACED = re.compile(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_RULE, _HEAD = re.compile(r"[\s|:+-]+"), re.compile(r"[^\W\d][\w .-]{0,30}")
_IDENTIFIER = re.compile(r"(?=\D*\d)[\w.@:/#-]{3,60}")


class Pair(NamedTuple):
    """A statement that `key` is `value` in the record called `record`, or None if it has no name.

    `names` says that the value is the record's name.
    """

    record: str | None
    key: str
    value: Any
    names: bool = False


def spelled(value: Any) -> str:
    """Return a scalar as text without quotes and with white space normalised."""
    return (
        " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )


def pairs_of(value: Any, record: str | None = None, key: str = "") -> Iterator[Pair]:
    """Yield every pair of a JSON value, of scalars and of containers.

    >>> [
    ...     (pair.record, pair.key, pair.value)
    ...     for pair in pairs_of([{"id": "R1", "price": 9}, {"id": "R2", "price": 7}])
    ... ]
    [('R1', 'id', 'R1'), ('R1', 'price', 9), ('R2', 'id', 'R2'), ('R2', 'price', 7)]
    """
    if isinstance(value, dict):
        named = identifier(value)
        inner = spelled(value[named]) if named else record
        for each, told in value.items():
            if isinstance(told, dict | list):
                yield Pair(inner, each, told)
            yield from (
                pairs_of(told, inner, each)
                if isinstance(told, dict | list)
                else [Pair(inner, each, told, each == named)]
            )
    elif isinstance(value, list):
        for each in value:
            yield from pairs_of(each, record, key)
    else:
        yield Pair(record, key, value)


def identifier(value: Mapping[str, Any]) -> str | None:
    """Return the key that names a record, which is the first identifier key in it."""
    return next(
        (
            key
            for key, told in value.items()
            if _ID_KEY.fullmatch(key) and isinstance(told, str | int) and told != ""
        ),
        None,
    )


@lru_cache(20_000)
def parsed(text: str) -> Any:
    r"""Return the object or list that `text` holds as JSON, JSON lines or a table, or None.

    >>> parsed("id,price\nR1,9\nR2,7")
    [{'id': 'R1', 'price': '9'}, {'id': 'R2', 'price': '7'}]
    """
    for read in (json.loads, _json_lines, _table):
        try:
            found = read(text)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict | list) else None
    return None


def _json_lines(text: str) -> list[Any]:
    return (
        [json.loads(line) for line in text.splitlines() if line]
        if text.lstrip()[:1] == "{" and "\n" in text
        else json.loads("")
    )


def _table(text: str) -> list[dict[str, str]]:
    """Return the rows of a table by column name; all lines must have equally many cells."""
    lines = text.strip().splitlines()
    for sign in ",\t;|":
        rows = [
            [cell.strip() for cell in line.strip("|").split(sign)]
            for line in lines
            if not _RULE.fullmatch(line)
        ]
        if (
            len(rows) > 2  # noqa: PLR2004 - heads and two rows
            and len(rows[0]) > 1
            and len({len(row) for row in rows}) == 1
            and all(map(_HEAD.fullmatch, rows[0]))
        ):
            return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    raise ValueError("no table")


def record_of(arguments: str) -> str | None:
    """Return the identifier that a call asked about, its first argument that looks like one."""
    value = parsed(arguments)
    told = value.values() if isinstance(value, dict) else ()
    return next(
        (each for each in told if isinstance(each, str) and _IDENTIFIER.fullmatch(each)), None
    )


def fragment_pairs(text: str, record: str | None) -> Iterator[Pair]:
    """Yield the pairs in fragments of JSON; after an omission mark the record is unknown.

    >>> list(fragment_pairs('"garden", "breakfast": true}, {"id": "R2", "price": 7', None))
    [Pair(record=None, key='', value='garden', names=False), \
Pair(record=None, key='breakfast', value=True, names=False), \
Pair(record='R2', key='id', value='R2', names=True), \
Pair(record='R2', key='price', value=7, names=False)]
    """
    stack, listed, key = [dict[str, list[Any]]()], [0], ""
    tokens = _TOKEN.findall(text)
    for sign, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if sign == "{":
            stack.append({})
            listed.append(0)
        elif sign == "}" or (sign == "…" and listed[-1] <= 0):
            for told in stack[-1:] if sign == "}" else reversed(stack):
                yield from _read(told, stack, record)
            goes_on = sign == "}" and len(stack) > 1
            stack, listed = (stack[:-1], listed[:-1]) if goes_on else ([{}], [0])
            key = ""
        elif sign in "[]":
            listed[-1] += 1 if sign == "[" else -1
        elif sign == "," and listed[-1] <= 0:
            key = ""
        elif after == ":" and sign[0] == '"':
            key = sign.strip('"')
        elif sign not in ',…:"':
            stack[-1].setdefault(key, []).append(_scalar(sign))
    for told in reversed(stack):
        yield from _read(told, stack, record)


def _read(
    told: Mapping[str, list[Any]], stack: Sequence[Mapping[str, list[Any]]], record: str | None
) -> Iterator[Pair]:
    firsts = [{key: values[0] for key, values in each.items()} for each in (told, *reversed(stack))]
    named = identifier(firsts[0])
    inner = next((spelled(each[key]) for each in firsts if (key := identifier(each))), record)
    for key, values in told.items():
        yield from (Pair(inner, key, value, key == named) for value in values)


def _scalar(sign: str) -> Any:
    try:
        return json.loads(sign)
    except ValueError:
        return sign.strip('"')


def segments(text: str) -> list[str]:
    """Split notes at their commas outside quotes and brackets.

    >>> segments('hotel "Post, old", beds [1, 2], …')
    ['hotel "Post, old"', 'beds [1, 2]', '…']
    """
    found, depth, quoted, start = list[str](), 0, False, 0
    for place, letter in enumerate(text):
        if letter == '"' and text[place - 1 : place] != "\\":
            quoted = not quoted
        elif not quoted:
            depth = max(0, depth + (letter in "{[(") - (letter in "}])"))
            if letter == "," and not depth and text[place + 1 : place + 2] in ("", " ", "\n"):
                found.append(text[start:place].strip())
                start = place + 1
    return [*found, rest] if (rest := text[start:].strip()) else found


def note_pairs(
    text: str, keys: Collection[str], record: str | None, *, headed: bool = False
) -> list[Pair]:
    """Return the pairs of a note ``key value, key value``.

    A segment that does not start with a known key belongs to the value before it. Text in braces is
    a note of its own. It is about the record that it names, as is any note that is not `headed` by
    its record.

    >>> note_pairs("hotel Post, late check-in, price 9", {"hotel", "price"}, "R1")
    [Pair(record='R1', key='hotel', value='Post, late check-in', names=False), \
Pair(record='R1', key='price', value='9', names=False)]
    >>> [
    ...     pair.record
    ...     for pair in note_pairs("rooms [{id R1, price 9}]", {"rooms", "id", "price"}, None)
    ... ]
    [None, 'R1', 'R1']
    """
    found = list[Pair]()
    for segment in segments(text):
        words = re.match(r"([^\s:=]+)[ :=]", segment)
        key = words[1] if words and words[1] in keys else _longest(segment, keys)
        if not key and found and not MARK.fullmatch(segment):
            found[-1] = found[-1]._replace(value=f"{found[-1].value}, {segment}")
        elif not MARK.fullmatch(segment):
            found.append(Pair(record, key, segment[len(key) :].lstrip(" :=")))
    named = identifier({pair.key: pair.value for pair in found if not MARK.fullmatch(pair.value)})
    if named and not headed:
        of = next(_unquoted(pair.value) for pair in found if pair.key == named)
        found = [pair._replace(record=of, names=pair.key == named) for pair in found]
    return [each for pair in found for each in (pair, *_inner(pair, keys))]


def _longest(segment: str, keys: Iterable[str]) -> str:
    spaced = (
        key
        for key in keys
        if " " in key
        and segment.startswith(key)
        and segment[len(key) : len(key) + 1] in (" ", ":", "=")
    )
    return max(spaced, key=len, default="")


def _inner(pair: Pair, keys: Collection[str]) -> Iterator[Pair]:
    for braced in _BRACED.findall(pair.value):
        yield from note_pairs(braced, keys, pair.record)


def _unquoted(text: str) -> str:
    value = parsed(f"[{text}]") if text.startswith('"') else None
    return str(value[0]) if value else text


def values_in(text: str) -> list[str]:
    """Return the values that a text in notes may state: one scalar, or the elements of a list.

    >>> values_in('[A1, "B2"]'), values_in('"12" (was 11)'), values_in("(9) [A1, …]")
    (['A1', 'B2'], ['12'], ['A1', '…'])
    """
    now = _WAS_END.sub("", text).strip()
    listed = _LISTED.fullmatch(now)
    return (
        [_unquoted(each.strip()) for each in listed[1].split(",")] if listed else [_unquoted(now)]
    )


@frozen
class Entry:
    """One entry of a view: its text, its call with arguments, and what is said after them."""

    text: str
    name: str = ""
    arguments: str = ""
    said: str = ""
    is_gist: bool = field(default=False)

    @property
    def record(self) -> str | None:
        """Return the identifier that the call of the entry asked about."""
        told = (segment.partition("=")[2] for segment in segments(self.arguments))
        scraps = (
            (pair.value for pair in fragment_pairs(self.arguments, None))
            if '":' in self.arguments
            else told
        )
        return record_of(self.arguments) or next(
            (each for each in scraps if isinstance(each, str) and _IDENTIFIER.fullmatch(each)), None
        )


def body_of(message: Message) -> str | None:
    """Return a gist's text without its frame, or None for any other message."""
    text = content_of(message)
    return text.partition("\n")[2].rpartition("\n[")[0] if is_gist_text(text) else None


def content_of(message: Message) -> str:
    """Return the text of a message."""
    content = message.get("content")
    return (
        content
        if isinstance(content, str)
        else " ".join(part.get("text", "") for part in content or ())
    )


def entries_of(messages: Sequence[Message], names: Iterable[str] = ()) -> Iterator[Entry]:
    """Yield the entries of a list: each entry of a gist, each other message, results with calls."""
    calls = dict[str, Mapping[str, str]]()
    tools = {
        *names,
        *(
            call["function"]["name"]
            for message in messages
            for call in message.get("tool_calls") or ()
        ),
    }
    for message in messages:
        body = body_of(message)
        if body is not None:
            yield from gist_entries(body, tools)
            continue
        call = calls.get(message.get("tool_call_id") or "", {})
        said = content_of(message)
        yield Entry(said, call.get("name", ""), call.get("arguments", ""), said)
        for each in message.get("tool_calls") or ():
            # An id may be used again: a result belongs to the latest call.
            calls[each["id"]] = each["function"]
            yield Entry(
                each["function"]["arguments"],
                each["function"]["name"],
                each["function"]["arguments"],
            )


def gist_entries(body: str, tools: Iterable[str]) -> Iterator[Entry]:
    """Yield the entries of a gist's body, each with the indented lines below it."""
    known = frozenset(tools)
    yield from (gist_entry(text, known) for text in _ENTRY.split(body))


def gist_entry(text: str, tools: Iterable[str]) -> Entry:
    """Return a parsed entry of a gist.

    >>> entry = gist_entry('look({"id": "R1", …}) -> R1: price 9', {"look"})
    >>> entry.name, entry.arguments, entry.said
    ('look', '{"id": "R1", …}', 'R1: price 9')
    """
    text = TIMES.sub("", text)
    called = CALLED.match(text)
    if called and called[1] in tools:
        rest = text[called.end() :]
        opened, arrow, said = rest.partition(") ->") if rest.startswith("(") else ("", "", rest)
        if rest.startswith("(") and not arrow:
            opened = rest.rstrip().removesuffix(") …").removesuffix(")")
        return Entry(text, called[1], opened[1:], said.removeprefix(" ->").strip(), is_gist=True)
    spoken = SPEAKER.match(text)
    return Entry(text, said=text[spoken.end() :] if spoken else text, is_gist=True)


def said_pairs(entry: Entry, keys: Collection[str], records: Collection[str]) -> Iterator[Pair]:
    """Yield the pairs in an entry's arguments and text, read as JSON, fragments of it, or notes."""
    yield from _pairs_in(entry.arguments, keys, None, ())
    value = parsed(entry.said)
    if value is not None or '":' in entry.said:
        yield from (
            pairs_of(value, entry.record)
            if value is not None
            else fragment_pairs(entry.said, entry.record)
        )
    elif entry.is_gist:
        for line in entry.said.split("\n"):
            yield from _pairs_in(line.strip(), keys, entry.record, records)


def _pairs_in(
    text: str, keys: Collection[str], record: str | None, records: Collection[str]
) -> Iterator[Pair]:
    value = parsed(text)
    if value is not None or '":' in text:
        yield from pairs_of(value, record) if value is not None else fragment_pairs(text, record)
        return
    headed = HEADER.match(text)
    words = headed[1].split() if headed else []
    named = [word for word in ((headed[1],) if headed else ()) + tuple(words) if word in records]
    if named:
        yield Pair(named[-1], "", named[-1], names=True)
    below = text[headed.end() :].partition(" ")[0] in keys if headed else False
    is_header = bool(named) or (
        (len(words) > 1 or below) and all(word in keys or word.startswith("#") for word in words)
    )
    yield from note_pairs(
        text[headed.end() :] if headed and is_header else text,
        keys,
        named[-1] if named else record,
        headed=bool(named),
    )
