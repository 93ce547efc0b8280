"""Updates: if something is said again, the newest version is kept, marked with the old value.

Text that only looks similar is kept.

A result is replaced by that of the same call, a text of a file by a later one of the same file, a
pair by that of the same record and key, a setting by that of the same file and section, and a line
or sentence by one with the same words and other numbers, dates or states.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import NamedTuple

from polycontext.window import Role

from .lines import Entry, Unit
from .terms import STRONG, kind_of, plain_terms, terms_of

LONGEST_WAS, LEAST_SHARED = 40, 12
"""The most characters of an old value that is shown, and the fewest letters that two sentences
about one thing share."""

NEWER_BOOST = 3.0
"""The factor by which the worth of a unit rises when it replaces another."""

_VALUE = re.compile(
    r"(?<!\w)((?<=\w=)[\w./-]+|(?<!/)[A-Za-z.@#+-]*\d(?:[\w%°€$£.,:/+-]*[A-Za-z0-9%°€$£])?"
    r"|(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)day|on|off|up|down|true|false|yes|no|none|open"
    r"|closed|running|done|enabled|disabled|ok|failed|passed)(?!\w)"
    r"|(?<!/)(?!(?:GET|PUT|POST|HEAD|API|INFO|WARN|ERROR|DEBUG)\b)[A-Z]{3,}(?!\w))"
)
"""The values that may change in a sentence or line about the same thing: numbers, codes, days and
states."""

_TIME = re.compile(
    r"^\W?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?\W*"
    r"|^\W?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?\W+"
)
_NOUN = re.compile(
    r"(?<![^\W\d_])(?!(?:is|are|was|be|at|to|of|for|on|in|by|from|than|until|with|only|now|takes"
    r"|has|ist|um|der|das|auf|est|à|es|de)[ \t#])[A-Za-zÀ-ÿ]{2,}[ \t#]{1,2}$"
)
_COUNTED = re.compile(r" [a-z]{3,}s\b")
_UNSPACED = re.compile("[\u2e80-\U0010ffff]")
_CODE = re.compile(r"#?[A-Za-z]+[-_]?\w*\d\w*|#?\d{1,5}[A-Za-z]?")
_SETTING = re.compile(
    r"^(?:export |const |let |var |set |- )*[\"']?([\w.\-/ ]{1,60}?)[\"']?\s?(?:=|:(?=\s|\d|$)"
    r"|\s->)\s?(\S.*)$"
)
_FILE_NAME = re.compile(
    r"[\w./-]*\w\.[A-Za-z]\w{0,9}\b|(?<!\S)\.[a-z]\w{2,}[\w.]*|\b\w+_config\b|\b\w*[Ff]ile\b"
    r"|^[\w-]+(?:\.d)?/[\w-]+$"
)
_PREFIX = re.compile(r"(.{3,80}?)(?:: | -> | = )(?=\S)")
_REPLACED = re.compile(
    r"(?:instead of|rather than|in place of|no longer|forget(?: about)?|scratch|swap|drop|replaces"
    r"|and not|, not|\(was|from(?=[^.,]{1,30} to )|du(?=[^.,]{1,30} au )"
    r"|statt|au lieu d[eu]|take [^.,]{1,40}? over|prefer [^.,]{1,40}? over|pick [^.,]{1,40}? over)"
    r" (?:(?:the|an?|at|on|in|by|runs? on|am|der|die|das|dem|le|la|el|de) ){0,2}([\w.:-]*\w)"
)
"""Words that name the old value, which follows them; in lower case, like those of `_MOVED`."""

_MOVED = re.compile(
    r"\b(?:(?:moved|changed|switched|renamed|postponed|raised|lowered|convert(?:ed)?|increased"
    r"|reduced) to|no longer|scratch that|verschoben|geändert|déplacée?|movid[oa])\b"
    r"|update:|correction:|换成|改成|改为|変更"
)
_CHANGED = re.compile(
    r"\b(?:now|actually|instead|update|correction|changed|moved|jetzt|nun|doch|maintenant"
    r"|désormais|finalement|ahora|ya)\b|改|现在|今は|変更",
    re.IGNORECASE,
)
"""Words that announce that an earlier statement no longer holds."""

_SCOPE = re.compile(
    r"(?:.*[_-])?(?:date|day|month|year|period|slot|host|region|env|type|kind|metric|from|to)",
    re.IGNORECASE,
)
"""Keys that tell which of several things of one name a record is about."""

_MOST_BEFORE, _MOST_PAIRS, _LONGEST, _STEM = 200, 100, 300, 5
_QUESTION = re.compile(
    r"[?？]|\b(?:maybe|perhaps|might|vielleicht|peut-être|quizás)\b", re.IGNORECASE
)
_RANKS = {str(Role.USER): 2, str(Role.SYSTEM): 2, str(Role.ASSISTANT): 1}


class Telling(NamedTuple):
    """A statement about a subject: the indices of its unit and entry, and its values.

    `rank` is that of the speaker, `frame` the words around the values.
    """

    unit: int
    entry: int
    rank: int
    frame: str
    values: tuple[str, ...]


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
    alike = _alike(pairs)
    for subject, old, new in pairs:
        if old.unit in gone or not _replaces(new, old, units[new.unit]):
            continue
        if subject[0] != "=" or (new.entry, old.entry) in alike:
            gone.add(old.unit)
            was[new.unit] = _old_value(new, old)
    gone.update(_corrected(entries, units, gone))
    kept = ((index, unit) for index, unit in enumerate(units) if index not in gone)
    return [_mark_newer(unit, was.get(index, "")) for index, unit in kept]


def _mark_newer(unit: Unit, was: str) -> Unit:
    return unit._replace(was=was, boost=unit.boost * NEWER_BOOST) if was and not unit.was else unit


def _is_answered_anew(unit: Unit, entry: Entry, last: Mapping[str, int]) -> bool:
    is_older = entry.key != "" and last[entry.key] != unit.entry
    return is_older and (unit.record >= 0 or entry.key.startswith("file "))


def _replaces(new: Telling, old: Telling, unit: Unit) -> bool:
    """Return whether `new` is a later version of `old` by a speaker of at least the same rank."""
    if new.entry == old.entry or new.rank < old.rank:
        return False
    if not new.frame or len(old.values) != len(new.values):
        return True
    changed = [place for place, value in enumerate(new.values) if value != old.values[place]]
    if len(changed) > (1 if new.rank else 2) and not _CHANGED.search(unit.text):
        # These are two things of one kind, each with its own values.
        return False
    return bool(changed) and not _names(unit.text, changed[0])


def _pairs(tellings: Iterable[tuple[str, Telling]]) -> Iterator[tuple[str, Telling, Telling]]:
    """Yield each subject with a repeated statement, with its older and its newer one."""
    known: dict[str, Telling] = {}
    for subject, new in tellings:
        if subject in known:
            yield subject, known[subject], new
        known[subject] = new


def _alike(pairs: Iterable[tuple[str, Telling, Telling]]) -> set[tuple[int, int]]:
    """Return the pairs of entries that hold the settings of one file.

    In such a pair at least as many settings are equal as differ, or only one differs.
    """
    settings = [(old, new) for subject, old, new in pairs if subject[0] == "="]
    same = Counter((new.entry, old.entry) for old, new in settings if new.values == old.values)
    other = Counter((new.entry, old.entry) for old, new in settings if new.values != old.values)
    return {pair for pair in same | other if other[pair] <= max(1, same[pair])}


def _corrected(
    entries: Mapping[int, Entry], units: Sequence[Unit], gone: set[int]
) -> Iterator[int]:
    """Yield the sentences that a later one corrects explicitly.

    The later one names the old value, or the subject and that it changed.
    """
    said: list[tuple[int, int, int, frozenset[str]]] = []
    for index, unit in enumerate(units):
        if index in gone or not unit.said or unit.record or unit.standing:
            continue
        rank, words = _RANKS.get(entries[unit.entry].role, 0), _stems(unit.text)
        named, needed = _put_right(unit.text)
        for place, entry, other_rank, others in reversed(said[-_MOST_BEFORE:]) if needed else ():
            shared = words & others
            if len(shared) < max(needed, min(len(others), len(words)) / 3) or (
                named and not named & shared
            ):
                continue
            if entry != unit.entry and other_rank <= rank:
                yield place
                break
        said.append((index, unit.entry, rank, words))


@lru_cache(20_000)
def _put_right(text: str) -> tuple[frozenset[str], int]:
    """Return the old values that a sentence names, and how many words it must share.

    It corrects a sentence with which it shares at least that many words. The number is 0 if the
    sentence corrects nothing.
    """
    low = text.lower()
    named = frozenset(value[:_STEM] for value in _REPLACED.findall(low))
    needed = 2 if named else 3 if _MOVED.search(low) else 0
    return (named, needed) if needed and not _QUESTION.search(text) else (frozenset(), 0)


@lru_cache(20_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(term[:_STEM] for term in plain_terms(text))


def _old_value(new: Telling, old: Telling) -> str:
    changed = [one for one, other in zip(old.values, new.values, strict=False) if one != other]
    # With several values, it would be unclear which is which.
    value = changed[0] if len(changed) == 1 else ""
    return value if len(value) <= LONGEST_WAS and "…" not in value else ""


def _tellings(entries: Mapping[int, Entry], units: Sequence[Unit]) -> Iterator[tuple[str, Telling]]:
    """Yield the statements of units, in order, by subject; repeats within one text are a series."""
    for number, group in groupby(range(len(units)), key=lambda index: units[index].entry):
        entry = entries[number]
        rank, indices = _RANKS.get(entry.role, 0), [*group]
        told = [*_records(indices, units, rank), *_lines(indices, units, entry, rank)]
        times = Counter(subject for subject, _ in told)
        yield from (each for each in told if times[each[0]] == 1)


def _records(
    indices: Sequence[int], units: Sequence[Unit], rank: int
) -> Iterator[tuple[str, Telling]]:
    """Yield the pairs of records, each with its record as the subject.

    A record without an identifier is identified by its other pairs, as is a pair that tells which
    of several things the record is about.
    """
    pairs = [index for index in indices if units[index].subject]
    for _, group in groupby(pairs, key=lambda index: units[index].record):
        record = {index: units[index].text for index in group}
        if len(record) > _MOST_PAIRS:
            continue
        scoped = {
            index for index in record if _SCOPE.fullmatch(units[index].subject.partition("\t")[2])
        }
        beside = [text for index, text in record.items() if index in scoped]
        for index, text in record.items():
            about, _, key = units[index].subject.partition("\t")
            others = (
                beside
                if about and index not in scoped
                else [other for each, other in record.items() if each != index]
            )
            if about or others:
                yield (
                    f"{about}\t{key}|{others}",
                    Telling(index, units[index].entry, rank, "", (text.removeprefix(key).strip(),)),
                )


def _lines(
    indices: Sequence[int], units: Sequence[Unit], entry: Entry, rank: int
) -> Iterator[tuple[str, Telling]]:
    spoken = [
        index
        for index in indices
        if not units[index].subject and units[index].record >= 0 and not units[index].hidden
    ]
    if not spoken:
        return
    first, is_prose = units[spoken[0]].text, entry.role != Role.TOOL
    head = "" if is_prose else _frame(first)[0]
    places = {units[index].place: index for index in spoken}
    file = (_file_of(first) if len(spoken) > 1 else "") or _file_of(" ".join(entry.arguments or ()))
    for index in spoken:
        unit = units[index]
        if unit.opens and unit.ends and not unit.step and len(unit.text) <= _LONGEST:
            is_first = index == spoken[0]
            section = units[places[unit.under]].text if unit.under in places else ""
            if told := _line(
                unit.text,
                "" if is_first else file,
                section,
                "" if is_first else head,
                is_prose=is_prose,
            ):
                yield told[0], Telling(index, unit.entry, rank, *told[1:])


@lru_cache(20_000)
def _line(
    text: str, file: str, section: str, head: str, *, is_prose: bool
) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the subject of a line or sentence, the words around its values, and the values.

    The result is None if there is no value that may change. `file` and `section` locate a setting;
    `head` is the frame of the first line of a result.
    """
    if _QUESTION.search(text):
        return None
    text = _TIME.sub("", text)
    if file and (setting := _SETTING.match(text)):
        subject = f"={file}|{_file_of(section) or section}|{setting[1]}"
        return subject, "", (setting[2].rstrip(";,"),)
    prefix = _PREFIX.match(text)
    if not is_prose and prefix and any(kind_of(term) in STRONG for term in terms_of(prefix[1])):
        rest = text[prefix.end() :]
        has_digit = any(map(str.isdigit, prefix[1] + rest[:1]))
        named = "" if has_digit else re.sub(r"\W+", " ", rest).split(" ")[0]
        return f":{prefix[1]}|{named}", "", (rest,)
    frame, values = _frame(text)
    letters = sum(map(str.isalpha, frame)) + 3 * len(_UNSPACED.findall(frame)) if values else 0
    return (f"~{head}|{frame}", frame, values) if letters >= LEAST_SHARED else None


@lru_cache(1_000)
def _file_of(text: str) -> str:
    found = _FILE_NAME.search(text[:200])
    return found[0] + "".join(re.findall(r"\[[^\]]*\]", text[:200])) if found else ""


def _frame(text: str) -> tuple[str, tuple[str, ...]]:
    """Return `text` with its numbers, dates and states masked, and these values."""
    parts = _VALUE.split(text)
    return "#".join(parts[::2]), tuple(parts[1::2])


def _names(text: str, place: int) -> bool:
    """Return whether a value of `text` names its subject, such as gate B7.

    Such a code begins the text or follows a noun.
    """
    text = _TIME.sub("", text)
    match = next(islice(_VALUE.finditer(text), place, None))
    if not _CODE.fullmatch(match[0]) or match[0].isalpha():
        return False
    if _NOUN.search(text, max(0, match.start() - 40), match.start()):
        return not (match[0].isdigit() and _COUNTED.match(text, match.end()))
    return match[0][0].isalpha() and not re.search(r"\w", text[: match.start()])
