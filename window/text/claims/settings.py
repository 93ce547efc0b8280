"""Settings: what a file or its like sets, under its name and section; each a claim about that key there."""

import re
from collections.abc import Sequence

from polycontext.window.text.claims.claim import Asked, Claim, Key, Trust, Value, is_plain
from polycontext.window.text.claims.wording import CODE_FILES, FILES, HEADER, SCOPE_KEYS
from polycontext.window.text.segments import Span

_MOSTLY = 0.6
_MOST_HEADER = 80
_MOST_HEADER_WORDS = 5
_NUMBERED = re.compile(r"\d{1,6}(?:→|\||:\s|\t)\s*")
_SETTING = re.compile(
    r"(?:(?:export|set|const|let|final|static|-|\+) ){0,3}[\"']?(?P<key>[^\s\"'=:;,(){}\[\]<>|][^\"'=:;,(){}<>|]{0,59}?)[\"']?\s?(?:==|:=|=>|=|:)\s?"
    r"(?P<value>[^\s=].*)"
)
_TAG = re.compile(r"<(?P<key>[\w:.-]{1,60}(?: [^<>]{1,80})?)>(?P<value>[^<>]{1,200})</[\w:.-]{1,60}>")
_CELLS = re.compile(r"\|? ?(?P<key>[^\s,|][^,|]{0,60}?) ?(?P<cell>[,|]) ?(?P<value>[^\s,|][^,|]{0,60}(?:(?P=cell)[^,|]{1,60}){0,12}\|?)")
_CALLED = re.compile(r"\((?P<key>[\w-]{1,20} [^\s()]{1,60})\s(?P<value>[^()]{1,80})\)")
_PAIR = re.compile(r"(?P<key>\S{1,60})\s(?P<value>\S{1,120})")
FEWEST_ROWS, MOST_ROWS = 3, 40
"""How many lines a text has at least and at most that is one thing as a whole."""

_VARYING = re.compile(r"(?<![A-Za-z_])[\d*][\d.,:/*-]*(?![\w@])")
_CODE_LINE = re.compile(r"\d+\s+[A-Za-z#\"'@_]")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")
_LETTERS = re.compile(r"[^\W\d_]{3,}")


def settings(text: str, rows: Sequence[Span], asked: Asked) -> tuple[list[Claim], Sequence[Span]]:
    """Return what `rows` of `text` set, section by section, and the rows that are no part of a file."""
    if not rows:
        return [], rows
    where, body = _file(text, rows, asked)
    if where:
        return _sections(text, body, ("file", *where), coded=any(CODE_FILES.search(str(name)) for name in where)), ()
    return _unnamed(text, rows, asked), rows


def _file(text: str, rows: Sequence[Span], asked: Asked) -> tuple[Key, Sequence[Span]]:
    """Return what the settings are in, and the rows behind the line that says so: the first line names a file, or the call did."""
    start, end = rows[0]
    header = text[start:end]
    if header.startswith("<"):
        return (), rows
    sets = sum(
        1
        for span in rows[1:21]
        if _SETTING.match(text, *span) or _VARYING.search(text, *span) or HEADER.match(text, *span) or _PAIR.fullmatch(text, *span)
    )
    if (
        sets >= _MOSTLY * len(rows[1:21])
        and len(rows) > 1
        and end - start <= _MOST_HEADER
        and header.count(" ") < _MOST_HEADER_WORDS
        and not _SETTING.fullmatch(header.rstrip(":"))
    ):
        named = FILES.findall(header)
        if named:
            plain = not header.endswith((":", ".")) or len(header.split()) == 1
            return ((header.rstrip(":"),) if plain and "after" not in header else tuple(named)), rows[1:]
    if asked.files and sum(1 for span in rows[:20] if _SETTING.match(text, *span)) * 2 >= len(rows[:20]):
        return asked.exact or asked.files, rows
    return (), rows


def _sections(text: str, rows: Sequence[Span], where: Key, *, coded: bool) -> list[Claim]:
    claims: list[Claim] = []
    section = item = ""
    fields: dict[str, Value | None] = {}
    loose: dict[str, Value | None] = {}
    for begin, end in (*rows, (len(text), len(text))):
        numbered = _NUMBERED.match(text, begin, end)
        start = numbered.end() if numbered else begin
        row = text[start:end]
        opens = HEADER.fullmatch(row) is not None
        begins = row.startswith("- ") and _SETTING.fullmatch(row) is not None
        if opens or begins or start == len(text):
            scope = [(name, value.text) for name, value in fields.items() if item and value and SCOPE_KEYS.fullmatch(name)]
            claims += _claimed((*where, section, item, *scope), fields, loose)
            fields, loose = {}, {}
            section, item = (row, "") if opens else (section, row)
        elif not row.startswith(("#", "//", ";", "<!--")):
            _set(row, start, fields, loose, coded=coded)
    return claims


def _set(row: str, start: int, fields: dict[str, Value | None], loose: dict[str, Value | None], *, coded: bool) -> None:
    """Note what one line sets; a key that is set twice is no key."""
    if found := _TAG.fullmatch(row) or _SETTING.fullmatch(row):
        key = found["key"].strip()
        if not coded or _CONSTANT.fullmatch(key):
            _note(fields, key, row, found["value"].rstrip(" ,;"), start)
    elif coded:
        return
    elif (found := _PAIR.fullmatch(row)) and not _VARYING.match(row):
        _note(loose, found["key"], row, found["value"], start)
    elif not _CODE_LINE.match(row) and (masked := _VARYING.sub("0", row)) != row and _LETTERS.search(masked):
        _note(fields, masked, row, row, start)


def _note(fields: dict[str, Value | None], key: str, row: str, value: str, start: int) -> None:
    fields[key] = None if key in fields else Value(value, start, start + len(row))


def _claimed(key: Key, fields: dict[str, Value | None], loose: dict[str, Value | None]) -> list[Claim]:
    made = []
    for kind, found, trust in (("set", fields, Trust.ANY), ("pair", loose, Trust.PLAIN)):
        alone = {name: value for name, value in found.items() if value is not None}
        if alone:
            made.append(Claim((*key, kind), alone, trust))
    return made


def _unnamed(text: str, rows: Sequence[Span], asked: Asked) -> list[Claim]:
    """Return what a text of a file that nobody names sets, all of it one thing: other words anywhere in it make another."""
    if not FEWEST_ROWS <= len(rows) <= MOST_ROWS:
        return []
    key: list[str] = []
    fields: dict[str, Value] = {}
    for begin, end in rows:
        numbered = _NUMBERED.match(text, begin, end)
        start = numbered.end() if numbered else begin
        name, value = _set_by(text[start:end])
        # What a text begins with names it, numbers aside.
        sets = value and (key or is_plain(value))
        if sets:
            fields[f"{len(key)}.{name}"] = Value(value, start, end)
        key.append(name if sets else text[start:end])
    return [Claim(("unnamed", *asked.exact, *key), fields, Trust.WHOLE)] if fields else []


def _set_by(row: str) -> tuple[str, str]:
    """Return what one line sets and to what; the line and nothing where it sets nothing."""
    if row.startswith(("#", "//", ";", "<!--")) or HEADER.fullmatch(row):
        return row, ""
    for pattern in (_TAG, _CELLS, _SETTING, _CALLED, _PAIR):
        if found := pattern.fullmatch(row):
            return found["key"], found["value"].rstrip(" ,;")
    masked = _VARYING.sub("0", row)
    return (masked, row) if masked != row and _LETTERS.search(masked) else (row, "")
