"""Updates: if a value certainly changed, the newest one is kept, marked with the old value.

Text that only looks similar is kept, and says nothing about each other.

A result is replaced by that of the same call, and a text of a file by a later one of the same file.
A pair is replaced by that of the same record and key, and a setting by that of the same file and
section. No sentence replaces another one: words of change do not tell which one they correct. The
sentence that they may correct stays, and is worth less.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby
from operator import attrgetter

from polycontext.window import Role

from ..terms import FAILED
from .cues import says_change, says_failure, says_verdict
from .lines import SIZE, Entry, Unit

LONGEST_WAS = 40
"""The most characters of an old value that is shown."""

MOST_NEWS, MOST_VERDICTS = 3, 2
"""The most pairs of a result that are its outcome, and the most lines that tell how it ended."""

NEWER_BOOST, OLDER = 3.0, 0.1
"""The factor by which the worth of a unit rises when it replaces another, and the worth of one that
a later one may replace."""

LEAST_SHARED, SHARED, LEAST_WORDS = 2, 0.34, 4
"""How many of its words a statement shares with a later one that may replace it: at least a number
and a share with a word of change, and all of at least `LEAST_WORDS` if only numbers differ."""

_SETTING = re.compile(
    r"^(?=[^=:>]*[=:>])(?:export |const |let |var |set |- )*[\"']?([\w.\-/ ]{1,60}?)[\"']?\s?"
    r"(?::?=|:(?=\s|\d|$)|\s->)\s?(\S.*)$"
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

_OF_FILE = "="
"""The first letter of the topic of a setting."""

_MOST_PAIRS, _LONGEST, _STEM, _MOST_HOLDING = 100, 300, 5, 8
_NUMBER, _CODE = re.compile(r"(?<!\w)\d[\d.,:]*"), re.compile(r"[={}<>\\|_(](?<!(?<!\w)\()")
_RANKS = {str(Role.USER): 2, str(Role.SYSTEM): 2, str(Role.ASSISTANT): 1}


def drop_outdated(
    entries: Mapping[int, Entry], units: Sequence[Unit], fresh: Container[int]
) -> list[Unit]:
    """Return `units`, which are in order, without those that a later unit makes out of date.

    The later unit states the value that it replaces. The entries `fresh` are read for the first
    time.
    """
    last = {entries[unit.entry].key: unit.entry for unit in units}
    gone: set[int] = set()
    was: dict[int, str] = {}
    newest: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for index, unit in enumerate(units):
        key = entries[unit.entry].key
        # The arguments of a call stay, unless they are the text of a file.
        if key and last[key] != unit.entry and (unit.record >= 0 or key.startswith("file ")):
            gone.add(index)
        if unit.topic:
            if unit.topic in newest:
                pairs.append((newest[unit.topic], index))
            newest[unit.topic] = index
    alike = _alike((units[index] for index in pair) for pair in pairs)
    for index, later in pairs:
        old, new = units[index], units[later]
        newer, older = entries[new.entry], entries[old.entry]
        if index in gone or new.entry == old.entry or _rank(newer) < _rank(older):
            continue
        certain = new.certain and not _is_of_another(older, newer)
        if (new.entry, old.entry) in alike if new.topic[0] == _OF_FILE else certain:
            was[later] = _old_value(new.value, old.value)
        elif new.value != old.value or old.outcome:
            continue
        gone.add(index)
    yielding = {*_older(entries, units, fresh)}
    kept = (
        (index, unit._replace(boost=OLDER) if index in yielding else unit)
        for index, unit in enumerate(units)
        if index not in gone
    )
    return [_mark_newer(unit, was[index]) if index in was else unit for index, unit in kept]


def _older(
    entries: Mapping[int, Entry], units: Sequence[Unit], fresh: Container[int]
) -> Iterator[int]:
    """Yield the sentences and lines that one of a fresh entry may replace."""
    plain = [
        index
        for index, unit in enumerate(units)
        if not (unit.subject or unit.header or unit.record or unit.standing)
    ]
    changes = {
        index: _stems(unit)
        for index in plain
        if (unit := units[index]).said
        and unit.entry in fresh
        and says_change(unit.text)
        and not _CODE.search(unit.text)
    }
    changed = {*chain.from_iterable(changes.values())}
    used = {term for index in plain for term in units[index].terms} if changed else ()
    wanted = {term: stem for term in used if (stem := _stem(term)) in changed}
    size = cache(lambda place: len(_stems(units[place])))
    holding = defaultdict[str, deque[int]](lambda: deque(maxlen=_MOST_HOLDING))
    forms = dict[str, int]()
    for index in plain:
        unit, found = units[index], list[int]()
        if unit.text.count(" ") >= LEAST_WORDS - 1:
            form = _form(unit.text)
            if form in forms and unit.entry in fresh:
                found.append(forms[form])
            forms[form] = index
        if index in changes:
            shared = Counter(chain.from_iterable(map(holding.__getitem__, changes[index])))
            found += [
                place
                for place, count in shared.items()
                if count >= LEAST_SHARED and count >= SHARED * size(place)
            ]
        for place in found:
            older, newer, before = entries[units[place].entry], entries[unit.entry], units[place]
            is_code = before.said and _CODE.search(before.text)
            if older is not newer and _rank(older) <= _rank(newer) and not is_code:
                yield place
        if wanted and unit.said and unit.opens and unit.ends:
            for stem in {wanted[term] for term in unit.terms if term in wanted}:
                holding[stem].append(index)


@lru_cache(20_000)
def _form(text: str) -> str:
    return _NUMBER.sub("#", text)


def _stems(unit: Unit) -> set[str]:
    return {_stem(term) for term in unit.terms if term[0] != FAILED}


@lru_cache(50_000)
def _stem(term: str) -> str:
    return term.lower()[:_STEM]


def mark_outcomes(
    entries: Mapping[int, Entry], known: Iterable[Unit], units: Iterable[Unit]
) -> Iterator[Unit]:
    """Yield `units`, with those marked that tell what came of a call that changes something.

    These are the first pairs of its result that neither its arguments nor an earlier record tells,
    and the first pair of a record that nothing before names; of other text, the first error or line
    and the last line, unless it is a stack frame.
    """
    told = {(unit.subject, unit.text) for unit in known if unit.subject}
    named = {subject.partition("\t")[0] for subject, _ in told}
    for number, group in groupby(units, key=attrgetter("entry")):
        result, entry = [*group], entries[number]
        asked = " ".join(entry.arguments or ())
        asked += " ".join(unit.text for unit in result if unit.record < 0)
        lines = _outcome_lines(result) if entry.changes else ()
        left = MOST_NEWS * entry.changes
        for place, unit in enumerate(result):
            about, _, key = unit.subject.partition("\t")
            is_new = left > 0 and (
                about not in named
                or (
                    (unit.subject, unit.text) not in told
                    and unit.text.removeprefix(key).strip() not in asked
                )
            )
            outcome = is_new if unit.subject else place in lines
            left -= outcome
            named.add(about)
            told.add((unit.subject, unit.text))
            yield unit._replace(outcome=True) if outcome else unit


def _outcome_lines(units: Sequence[Unit]) -> set[int]:
    lines = [place for place, unit in enumerate(units) if _is_line(unit)]
    ended = [place for place in lines if says_verdict(units[place].text)]
    failed = [place for place in lines if says_failure(units[place].text)]
    last = [place for place in lines[-1:] if not units[place].text.startswith("at ")]
    first = lines if last == failed[-1:] else failed
    return {*(first or lines)[:1], *last, *ended[-MOST_VERDICTS:]}


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
    return unit._replace(was=was, boost=max(1.0, unit.boost) * NEWER_BOOST, read=False)


def _is_of_another(old: Entry, new: Entry) -> bool:
    """Return whether two calls of one tool ask for different dates, places or kinds."""
    return old.opening == new.opening and _scopes(old) != _scopes(new)


def _scopes(entry: Entry) -> list[str]:
    return [text for text in entry.arguments or () if _SCOPE.fullmatch(text.partition("=")[0])]


def _alike(pairs: Iterable[Iterable[Unit]]) -> set[tuple[int, int]]:
    """Return the pairs of entries, newer and older, that hold the settings of one file.

    In such a pair at least as many settings are equal as differ, or only one differs.
    """
    same, other = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for old, new in pairs:
        if new.topic[0] == _OF_FILE:
            counts = same if new.value == old.value else other
            counts[new.entry, old.entry] += 1
    return {pair for pair in same | other if other[pair] <= max(1, same[pair])}


def _rank(entry: Entry) -> int:
    return _RANKS.get(entry.role, 0)


def with_topics(entries: Mapping[int, Entry], units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield `units` with their topics and values; repeats within one text are a series."""
    for number, group in groupby(units, key=attrgetter("entry")):
        told, entry = [*group], entries[number]
        found = [*_records(told, entry), *_settings(told, entry), *_states(told, entry)]
        times = Counter(topic for _, topic, *_ in found)
        for place, topic, value, certain in found:
            if times[topic] == 1:
                told[place] = Unit(*told[place][:-3], topic, value, certain)
        yield from told


