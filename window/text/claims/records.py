"""Records: objects of JSON in a text, each a claim about the thing that its identifying fields name."""

import re
from collections.abc import Mapping
from itertools import islice

from attrs import define, field

from polycontext.window.text.claims.claim import MOST_FIELDS, Asked, Claim, Key, Trust, Value, is_plain
from polycontext.window.text.claims.wording import GENERIC_KEYS, ID_KEYS, SCOPE_KEYS, STATES, UNIQUE_KEYS
from polycontext.window.text.segments import Span

_DEEPEST = 40
_FEWEST = 3
_LONGEST = 200
_OPENING = re.compile(r"\{\s?\"")
_TOKEN = re.compile(
    r"\"(?P<string>[^\"\\]*+(?:\\.[^\"\\]*+)*+)(?:\"|\Z)(?P<colon>\s*+:)?|(?P<bracket>[{}\[\]])|(?P<plain>-?\d[\d.eE+-]*+|true|false|null)",
    re.DOTALL,
)
_CODE = re.compile(r"(?=[^a-z\s]*\d)[^a-z\s]{3,40}")


@define
class _Open:
    """Hold an object or array that is still open."""

    is_object: bool
    start: int
    name: str = ""
    fields: dict[str, Value] = field(factory=dict)
    inner: list[Claim] = field(factory=list)


def records(text: str, asked: Asked) -> tuple[list[Claim], list[Span]]:
    """Return the claims of the objects in `text`, and the spans of `text` outside of them; what is not well-formed is text."""
    found: list[Claim] = []
    outside: list[Span] = []
    at = 0
    while opening := _OPENING.search(text, at):
        start = opening.start()
        # An array that the objects stand in belongs to them.
        start = start - 1 if start > at and text[start - 1] == "[" else start
        claims, end = _read(text, start, asked)
        if start > at:
            outside.append((at, start))
        found += claims
        at = end
    return found, [*outside, (at, len(text))] if at < len(text) else outside


def _read(text: str, start: int, asked: Asked) -> tuple[list[Claim], int]:  # noqa: C901 - the grammar, case by case
    """Read one object or array; return its claims and where it ends, or where it ceases to be one."""
    stack: list[_Open] = []
    found: list[Claim] = []
    name, named = "", -1
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup
        top = stack[-1] if stack else None
        if kind == "colon":
            if top is None or not top.is_object or named >= 0:
                return found, match.end()
            name, named = match["string"], match.start()
        elif kind == "bracket" and match[0] in "{[":
            if len(stack) > _DEEPEST or (top is not None and top.is_object and named < 0):
                return found, match.end()
            stack.append(_Open(match[0] == "{", named if named >= 0 else match.start(), name))
            name, named = "", -1
        elif kind == "bracket":
            if top is None or top.is_object != (match[0] == "}") or named >= 0:
                return found, match.end()
            stack.pop()
            _close(top, stack[-1] if stack else None, found, asked)
            if not stack:
                return found, match.end()
        elif top is not None and top.is_object:
            if named < 0:
                return found, match.end()
            value = match["string"] if kind == "string" else match[0]
            if len(top.fields) < MOST_FIELDS:
                top.fields[name] = Value(value if len(value) <= _LONGEST else f"{len(value)}{value[:_LONGEST]}", named, match.end())
            name, named = "", -1
    return found, len(text)


def _close(closed: _Open, outer: _Open | None, found: list[Claim], asked: Asked) -> None:
    """Hand what a closed object claims to what it stands in: as fields of an object, as a thing of its own within an array."""
    if closed.is_object and outer is not None and outer.is_object:
        room = MOST_FIELDS - len(outer.fields)
        outer.fields.update({f"{closed.name}.{name}": value for name, value in islice(closed.fields.items(), max(0, room))})
    elif closed.is_object and closed.fields:
        key, trust = _identity(closed.fields)
        closed.inner = [_within(key, claim) for claim in closed.inner] if trust is Trust.UNIQUE else closed.inner
        closed.inner.append(Claim(("record", *key, *(asked.dates if trust is Trust.UNIQUE else asked.exact)), closed.fields, trust))
    (outer.inner if outer is not None else found).extend(closed.inner)


def _within(outer: Key, claim: Claim) -> Claim:
    return Claim((*outer, *claim.key), claim.fields, claim.trust)


def _identity(fields: Mapping[str, Value]) -> tuple[Key, Trust]:
    """Return what tells the thing from others: the first field, ids, and what says which of several it is."""
    first = next(iter(fields))
    names = first not in GENERIC_KEYS and not _is_bare(fields[first].text)
    scope = [(name, value.text) for name, value in fields.items() if ID_KEYS.search(name) or SCOPE_KEYS.search(name)]
    if any(UNIQUE_KEYS.search(name) for name in fields) or (names and _CODE.fullmatch(fields[first].text)):
        return ((first, fields[first].text) if names else (first,), *scope), Trust.UNIQUE
    if names:
        return ((first, fields[first].text), *scope), Trust.PLAIN
    return (*fields, *scope) if len(fields) >= _FEWEST else (*fields, *((name, value.text) for name, value in fields.items())), Trust.ONE


def _is_bare(text: str) -> bool:
    """Tell whether a value names nothing: a number, a state."""
    return not text or text.lower() in STATES or (is_plain(text) and re.fullmatch(r"[\d.,:/%+-]+", text) is not None)
