"""Updates: if a value certainly changed, the newest one is kept, marked with the old value.

Text that only looks similar is kept, and says nothing about each other.

A result is replaced by that of the same call, and a text of a file by a later one of the same file.
A pair is replaced by that of the same record and key, and a setting by that of the same file and
section. No sentence replaces another one: words of change do not tell which one they correct.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from polycontext.window import Role

from .cues import says_failure
from .lines import Entry, Unit

LONGEST_WAS = 40
"""The most characters of an old value that is shown."""

MOST_NEWS = 3
"""The most pairs of a result that are its outcome."""

NEWER_BOOST = 3.0
"""The factor by which the worth of a unit rises when it replaces another."""

_SETTING = re.compile(
    r"^(?:export |const |let |var |set |- )*[\"']?([\w.\-/ ]{1,60}?)[\"']?\s?(?::?=|:(?=\s|\d|$)"
    r"|\s->)\s?(\S.*)$"
)
_FILE_NAME = re.compile(
    r"[\w./-]*\w\.[A-Za-z]\w{0,9}\b|(?<!\S)\.[a-z]\w{2,}[\w.]*|\b\w+_config\b|\b\w*[Ff]ile\b"
    r"|^[\w-]+(?:\.d)?/[\w-]+$"
)
_TIME = re.compile(
    r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\]?"
)
_NAMED = re.compile(
    r"(?!.* = )[^=(){};/]*?(?:(?<![\w.=/])(?:[A-Za-z]+[-_.])+\w+|\b[A-Za-z]{2,} ?\d+|\b\w+_\w+"
    r"|\b[a-z]+=[a-z][\w-]*)(?=[\s:)'\"»])"
)
"""A line of a tool up to the name of what it is about: joined words, a word with a number, a field.

