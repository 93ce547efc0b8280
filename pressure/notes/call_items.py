"""What calls did and showed: outcomes, records, reports, and files that were read."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain
from posixpath import normpath
from typing import Any

from attrs import define, field

from polycontext.window import Role

from ..gist import NO_TEXT
from ..terms import Kind, is_strong, kind_of, strong_terms, terms_of
from .asks import CALLED, REPORTED, finished_before
from .events import ATTACHED, REFUSAL, TEAMMATE, Effect, Event, Happening
from .file_edits import changed_lines
from .items import MARK, Item, Section, is_told, ranged
from .output import is_name, line_key, outcome, says_failure
from .pieces import one_line
from .prose import is_item, sentences_of
from .record_lines import (
    MOST_RECORDS,
    NEEDED,
    Worth,
    changes_of,
    news_of,
    record_items,
    worth_by_kind,
)
from .records import Record, inline, outer_records, parse_records, read_json
from .text_sessions import NUMBERED, SEARCHES
from .thinning import CODE, count_lines, thin, thinned

ARGUMENTS, LEAST_ARGUMENT = (1_500, 600, 200, 90), 24
"""The most characters of the arguments of a call in its variants, and of an argument that always is
told."""

FEW_LINES, REPORT_LINES, REPORT_HEADINGS = 6, 20, 4
"""A text that was read with so few lines is told whole; a report has more than so many lines, and
headings."""

LONG_LINE, LEAST_NAME, BRIEF = 5, 5, 300
"""The words of a line of prose, the letters of a name that asks for a file, and the characters in
which a finished call is told."""

POINTER, NEWEST_FILES, OLDER, BEFORE = 300, 3, 25, 100
"""The most characters of a request that leaves the task to a file that it names; how many of the
files that were read last are not told less for their age, and by how much others are; the most
characters of an outcome that another followed."""

NOTHING = frozenset({"", "ok", "ok, no output", "(no output)"})
"""Outcomes that say no more than the call."""

MOST_READ, MOST_TELLERS = 30, 4
"""The files that are named, and the results that say a term that still tells something."""

_BEFORE = " (before a later edit)"
"""Stands behind the name of a file whose text is no longer what was read."""

_TOLD, _DATED, _ATTACHED, _DID, _CURRENT = 0.05, 0.8, 113.5, 90.0, 15.0
_NAMES, _FOUND, _CHANGED, _RETRIED = 96.0, 58.0, 102.0, 40.0
LEAST_DIGITS = 3
_RUN, _RECORDS, _READ, _THOUGHT, _REPORT, _SPECIFIED = 58.0, 68.0, 30.0, 66.0, 66.0, 86.0
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n.*?^\s*\1\s*$", re.MULTILINE | re.DOTALL)
_SPECIFICATION = re.compile(
    r"(?:^|[\s/\"'])(?:(?:tasks|specs|plans|issues|tickets|stories)/[\w.-]+|[\w.-]{0,60}"
    r"(?:task|spec|issue|ticket|plan|todo|prd|require|story|bug)[\w.-]*)\.(?:md|mdc|rst|txt)\b",
    re.IGNORECASE,
)
_SHOWS = re.compile(r"(?:cd \S+ && )?(?:cat|less|head|nl|bat|sed|gh|glab|bd) ")
_FINDS = re.compile(r"\b(?:grep|rg|ag)\b")
_LISTS = re.compile(r"(?:cd \S+ && )?(?:ls|find|tree)\b")
_BETWEEN_NAMES = re.compile(r"[\s/\\'\"=;,()]+")
_FOUND_AT = re.compile(r"\s*(?:[\w./-]{1,200}[:-])?\d+[:-]")
"""Where a search found a line."""
_DIGITS = re.compile(r"(?<=\D)\d{4,}\Z")
_TASKS = re.compile(r"(?i)todo|(?:^|_)(?:update_)?plan(?:$|_)")
_HEADING = re.compile(r"^#{1,4} \S|^\*\*[^*\n]{1,80}\*\*:?$", re.MULTILINE)
_FAILS = re.compile(r"error|fail|denied|not found|cannot|exception", re.IGNORECASE)


def call_line(event: Event, most: int = ARGUMENTS[2]) -> str:
    """Return a call on one line: the command, or the name with its arguments.

    >>> call_line(Event("call", 0, "t0", name="book", arguments='{"flight": "UA1", "seats": 2}'))
    'book(flight=UA1, seats=2)'
    """
    if event.command:
        command = _HEREDOC.sub(rf"<<\1\2 {MARK}", event.command)
        lines = (line for line in command.splitlines() if not line.lstrip().startswith("#"))
        return f"`{_ends(one_line(' '.join(lines)), most)}`"
    value = read_json(event.arguments)
    name = event.name or Role.TOOL
    if not isinstance(value, dict):
        return f"{name}({_start(one_line(event.arguments), most)})"
    texts = {
        key: inline(told) if isinstance(told, dict | list) else one_line(str(told))
        for key, told in value.items()
    }
    # What an error speaks of goes first, then what names something, then what is short.
    error = event.text.lower() if event.failed else ""
    order = sorted(
        texts,
        key=lambda key: (
            not any(word in error for word in key.lower().split("_")),
            not strong_terms(texts[key]),
            len(texts[key]),
        ),
    )
    shown = set[str]()
    for key in order:
        if len(texts[key]) <= max(most, LEAST_ARGUMENT * (key == order[0])):
            shown.add(key)
            most -= len(texts[key])
    told = [f"{key}={text}" for key, text in texts.items() if key in shown]
    return f"{name}({', '.join([*told, *[MARK] * (len(shown) < len(texts))])})"


def is_report(event: Event) -> bool:
    """Return whether a call answered with a report, such as that of another agent."""
    is_long = event.text.count("\n") > REPORT_LINES and not event.command
    return is_long and len(_HEADING.findall(event.text)) >= REPORT_HEADINGS


def _start(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} {MARK}"


def _ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    first, last = text[: most * 3 // 5].rsplit(" ", 1)[0], text[-most * 2 // 5 :]
    return f"{first} {MARK} {last.split(' ', 1)[-1]}"


@define
class CallTeller:
    """Tells calls as items; `named` holds the identifiers that are named elsewhere, by weight."""

    events: Sequence[Event]
    total: int
    named: Mapping[str, float]
    standing: Sequence[Event] = ()
    _runs: dict[str, list[int]] = field(factory=dict)
    _reads: dict[str, list[int]] = field(factory=dict)
    _records: dict[int, list[Record]] = field(factory=dict)
    _latest: dict[str, dict[int, AbstractSet[str]]] = field(factory=dict)
    """The keys of the told answers, by what they are about and their places."""
    _changes: dict[int, tuple[str, ...]] = field(factory=dict)
    _items: dict[int, list[Item]] = field(factory=dict)
    _seen: Counter[str] = field(factory=Counter)
    _tellers: dict[str, list[int]] = field(factory=dict)
    """The places of the results that say a term, and the first where it heads a record."""
    _heads: dict[str, int] = field(factory=dict)
    _asked: set[str] = field(factory=set)
    _named_files: set[str] = field(factory=set)
    _finished: int = 0
    _edits: dict[str, int] = field(factory=dict)
    """The turn of the last edit of each file, by its name."""
    _removed: dict[str, int] = field(factory=dict)
    """The turn of the last edit that removed a line."""
    _wanted: set[str] = field(factory=set)
    """The numbers of the last request that few records have."""
    _viewed: set[str] = field(factory=set)
    _spoken: set[str] = field(factory=set)
    """What the messages that stay name, and what anybody said."""
    _shown: dict[str, tuple[int, AbstractSet[str]]] = field(factory=dict)
    """The turns and keys of the latest results in the view, by what they are about."""

    def items(self) -> Iterator[Item]:
        """Yield the items of all calls and outputs."""
        printed = (event.text for event in self.events if event.happening in ("call", "output"))
        for text in printed:
            self._seen.update({line_key(line) for line in text.splitlines() if len(line) > 1})
        self._asked, self._named_files = _named_by_requests(self.events)
        wanted = _wanted(self.standing)
        self._finished = finished_before(self.events, self.standing, CALLED)
        self._changes = self.changed()
        self._edits = {
            each.path.rpartition("/")[2]: each.turn
            for each in (*self.events, *self.standing)
            if each.happening == Happening.EDIT and not each.failed and each.path
        }
        self._note_names()
        shared = Counter[str]()
        for place, event in enumerate(self.events):
            records = self._records_at(place, event)
            for term in terms_of(f"{event.arguments} {event.text}") if records else ():
                self._tellers.setdefault(term, []).append(place)
            for term in chain.from_iterable(terms_of(record.header) for record in records):
                self._heads.setdefault(term, place)
            for record in records if wanted else ():
                told = terms_of(f"{record.header} {inline(dict(record.pairs))}")
                shared.update({_tail_of(term) for term in told} & wanted)
        # What many records say tells none of them from the others.
        self._wanted = {term for term in wanted if shared[term] <= MOST_TELLERS}
        for place, event in enumerate(self.events):
            if event.happening == Happening.CALL:
                self._call(place, event)
            elif event.happening == Happening.OUTPUT:
                self._output(place, event)
        yield from chain.from_iterable(self._items.values())
        yield from self._told_runs()
        yield from self._told_reads()

    def _note_names(self) -> None:
        """Note what the messages that stay name and say, what anybody said, and removed lines."""
        for event in (*self.events, *self.standing):
            if event.happening == Happening.EDIT and not event.failed:
                self._removed |= dict.fromkeys(map(str.strip, changed_lines(event)[0]), event.turn)
        for event in self.standing:
            self._viewed |= strong_terms(f"{event.text} {event.arguments} {event.command}")
        for event in (*self.events, *self.standing):
            if event.happening in (Happening.ASK, Happening.SAY):
                self._spoken |= strong_terms(event.text)
            elif event.effect == Effect.READ:
                # A name by which something was looked up stands in that call.
                given = strong_terms(event.arguments)
                self._viewed |= {term for term in given if kind_of(term) is Kind.ID}
        for event in self.standing:
            records = _records(event)
            keys = _keys(parse_records(event.text)[1]) if records else frozenset()
            self._shown[_subject(event, records)] = (event.turn, keys)

    def _recency(self, place: int) -> float:
        return self.events[place].turn / max(1, self.total)

    def _call(self, place: int, event: Event) -> None:
        lead, value = parse_records(event.text) if event.text else ("", None)
        if event.name == ATTACHED and not event.arguments:
            self._items[place] = [_attached(place, event)]
        elif event.name == TEAMMATE:
            self._report(place, event, Section.KNOWN, _REPORT + 20 * self._recency(place))
        elif event.effect == Effect.THINK:
            self._thought(place, event)
        elif (
            value is not None
            and not lead
            and not (SEARCHES.match(event.name) and event.text[:1] == "|")
        ):
            self._answer(place, event, value)
        elif event.effect == Effect.RUN:
            if is_report(event):
                self._report(place, event, Section.KNOWN, _REPORT + 20 * self._recency(place))
            else:
                self._runs.setdefault(_run_key(event), []).append(place)
        elif event.effect == Effect.READ or (event.text and not event.failed):
            # An editor shows the lines around an edit as they are now.
            body = _unnumbered(event.text)
            if event.effect == Effect.READ and (section := self._specifies(place, event, body)):
                score = _SPECIFIED + 6 * self._recency(place) - OLDER * self._is_edited(place)
                self._report(place, event._replace(text=body), section, score)
            else:
                read = normpath(event.path) if event.path else call_line(event, 2_000)
                self._reads.setdefault(read, []).append(place)
        elif event.failed:
            self._runs.setdefault(_run_key(event), []).append(place)

    def _thought(self, place: int, event: Event) -> None:
        value = read_json(event.arguments)
        text = str(next(iter(value.values()), "")) if isinstance(value, dict) else event.arguments
        told = sentences_of(text)
        if told:
            texts = (*thinned(thin("\n".join(told), 1200), 500), told[-1])
            score = _THOUGHT + 25 * self._recency(place)
            variants = ranged([f"thought: {each}" for each in texts])
            self._items[place] = [Item(Section.KNOWN, place, score, variants)]

    def _report(self, place: int, event: Event, section: Section, score: float) -> None:
        line = ("" if event.arguments else event.path) or call_line(event, ARGUMENTS[-1])
        whole = "\n".join(each for each in event.text.splitlines() if each.strip())
        sizes = (len(whole) * 2 // 3, len(whole) // 3, *REPORTED[2:])
        score -= OLDER * (place < self._finished)
        texts = thinned(whole, *(REPORTED if event.effect == Effect.RUN else sizes))
        line += _BEFORE if self._is_edited(place) else ""
        told = ranged([f"from {line}:\n{each}" for each in texts])
        self._items[place] = [Item(section, place, score, told)]

    def _is_edited(self, place: int) -> bool:
        """Return whether a file was edited after it was read."""
        event = self.events[place]
        names = _BETWEEN_NAMES.split(event.path or event.command)
        return any(self._edits.get(name, -1) > event.turn for name in names)

    def changed(self) -> dict[int, tuple[str, ...]]:
        """Return by place what records say that differs from what an earlier result said."""
        found, latest = dict[int, tuple[str, ...]](), dict[str, list[Record]]()
        for place, event in enumerate(self.events):
            records = self._records_at(place, event)
            if main := _main(event, records):
                if main in latest and (
                    told := changes_of(latest[main], records, made=event.effect == Effect.RUN)
                ):
                    found[place] = told
                latest[main] = records
        return found

    def _worth(self, place: int, term: str) -> float:
        """Return what a term is worth in a result: more if it is named, less if told before."""
        strong = worth_by_kind(term)
        named = self.named.get(term) or self.named.get(_tail_of(term), 0.0)
        worth = min(named, 4) + strong
        if {term, _tail_of(term)} & self._wanted:
            return worth + NEEDED
        tellers = self._tellers.get(term, [place])
        # A record is told where it stands whole, not where a list names it.
        if self._heads.get(term, place) != place or len(tellers) > MOST_TELLERS:
            return worth * _TOLD
        return worth / (1 + bisect_left(tellers, place))

    def _worth_of_spoken(self, term: str) -> float:
        """Return what a term is worth in a record of which somebody spoke: little if in view."""
        known = _TOLD if term in self._viewed else 1.0
        return known * worth_by_kind(term) * (_DATED if kind_of(term) is Kind.DATE else 1.0)

    def _is_known(self, place: int, event: Event, value: str) -> bool:
        """Return whether the arguments of a call or an earlier result say a value."""
        if value.strip('"') in event.arguments:
            return True
        terms = terms_of(value)
        return bool(terms) and all(self._tellers.get(term, [place])[0] < place for term in terms)

    def _records_at(self, place: int, event: Event) -> list[Record]:
        if place not in self._records:
            self._records[place] = _records(event)
        return self._records[place]

    def _answer(self, place: int, event: Event, value: Any) -> None:
        """Tell records; a later answer about the same one replaces one that says no more."""
        records = self._records_at(place, event)
        main, what, keys = _main(event, records), _subject(event, records), _keys(value)
        if not event.failed:
            told_before = self._latest.setdefault(what, {})
            for older in [each for each, had in told_before.items() if had <= keys]:
                del told_before[older], self._items[older]
            told_before[place] = keys
        first, *more = self._changes.get(place, ("",))
        # The record is named once.
        changed = "\n".join((first, *(each.removeprefix(f"{main} ") for each in more)))
        is_named = event.effect == Effect.RUN or (main and main in event.arguments)
        opening = event.name if is_named else call_line(event)
        # One record is more than the results of a search.
        score = (_RECORDS if main else _FOUND) + 8 * self._recency(place)
        worth: Worth = partial(self._worth, place)
        if main in self._spoken and event.effect == Effect.READ:
            # What goes on is about a record of which somebody spoke.
            worth, score = self._worth_of_spoken, score + _CURRENT
        asked = "" if is_named else event.arguments
        told = [*record_items(place, value, worth, opening, score, asked=asked)]
        if event.effect == Effect.RUN:
            came = changed or news_of(records, partial(self._is_known, place, event))
            lines = [call_line(event, size) for size in ARGUMENTS]
            done = ranged([f"{line} -> {came}" if came else line for line in lines])
            if "\n" in came:
                done += (f"{lines[-1]} -> {came.partition(chr(10))[0]} {MARK}",)
            score = _CHANGED + 10 * self._recency(place)
            self._items[-place - 1] = [Item(Section.DONE, place, score, done)]
            # What the line of the call says whole is told once.
            if len(records) == len(told):
                shown = f"{call_line(event, len(event.arguments))} {came}"
                told = [
                    item
                    for item, record in zip(told, records, strict=True)
                    if not all(inline(each).strip('"') in shown for each in record.pairs.values())
                ]
        # A later result in the view says the latest of it.
        turn, shown_keys = self._shown.get(what, (0, frozenset()))
        self._items[place] = [] if event.turn < turn and keys <= shown_keys else told

    def _output(self, place: int, event: Event) -> None:
        if _unnumbered(event.text) != event.text:
            self._reads.setdefault(event.text, []).append(place)
            return
        texts = outcome(event.text, self._seen)
        score = 40 + 25 * self._recency(place) + 8 * bool(_FAILS.search(texts[-1]))
        told = ranged([_after("output", text) for text in texts])
        self._items[place] = [Item(Section.DONE, place, score, told)]

    def _specifies(self, place: int, event: Event, body: str) -> Section | None:
        """Return where prose that was read belongs if it is the task, or if a request names it."""
        lines = [line for line in body.splitlines() if line.strip()]
        if len(lines) < FEW_LINES:
            return None
        code = sum(CODE.search(line) is not None for line in lines)
        words = sum(len(line.split()) >= LONG_LINE or is_item(line) for line in lines)
        if words < len(lines) / 2 or code > len(lines) / 4:
            return None
        # A command that lists or searches shows no text.
        if event.command and not _SHOWS.match(event.command):
            return None
        shown = f"{event.command} {event.arguments} {event.path}"
        is_named = any(term in shown for term in self._named_files)
        if is_named and _SPECIFICATION.search(shown) and place >= self._finished:
            return Section.TASK
        return Section.KNOWN if any(term in shown for term in self._asked) else None

    def _was_retried(self, place: int, made: Mapping[str, int]) -> bool:
        """Return whether a later call did what a failed one should have done.

        `made` has the place of the last call of each tool that did not fail.
        """
        failed = self.events[place]
        name = failed.path.rpartition("/")[2]
        if failed.effect == Effect.EDIT and self._edits.get(name, -1) > failed.turn:
            return True
        is_later = made.get(failed.name, -1) > place
        return is_later and not (failed.command or strong_terms(failed.arguments))

    def _told_runs(self) -> Iterator[Item]:
        """Yield each command once, with its last outcome and how often it was run."""
        again = {event.command or _answer_key(event) for event in self.standing}
        every = enumerate((*self.events, *self.standing))
        made = {each.name: place for place, each in every if not each.failed}
        for places in self._runs.values():
            place = places[-1]
            event = self.events[place]
            if _TASKS.search(event.name) and not event.failed:
                continue  # What is open of the list is told as open.
            # What the same command says in the view is the latest.
            is_shown = (event.command or _answer_key(event)) in again
            if (is_shown and event.command) or (event.failed and self._was_retried(place, made)):
                continue
            texts = outcome(event.text, self._seen)
            times = _times([self.events[each] for each in places])
            # A tool does what its name says; most commands only look or try.
            base = _RUN if event.command else _DID
            score = base + 20 * self._recency(place) + 6 * bool(_FAILS.search(texts[-1]))
            if (
                event.failed
                and not event.command
                and event.effect == Effect.RUN
                and event.text != REFUSAL
            ):
                # What failed is tried again, until it was made with success.
                score += _RETRIED * (made.get(event.name, -1) < place)
            # Whoever tries again needs all that was given.
            sizes = ARGUMENTS if not event.failed else (ARGUMENTS[0], *ARGUMENTS[2:])
            whole, *shorter = (f"{call_line(event, size)}{times}" for size in sizes)
            told = [
                *(_after(whole, text) for text in texts),
                *(_after(line, _start(texts[-1], ARGUMENTS[-1])) for line in shorter),
            ]
            variants = ranged(told)
            if place < self._finished:
                variants = tuple(each for each in variants if len(each) <= BRIEF) or variants[-1:]
            yield Item(Section.DONE, place, score, variants[-1 if is_shown else 0 :])

    def _told_reads(self) -> Iterator[Item]:
        """Yield what was read: short texts whole, answers in part, and files by name."""
        named: list[str] = []
        lasts = sorted(places[-1] for places in self._reads.values())
        for places in self._reads.values():
            # A failure replaces nothing.
            read = [place for place in places if not self.events[place].failed] or places
            place = read[-1]
            event = self.events[place]
            is_output = event.happening == Happening.OUTPUT
            shown = outcome(event.text)[0] if _lists(event) else event.text
            if not (SEARCHES.match(event.name) or _FINDS.search(event.command)):
                shown = _unnumbered(shown)  # What was found stands at its number.
            lines = [*filter(str.strip, shown.splitlines())]
            # What an edit removed since is no longer so.
            body = [
                line
                for line in lines
                if self._removed.get(_FOUND_AT.sub("", line).strip(), -1) <= event.turn
            ]
            label = event.path or ("a file" if is_output else call_line(event))
            # Who needs more of an older file reads it again.
            recency = 25 * self._recency(place) - OLDER * (place not in lasts[-NEWEST_FILES:])
            if not body:
                continue
            if event.failed or (len(body) <= FEW_LINES and not self._is_edited(place)):
                yield Item(
                    Section.KNOWN,
                    place,
                    44 + recency,
                    tuple(_after(label, text) for text in outcome("\n".join(body), self._seen)),
                )
                continue
            if event.effect == Effect.READ and (event.path or _SHOWS.match(event.command)):
                named.append(f"{label} ({count_lines(lines)} lines)")
            elif not event.path and not event.command:
                # What a service answered may not be there again.
                text = "\n".join(body)
                is_log = any(map(says_failure, body))
                texts = outcome(text) if is_log else thinned(thin(text, 2_000), 700, 250)
                if variants := ranged([_after(label, text) for text in texts if is_told(text)]):
                    yield Item(Section.KNOWN, place, _READ + recency, variants)
        if named:
            last = max(places[-1] for places in self._reads.values())
            sizes = dict.fromkeys(min(size, len(named)) for size in (MOST_READ, 10, 4, 1))
            yield Item(
                Section.FILES,
                last,
                _NAMES,
                tuple(f"read: {'; '.join(named[-size:])}" for size in sizes),
            )


def _wanted(standing: Sequence[Event]) -> set[str]:
    """Return the numbers by which the last request can name one record among others."""
    asks = [each.text for each in standing if each.happening == Happening.ASK]
    terms = terms_of(asks[-1]) if asks else ()
    return {term for term in terms if len(term) >= LEAST_DIGITS and term.isdigit()}


def _tail_of(term: str) -> str:
    """Return the last digits of an id, by which people name a card, or the term."""
    digits = _DIGITS.search(term) if is_strong(term) else None
    return digits[0] if digits else term


def _lists(event: Event) -> bool:
    """Return whether a call lists files, a line each."""
    lines = [*filter(is_told, event.text.splitlines())]
    return bool(_LISTS.match(event.command)) or (
        not event.path and len(lines) > FEW_LINES and all(map(is_name, lines))
    )


def _named_by_requests(events: Sequence[Event]) -> tuple[set[str], set[str]]:
    """Return what the first and the last request name if they are short, and what all name."""
    asks = [event.text for event in events if event.happening == Happening.ASK]
    short = [text for text in (*asks[:1], *asks[-1:]) if len(text) <= POINTER]
    pointed, named = ({*strong_terms("\n".join(texts))} for texts in (short, asks))
    files = {term for term in named if "." in term or "/" in term}
    return {term for term in pointed if len(term) >= LEAST_NAME}, files


def _run_key(event: Event) -> str:
    """Return a key that is equal for the same command, and for calls of a tool that end alike.

    Of a list of tasks that is written again and again, the last says it all.
    """
    if _TASKS.search(event.name):
        return event.name
    shown = "" if event.failed else event.arguments
    return event.command or f"{event.name}\t{shown}\t{event.text}"


def _answer_key(event: Event) -> str:
    return f"{event.name}\t{event.arguments}\t{event.text}"


def _times(runs: Sequence[Event]) -> str:
    """Return how often a call was made, and what came of a command last that was something else."""
    *earlier, last = runs
    if not earlier:
        return ""
    if any(event.arguments != last.arguments for event in earlier):
        return f" ({len(runs)}×, the last shown)"
    came = outcome(last.text)[-1]
    others = (outcome(event.text)[-1] for event in reversed(earlier) if event.text != last.text)
    before = next((each for each in others if each != came), "") if last.command else ""
    return f" ({len(runs)}×, before: {_start(before, BEFORE)})" if before else f" ({len(runs)}×)"


def _attached(place: int, event: Event) -> Item:
    """Return the item of an attachment, which is always named."""
    lines = [line.strip() for line in event.text.splitlines() if line.strip()]
    texts = [*thinned(thin("\n".join(lines), 2_000), 800, 300)]
    failing = [line for line in lines if _FAILS.search(line)]
    texts.append(
        _start((failing or lines)[-1 if failing else 0], ARGUMENTS[-1]) if lines else NO_TEXT
    )
    told = ranged([f"{ATTACHED} {event.path}: {text}" for text in texts])
    return Item(Section.FILES, place, _ATTACHED, told)


def _records(event: Event) -> list[Record]:
    """Return the records in the result of a call, none if it is anything else."""
    if event.happening != Happening.CALL or event.text.lstrip()[:1] not in ("{", "["):
        return []
    lead, value = parse_records(event.text)
    return [] if lead or value is None else outer_records(value, MOST_RECORDS)[0]


def _keys(value: Any) -> AbstractSet[str]:
    """Return the keys of an object; a list has none."""
    return frozenset(value) if isinstance(value, dict) else frozenset()


def _main(event: Event, records: Sequence[Record]) -> str:
    """Return the id of the record that an answer is about; a list is about none."""
    first = next((record for record in records if record.about), None)
    is_one = event.text.lstrip().startswith("{") and first is not None and first.header
    return first.about if first is not None and is_one else ""


def _subject(event: Event, records: Sequence[Record]) -> str:
    """Return what an answer is about: its record, or what was asked for."""
    return _main(event, records) or f"{event.name}\t{event.arguments}\t{event.command}"


def _after(opening: str, text: str) -> str:
    if text in NOTHING:
        return opening
    return f"{opening} ->\n{text}" if "\n" in text else f"{opening} -> {text}"


def _unnumbered(text: str) -> str:
    """Return the text of a file without line numbers."""
    numbered = len(NUMBERED.findall(text))
    return NUMBERED.sub("", text) if numbered > 0.6 * (text.count("\n") + 1) else text