_Found = tuple[int, str, str, bool]
"""The place of a unit, its topic and value, and whether the entry is about the one thing that has
the value, so that another value before it is an old one."""


def _records(units: Sequence[Unit], entry: Entry) -> Iterator[_Found]:
    """Yield the pairs of records that have an identifier or a name.

    The topic of a pair is its record, its key, and what tells which of several things the record is
    about. It is certain in a result of one record, and if the call names the record.
    """
    named = [f" {text.partition('=')[2]} " for text in entry.arguments or ()]
    pairs = [place for place, unit in enumerate(units) if unit.subject]
    for _, group in groupby(pairs, key=lambda place: units[place].record):
        record = {units[place].subject.partition("\t")[2]: place for place in group}
        texts = {key: units[place].text for key, place in record.items()}
        about = units[next(iter(record.values()))].subject.partition("\t")[0]
        if not about or len(record) > _MOST_PAIRS:
            continue
        is_certain = entry.records == 1 or any(name in f" {about} " for name in named)
        scopes = {key: text for key, text in texts.items() if _SCOPE.fullmatch(key)}
        for key, place in record.items():
            told = texts if key in scopes else scopes
            beside = [text for other, text in told.items() if other != key]
            yield (
                place,
                f"{about}\t{key}|{beside}",
                texts[key].removeprefix(key).strip(),
                is_certain,
            )