Paths and code are no such lines.
"""

_SCOPE = re.compile(
    r"(?:.*[_-])?(?:date|day|month|year|period|slot|host|region|env|type|kind|metric|from|to)",
    re.IGNORECASE,
)
"""Keys that tell which of several things of one name a record is about."""

_MOST_PAIRS, _LONGEST = 100, 300
_RANKS = {str(Role.USER): 2, str(Role.SYSTEM): 2, str(Role.ASSISTANT): 1}


class Telling(NamedTuple):
    """A value, with the index of the unit that states it.

    `is_certain` states that the entry is about the one thing that has the value, so that another
    value before it is an old one.
    """

    unit: int
    value: str
    is_certain: bool = True


def drop_outdated(entries: Mapping[int, Entry], units: Sequence[Unit]) -> list[Unit]:
    """Return `units`, which are in order, without those that a later unit makes out of date.

    The later unit states the value that it replaces.
    """
    last = {entries[unit.entry].key: unit.entry for unit in units}
    gone = {
        index
        for index, unit in enumerate(units)
        if _is_answered_anew(unit, entries[unit.entry], last)
    }
    was: dict[int, str] = {}
    pairs = [*_pairs(_tellings(entries, units))]
    alike = _alike(pairs, units)
    for subject, old, new in pairs:
        number, before = units[new.unit].entry, units[old.unit].entry
        newer, older = entries[number], entries[before]
        if old.unit in gone or number == before or _rank(newer) < _rank(older):
            continue
        certain = new.is_certain and not _is_of_another(older, newer)
        if (number, before) in alike if subject[0] == "=" else certain:
            was[new.unit] = _old_value(new.value, old.value)
        elif new.value != old.value or units[old.unit].outcome:
            continue
        gone.add(old.unit)
    kept = ((index, unit) for index, unit in enumerate(units) if index not in gone)
    return [_mark_newer(unit, was[index]) if index in was else unit for index, unit in kept]


def mark_news(
    entries: Mapping[int, Entry], known: Iterable[Unit], units: Iterable[Unit]
) -> Iterator[Unit]:
    """Yield `units`, with only those pairs of a call's result as its outcome that are new.

    These are the first that neither its arguments nor an earlier record tells, and the first pair
    of a record that nothing before names.
    """
    told = {(unit.subject, unit.text) for unit in known if unit.subject}
    named = {subject.partition("\t")[0] for subject, _ in told}
    for number, group in groupby(units, key=lambda unit: unit.entry):
        result = [*group]
        asked = " ".join(entries[number].arguments or ())
        asked += " ".join(unit.text for unit in result if unit.record < 0)
        left = MOST_NEWS
        for unit in result:
            about, _, key = unit.subject.partition("\t")
            is_new = about not in named or (
                (unit.subject, unit.text) not in told
                and unit.text.removeprefix(key).strip() not in asked
            )
            outcome = unit.outcome and (not unit.subject or (is_new and left > 0))
            left -= outcome
            named.add(about)
            told.add((unit.subject, unit.text))
            yield unit if outcome == unit.outcome else unit._replace(outcome=outcome)


def _old_value(new: str, old: str) -> str:
    """Return what is different in the old value: the one other word, or all of it."""
    words, others = new.split(), old.split()
    if len(words) == len(others):
        changed = [other for word, other in zip(words, others, strict=True) if word != other]
        return changed[0] if len(changed) == 1 else old if changed else ""
    return old


def _mark_newer(unit: Unit, was: str) -> Unit:
    if unit.was or not 0 < len(was) <= LONGEST_WAS or "…" in was:
        return unit
    return unit._replace(was=was, boost=unit.boost * NEWER_BOOST)


def _is_answered_anew(unit: Unit, entry: Entry, last: Mapping[str, int]) -> bool:
    is_older = entry.key != "" and last[entry.key] != unit.entry
    return is_older and (unit.record >= 0 or entry.key.startswith("file "))


def _is_of_another(old: Entry, new: Entry) -> bool:
    """Return whether two calls of one tool ask for different dates, places or kinds."""
    return old.opening == new.opening and _scopes(old) != _scopes(new)


def _scopes(entry: Entry) -> list[str]:
    return [text for text in entry.arguments or () if _SCOPE.fullmatch(text.partition("=")[0])]


def _pairs(tellings: Iterable[tuple[str, Telling]]) -> Iterator[tuple[str, Telling, Telling]]:
    """Yield each subject with a repeated statement, with its older and its newer one."""
    known: dict[str, Telling] = {}
    for subject, new in tellings:
        if subject in known:
            yield subject, known[subject], new
        known[subject] = new


def _alike(
    pairs: Iterable[tuple[str, Telling, Telling]], units: Sequence[Unit]
) -> set[tuple[int, int]]:
    """Return the pairs of entries, newer and older, that hold the settings of one file.

    In such a pair at least as many settings are equal as differ, or only one differs.
    """
    same, other = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for subject, old, new in pairs:
        if subject[0] == "=":
            counts = same if new.value == old.value else other
            counts[units[new.unit].entry, units[old.unit].entry] += 1
    return {pair for pair in same | other if other[pair] <= max(1, same[pair])}


def _rank(entry: Entry) -> int:
    return _RANKS.get(entry.role, 0)


def _tellings(entries: Mapping[int, Entry], units: Sequence[Unit]) -> Iterator[tuple[str, Telling]]:
    """Yield the values of units, in order, by subject; repeats within one text are a series."""
    for number, group in groupby(range(len(units)), key=lambda index: units[index].entry):
        entry, indices = entries[number], [*group]
        told = [
            *_records(indices, units, entry),
            *_settings(indices, units, entry),
            *_states(indices, units, entry),
        ]
        times = Counter(subject for subject, _ in told)
        yield from (each for each in told if times[each[0]] == 1)


def _records(
    indices: Sequence[int], units: Sequence[Unit], entry: Entry
) -> Iterator[tuple[str, Telling]]:
    """Yield the pairs of records that have an identifier or a name.

    The subject of a pair is its record, its key, and what tells which of several things the record
    is about. It is certain in a result of one record, and if the call names the record.
    """
    named = [f" {text.partition('=')[2]} " for text in entry.arguments or ()]
    pairs = [index for index in indices if units[index].subject]
    for _, group in groupby(pairs, key=lambda index: units[index].record):
        record = {units[index].subject.partition("\t")[2]: index for index in group}
        texts = {key: units[index].text for key, index in record.items()}
        about = units[next(iter(record.values()))].subject.partition("\t")[0]
        if not about or len(record) > _MOST_PAIRS:
            continue
        is_certain = entry.records == 1 or any(name in f" {about} " for name in named)
        scopes = {key: text for key, text in texts.items() if _SCOPE.fullmatch(key)}
        for key, index in record.items():
            told = texts if key in scopes else scopes
            beside = [text for other, text in told.items() if other != key]
            value = texts[key].removeprefix(key).strip()
            yield f"{about}\t{key}|{beside}", Telling(index, value, is_certain)


def _settings(
    indices: Sequence[int], units: Sequence[Unit], entry: Entry
) -> Iterator[tuple[str, Telling]]:
    """Yield the settings of a file that is named before them, or in the call."""
    spoken = [
        index
        for index in indices
        if not units[index].subject and units[index].record >= 0 and not units[index].hidden
    ]
    if len(spoken) < 2:  # noqa: PLR2004 - a heading and a setting
        return
    file = _file_of(units[spoken[0]].text) or _file_of(" ".join(entry.arguments or ()))
    places = {units[index].place: index for index in spoken}
    for index in spoken[1:] if file else ():
        unit = units[index]
        section = units[places[unit.under]].text if unit.under in places else ""
        setting = _SETTING.match(unit.text)
        # In a block of code, names are local.
        if (
            setting
            and unit.opens
            and unit.ends
            and len(unit.text) <= _LONGEST
            and "(" not in section
        ):
            yield (
                f"={file}|{_file_of(section) or section}|{setting[1]}",
                Telling(index, setting[2].rstrip(";,")),
            )


def _states(
    indices: Sequence[int], units: Sequence[Unit], entry: Entry
) -> Iterator[tuple[str, Telling]]:
    """Yield the state of a named thing from a result of a single line."""
    spoken = [index for index in indices if units[index].record >= 0]
    if len(spoken) != 1 or entry.role != Role.TOOL or units[spoken[0]].subject:
        return
    text = _TIME.sub("", units[spoken[0]].text).strip()
    named = _NAMED.match(text)
    if named and len(text) <= _LONGEST and not says_failure(text):
        value = text[named.end() :].lstrip(" :)'\"»")
        yield f"~{entry.opening}|{named[0]}", Telling(spoken[0], value)


@lru_cache(20_000)
def _file_of(text: str) -> str:
    found = _FILE_NAME.search(text[:200])
    return found[0] + "".join(re.findall(r"\[[^\]]*\]", text[:200])) if found else ""
