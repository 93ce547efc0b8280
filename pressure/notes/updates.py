"""Updates: of what is told again the newest stands, marked with what it replaces; what merely looks alike stays.

A result yields to that of the same call, a text of a file to a later one of it, a pair to that of the same record and key, a setting to
that of the same file and section, a line or sentence to one with the same words and other numbers, dates or states.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from polycontext.pressure.notes.terms import STRONG, kind_of, plain_terms, terms_of
from polycontext.pressure.notes.units import Entry, Unit
from polycontext.window import Role

LONGEST_WAS, LEAST_SHARED = 40, 12
"""How long a value is that is shown as what was, and how many letters two sentences about one thing share at least."""

NEWER_BOOST = 3.0
"""How much more is worth what has replaced something."""

_VALUE = re.compile(
    r"(?<=\w=)[\w./-]+|(?<![\w/])[A-Za-z.@#+-]*\d(?:[\w%°€$£.,:/+-]*[A-Za-z0-9%°€$£])?"
    r"|(?<!\w)(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)day|on|off|up|down|true|false|yes|no|none|open|closed|running|done|enabled|disabled|ok|failed|passed)(?!\w)"
    r"|(?<![\w/])(?!(?:GET|PUT|POST|HEAD|API|INFO|WARN|ERROR|DEBUG)\b)[A-Z]{3,}(?!\w)"
)
"""What may change in a sentence or line that tells of the same thing: numbers and codes, days, states."""

_TIME = re.compile(r"^\W?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?\W*|^\W?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?\W+")
_NOUN = re.compile(
    r"(?<![^\W\d_])(?!(?:is|are|was|be|at|to|of|for|on|in|by|from|than|until|with|only|now|takes|has|ist|um|der|das|auf|est|à|es|de)[ \t#])[A-Za-zÀ-ÿ]{2,}[ \t#]{1,2}$"
)
_COUNTED = re.compile(r" [a-z]{3,}s\b")
_CODE = re.compile(r"#?[A-Za-z]+[-_]?\w*\d\w*|#?\d{1,5}[A-Za-z]?")
_SETTING = re.compile(r"^(?:export |const |let |var |set |- )*[\"']?([\w.\-/ ]{1,60}?)[\"']?\s?(?:=|:(?=\s|\d|$)|\s->)\s?(\S.*)$")
_FILE_NAME = re.compile(r"[\w./-]*\w\.[A-Za-z]\w{0,9}\b|(?<!\S)\.[a-z]\w{2,}[\w.]*|\b\w+_config\b|\b\w*[Ff]ile\b|^[\w-]+(?:\.d)?/[\w-]+$")
_PREFIX = re.compile(r"(.{3,80}?)(?:: | -> | = )(?=\S)")
_REPLACED = re.compile(
    r"(?:instead of|rather than|in place of|no longer|forget(?: about)?|scratch|swap|drop|replaces|(?:and|,) not|\(was|from(?=[^.,]{1,30} to )|du(?=[^.,]{1,30} au )"
    r"|statt|au lieu d[eu]|(?:take|prefer|pick) [^.,]{1,40}? over)"
    r" (?:(?:the|an?|at|on|in|by|runs? on|am|der|die|das|dem|le|la|el|de) ){0,2}([\w.:-]*\w)|(?:换成|改成|改为)()",
    re.IGNORECASE,
)
"""Words that name the old value, which follows them."""

_MOVED = re.compile(
    r"\b(?:(?:moved|changed|switched|renamed|postponed|raised|lowered|convert(?:ed)?|increased|reduced) to|no longer|update:|correction:|scratch that|verschoben|geändert|déplacée?|movid[oa])\b|换成|改成|改为|変更",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:now|actually|instead|update|correction|changed|moved|jetzt|nun|doch|maintenant|désormais|finalement|ahora|ya)\b|改|现在|今は|変更",
    re.IGNORECASE,
)
"""Words by which somebody says that what was said no longer holds."""

_SCOPE = re.compile(r"(?:.*[_-])?(?:date|day|month|year|period|slot|host|region|env|type|kind|metric|from|to)", re.IGNORECASE)
"""Keys that say which of several things of one name a record is about."""

_MOST_BEFORE, _MOST_PAIRS, _LONGEST, _STEM = 200, 100, 300, 5
_QUESTION = re.compile(r"[?？]|\b(?:maybe|perhaps|might|vielleicht|peut-être|quizás)\b", re.IGNORECASE)
_RANKS = {str(Role.USER): 2, str(Role.SYSTEM): 2, str(Role.ASSISTANT): 1}


class Telling(NamedTuple):
    """Hold what a unit tells of a subject: the unit by its index, its entry, the words around its values, and the values."""

    unit: int
    entry: int
    frame: str
    values: tuple[str, ...]


def newest(entries: Mapping[int, Entry], units: Sequence[Unit]) -> list[Unit]:
    """Return `units`, which are in order, without those that a later one makes out of date; that one says what it replaces."""
    last = {entries[unit.entry].key: unit.entry for unit in units}
    gone = {index for index, unit in enumerate(units) if _is_answered_anew(unit, entries[unit.entry], last)}
    was: dict[int, str] = {}
    known: dict[str, Telling] = {}
    tellings = [*_tellings(entries, units)]
    alike = _alike(tellings)
    for subject, telling in tellings:
        before = known.get(subject)
        known[subject] = telling
        if before is None or before.entry == telling.entry or before.unit in gone:
            continue
        if _rank(entries, telling) < _rank(entries, before) or not _replaces(
            telling, before, units[telling.unit], is_prose=entries[telling.entry].role != Role.TOOL
        ):
            continue
        if subject[0] == "=" and (telling.entry, before.entry) not in alike:
            continue
        gone.add(before.unit)
        old = was.pop(before.unit, "") or _old_value(telling, before)
        if old and telling.values != before.values:
            was[telling.unit] = old
    gone.update(_corrected(entries, units, gone))
    return [
        unit._replace(was=unit.was or was[index], boost=unit.boost * (1 if unit.was else NEWER_BOOST)) if index in was else unit
        for index, unit in enumerate(units)
        if index not in gone
    ]


def _is_answered_anew(unit: Unit, entry: Entry, last: Mapping[str, int]) -> bool:
    if not entry.key or last[entry.key] == unit.entry:
        return False
    return unit.record >= 0 or entry.key.startswith("file ")


def _rank(entries: Mapping[int, Entry], telling: Telling) -> int:
    return _RANKS.get(entries[telling.entry].role, 0)


def _replaces(new: Telling, old: Telling, unit: Unit, *, is_prose: bool) -> bool:
    """Tell whether two tellings of one subject are of one thing at two times."""
    if not new.frame or len(old.values) != len(new.values):
        return True
    changed = [place for place, (one, other) in enumerate(zip(old.values, new.values, strict=True)) if one != other]
    if is_prose and len(changed) > 1 and not _CHANGED.search(unit.text):
        # Two things of one kind, each with values of its own.
        return False
    return bool(changed) and not _names(unit.text, changed[0])


def _alike(tellings: Sequence[tuple[str, Telling]]) -> set[tuple[int, int]]:
    """Return which two entries tell of the settings of one file: more of them are the same than differ, or one alone differs."""
    known: dict[str, Telling] = {}
    counts: dict[tuple[int, int], list[int]] = {}
    for subject, telling in tellings:
        if subject[0] == "=":
            if (before := known.get(subject)) is not None:
                counts.setdefault((telling.entry, before.entry), [0, 0])[telling.values != before.values] += 1
            known[subject] = telling
    return {pair for pair, (same, other) in counts.items() if other <= max(1, same)}


def _corrected(entries: Mapping[int, Entry], units: Sequence[Unit], gone: set[int]) -> Iterator[int]:
    """Yield the sentences that a later one puts right in words that say so: it names the old value, or the subject and that it changed."""
    said: list[tuple[int, frozenset[str]]] = []
    for index, unit in enumerate(units):
        if index in gone or not unit.said or unit.record or unit.standing:
            continue
        words, (named, needed) = _stems(unit.text), _put_right(unit.text)
        if needed:
            rank = _RANKS.get(entries[unit.entry].role, 0)
            for place, others in reversed(said[-_MOST_BEFORE:]):
                before = units[place]
                if before.entry == unit.entry or rank < _RANKS.get(entries[before.entry].role, 0):
                    continue
                shared = words & others
                if len(shared) >= needed and (not named or named & shared) and 3 * len(shared) >= min(len(others), len(words)):
                    yield place
                    break
        said.append((index, words))


@lru_cache(20_000)
def _put_right(text: str) -> tuple[frozenset[str], int]:
    """Return which old values a sentence names, and how many words it must share with one that it puts right; 0 where it puts none."""
    if _QUESTION.search(text):
        return frozenset(), 0
    named = frozenset(found[1].lower()[:_STEM] for found in _REPLACED.finditer(text) if found[1])
    return named, 2 if named else 3 if _MOVED.search(text) else 0


@lru_cache(20_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(term[:_STEM] for term in plain_terms(text))


def _old_value(new: Telling, old: Telling) -> str:
    changed = [one for one, other in zip(old.values, new.values, strict=False) if one != other]
    text = ", ".join(changed)
    return text if 0 < len(text) <= LONGEST_WAS and "…" not in text else ""


def _tellings(entries: Mapping[int, Entry], units: Sequence[Unit]) -> Iterator[tuple[str, Telling]]:
    """Yield what units tell, in order, by subject; what one text says twice is a series."""
    for number, group in groupby(range(len(units)), key=lambda index: units[index].entry):
        entry = entries[number]
        found: dict[str, Telling] = {}
        series = set[str]()
        indices = [*group]
        for subject, telling in (*_records(indices, units), *_lines(indices, units, entry)):
            if subject in found:
                series.add(subject)
            found[subject] = telling
        yield from ((subject, telling) for subject, telling in found.items() if subject not in series)


def _records(indices: Sequence[int], units: Sequence[Unit]) -> Iterator[tuple[str, Telling]]:
    """Yield the pairs of records, each under its record; one without an identifier is known by all that it says beside the pair, as what says which of several it is."""
    pairs = [index for index in indices if units[index].subject]
    for _, group in groupby(pairs, key=lambda index: units[index].record):
        record = [*group]
        if len(record) > _MOST_PAIRS:
            continue
        scoped = [index for index in record if _SCOPE.fullmatch(units[index].subject.partition("\t")[2])]
        for index in record:
            unit = units[index]
            about, _, key = unit.subject.partition("\t")
            others = [units[each].text for each in (scoped if about and index not in scoped else record) if each != index]
            if about or others:
                value = unit.text.removeprefix(key).strip()
                yield f"{unit.subject}|{others}", Telling(index, unit.entry, "", (value,))


def _lines(indices: Sequence[int], units: Sequence[Unit], entry: Entry) -> Iterator[tuple[str, Telling]]:
    spoken = [index for index in indices if not units[index].subject and units[index].record >= 0 and not units[index].hidden]
    if not spoken:
        return
    head, is_prose = units[spoken[0]].text, entry.role != Role.TOOL
    places = {units[index].place: index for index in spoken}
    file = (_file_of(head) if len(spoken) > 1 else "") or _file_of(" ".join(entry.arguments or ()))
    for index in spoken:
        unit = units[index]
        if unit.opens and unit.ends and not unit.step and len(unit.text) <= _LONGEST:
            is_first = index == spoken[0]
            section = units[places[unit.under]].text if unit.under in places else ""
            told = _line(unit.text, "" if is_first else file, section, "" if is_first or is_prose else head, is_prose)
            if told:
                yield told[0], Telling(index, unit.entry, told[1], told[2])


@lru_cache(20_000)
def _line(text: str, file: str, section: str, head: str, is_prose: bool) -> tuple[str, str, tuple[str, ...]] | None:  # noqa: FBT001 - cached
    """Return what a line or sentence tells of, the words around its values, and the values; None where it tells nothing that may change."""
    if _QUESTION.search(text):
        return None
    text = _TIME.sub("", text)
    if file and (setting := _SETTING.match(text)):
        return f"={file}|{_file_of(section) or section}|{setting[1]}", "", (setting[2].rstrip(";,"),)
    prefix = _PREFIX.match(text)
    if not is_prose and prefix and any(kind_of(term) in STRONG for term in terms_of(prefix[1])):
        rest = text[prefix.end() :]
        named = "" if any(map(str.isdigit, prefix[1] + rest[:1])) else re.sub(r"\W+", " ", rest).split(" ")[0]
        return f":{prefix[1]}|{named}", "", (rest,)
    frame, values = _frame(text)
    letters = sum(map(str.isalpha, frame)) + 3 * sum(char > "\u2e80" for char in frame)
    return (f"~{_frame(head)[0]}|{frame}", frame, values) if values and letters >= LEAST_SHARED else None


@lru_cache(1_000)
def _file_of(text: str) -> str:
    found = _FILE_NAME.search(text[:200])
    return found[0] + "".join(re.findall(r"\[[^\]]*\]", text[:200])) if found else ""


def _frame(text: str) -> tuple[str, tuple[str, ...]]:
    """Return `text` with its numbers, dates and states masked, and those."""
    spans = [*_VALUE.finditer(text)]
    parts, at = [], 0
    for match in spans:
        parts.append(text[at : match.start()])
        at = match.end()
    return "#".join((*parts, text[at:])), tuple(match[0] for match in spans)


def _names(text: str, place: int) -> bool:
    """Tell whether a value of `text` names what it is about: a code that begins it or stands behind its noun, such as gate B7."""
    text = _TIME.sub("", text)
    match = [*_VALUE.finditer(text)][place]
    if not _CODE.fullmatch(match[0]) or match[0].isalpha():
        return False
    if _NOUN.search(text, max(0, match.start() - 40), match.start()):
        return not (match[0].isdigit() and _COUNTED.match(text, match.end()))
    return match[0][0].isalpha() and not re.search(r"\w", text[: match.start()])