def _settings(units: Sequence[Unit], entry: Entry) -> Iterator[_Found]:
    """Yield the settings of a file that is named before them, or in the call."""
    spoken = [place for place, unit in enumerate(units) if _is_line(unit) and not unit.hidden]
    settings = [
        (place, setting)
        for place in spoken[1:]
        if (unit := units[place]).opens
        and unit.ends
        and len(unit.text) <= _LONGEST
        and (setting := _SETTING.match(unit.text))
    ]
    if not settings:
        return
    file = _file_of(units[spoken[0]].text) or _file_of(" ".join(entry.arguments or ()))
    heads = {units[place].place: units[place].text for place in spoken}
    for place, setting in settings if file else ():
        section = heads.get(units[place].under, "")
        if "(" not in section:  # In a block of code, names are local.
            topic = f"{_OF_FILE}{file}|{_file_of(section) or section}|{setting[1]}"
            yield place, topic, setting[2].rstrip(";,"), True


def _states(units: Sequence[Unit], entry: Entry) -> Iterator[_Found]:
    """Yield the state of a named thing from a result of a single line."""
    spoken = [place for place, unit in enumerate(units) if unit.record >= 0]
    if len(spoken) != 1 or entry.role != Role.TOOL or units[spoken[0]].subject:
        return
    text = _TIME.sub("", units[spoken[0]].text).strip()
    named = _NAMED.match(text)
    if named and len(text) <= _LONGEST and not says_failure(text):
        value = text[named.end() :].lstrip(" :)'\"»")
        yield spoken[0], f"~{entry.opening}|{named[0]}", value, True


def _is_line(unit: Unit) -> bool:
    return not unit.subject and unit.record >= 0 and unit.place != SIZE


@lru_cache(20_000)
def _file_of(text: str) -> str:
    found = _FILE_NAME.search(text[:200])
    return found[0] + "".join(re.findall(r"\[[^\]]*\]", text[:200])) if found else ""
