"""What the assistant said while it worked: its closing reports, findings and what is open."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import Any

from .asks import LEAST_LINES, finished_before, telling
from .cues import MOST_STEPS, is_done, is_open
from .events import Event, Happening
from .file_edits import changed_lines
from .items import MARK, Item, Section, is_told, left_out, ranged
from .pieces import one_line
from .plans import TASK_CALLS
from .prose import is_closer, is_intention, is_item, is_question, sentences_of
from .records import inline, read_json
from .thinning import thin, thinned

_FEW_WORDS, _BRIEF, _FINISHED, _REPORTS = 2, 60, 20, 6
_CHEERS = re.compile(r"(?i)\W*(?:perfect|great|excellent|success|done)\b.*!\W*$")
_OBJECTS = re.compile(
    r"(?i)\b(?:still|not|cannot|\w+n['’]t|wrong|broken|bug|errors?|fail\w*|but|instead|undo|revert|no)\b"
)
_LONGEST_CHEER, _REPLY = 120, 120
"""What only rejoices, often too early, what objects to a report, and the most characters of either
that count."""
_MOST_EDITS, _LEAST_CODE, _OPEN = 100, 24, 119.0
_SIZES, _FINISHED_SIZES = (1_200, 600, 300), (300, 150)
_CLOSING, _CLOSED, _RECENT = 84.0, 48.0, 30.0


def finding_items(events: Sequence[Event], standing: Sequence[Event], total: int) -> Iterator[Item]:
    """Yield what the assistant reported at the end of its work, the newest whole.

    What it said on the way is not told: most of it is decided since, or shows in what was done.
    """
    is_answered = any(each.happening == Happening.SAY for each in standing)
    finished, said = finished_before(events, standing), [*_statements(events, standing)]
    closing = max((place for place, _, closes in said if closes), default=-1)
    for place, text, closes in said:
        is_report = closes or sum(map(is_item, text.splitlines())) >= _REPORTS
        if not is_report or not (report := _reported(text)):
            continue
        recency = _RECENT * events[place].turn / max(1, total)
        score = _CLOSED + recency + telling(report) - _FINISHED * (place < finished)
        is_newest = place == closing and not is_answered
        if place == closing:
            texts = thinned(report, *_SIZES)
        else:
            most, least = _SIZES[1:] if place >= finished else _FINISHED_SIZES
            texts = thinned(thin(report, most), least)
        reply = _reply_to(text, events[place + 1 : place + 2])
        variants = tuple(f"assistant: {each}{reply}" for each in texts if not _only_announces(each))
        if not variants:
            continue
        yield Item(Section.KNOWN, place, _CLOSING if is_newest else score, variants)


def _reply_to(text: str, after: Sequence[Event]) -> str:
    """Return a line with what the user answered to a question, or objected to a report, or ""."""
    reply = one_line(after[0].text) if after and after[0].happening == Happening.ASK else ""
    is_telling = _OBJECTS.search(reply[:_REPLY]) or any(map(is_question, sentences_of(text)))
    if not reply or not is_telling:
        return ""
    words = reply if len(reply) <= _REPLY else f"{reply[:_REPLY].rsplit(' ', 1)[0]} {MARK}"
    return f"\n(user then: {words})"


def _reported(text: str) -> str:
    """Return a closing message in whole lines, "" if it only asks, thanks or offers help."""
    lines = [
        line
        for line in text.splitlines()
        if line.strip() and not (len(line) <= _LONGEST_CHEER and _CHEERS.match(line))
    ]
    told = [each for each in sentences_of(text) if not (is_question(each) or is_closer(each))]
    brief = len(told) <= 1 and len("".join(told)) < _BRIEF
    return "" if brief else "\n".join(lines)


def _only_announces(text: str) -> bool:
    """Return whether all lines but marks announce what is left out."""
    return all(line.rstrip(" *_").endswith(":") for line in filter(is_told, text.splitlines()))


def _statements(
    events: Sequence[Event], standing: Sequence[Event]
) -> Iterator[tuple[int, str, bool]]:
    """Yield the place of what the assistant said, its text, and whether the user spoke next.

    Code between its statements is counted if it is long or others follow, and so are lines of more
    than a few words that the user or a message that stays repeats, and code that an edit removed.
    """
    spoken = (Happening.SAY, Happening.CODE)
    edits = [each for each in (*events, *standing) if each.happening == Happening.EDIT]
    removed = {
        line.strip()
        for edit in edits[-_MOST_EDITS:]
        for line in ([] if edit.failed else changed_lines(edit)[0])
        if len(line.strip()) >= _LEAST_CODE
    }
    repeated = {
        line.strip()
        for event in (*(each for each in events if each.happening == Happening.ASK), *standing)
        for line in event.text.splitlines()
        if len(line.split()) > _FEW_WORDS
    }
    for turn, run in groupby(
        enumerate(events), lambda each: each[1].turn if each[1].happening in spoken else None
    ):
        said = [*run] if turn is not None else []
        if any(event.happening == Happening.SAY for _, event in said):
            place, _ = said[-1]
            after = events[place + 1 : place + 2]
            closes = not after or after[0].happening == Happening.ASK
            text = "\n\n".join(_shown(event, LEAST_LINES if closes else 0) for _, event in said)
            gone = {line for line in removed if line in text}
            yield place, "\n".join(_without(text.splitlines(), repeated, gone)), closes


def _without(
    lines: Sequence[str], repeated: AbstractSet[str], removed: AbstractSet[str]
) -> Iterator[str]:
    """Yield lines with a mark for each run of those that others repeat or that quote old code."""

    def is_left_out(line: str) -> bool:
        return line.strip() in repeated or any(code in line for code in removed)

    for is_left, run in groupby(lines, is_left_out):
        told = [*run]
        yield from [left_out(len(told), "line")] if is_left else told


def _shown(event: Event, most: int) -> str:
    """Return what is said, or code of at most so many lines in its fence; of more, their number."""
    if event.happening != Happening.CODE:
        return event.text
    lines = event.text.count("\n") + 1
    if lines > most:
        return left_out(lines, f"{event.name or 'code'} line")
    return f"```{event.name}\n{event.text}\n```"


def _joined(told: Sequence[tuple[int, str]]) -> str:
    """Return whole sentences on a line each, since a line may end between them; gaps are marked."""
    lines, last = list[str](), told[0][0] - 1
    for place, text in told:
        lines.append(f"{MARK} {text}" if place > last + 1 else text)
        last = place
    return "\n".join(lines)


def open_items(events: Sequence[Event], standing: Sequence[Event]) -> Iterator[Item]:
    """Yield what the assistant asked or announced last, unless it went on in `standing`.

    It is open if nobody answered; an answer that stays in the view needs it, too.
    """
    spoken = (
        place for place in reversed(range(len(events))) if events[place].happening == Happening.SAY
    )
    last = next(spoken, None)
    gone_on = {Happening.SAY, Happening.CALL, Happening.EDIT}
    if last is None or any(each.happening in gone_on for each in (*events[last + 1 :], *standing)):
        return
    if any(each.happening == Happening.ASK for each in events[last + 1 :]):
        return
    told = sentences_of(events[last].text)
    coming = [
        (place, each) for place, each in enumerate(told) if is_question(each) or is_intention(each)
    ][-2:]
    if coming:
        is_answered = any(each.happening == Happening.ASK for each in standing)
        texts = (f"assistant: {_joined(coming)}", f"assistant: {one_line(coming[-1][1])}")
        yield Item(Section.KNOWN if is_answered else Section.OPEN, last, _OPEN, ranged(texts))


def plan_items(events: Sequence[Event], standing: Sequence[Event] = ()) -> Iterator[Item]:
    """Yield the first open points of the last plan that somebody wrote, in prose or as a call.

    One that stays in the view is not told again.
    """
    every = [*events, *standing]
    for place in reversed(range(len(every))):
        event = every[place]
        if event.happening == Happening.SAY:
            lines = [[each] for each in sentences_of(event.text)]
        elif event.arguments and event.name not in TASK_CALLS:
            lines = [[each] for each in _points(read_json(event.arguments))]
        else:
            continue
        states = [is_open(each) or is_done(each) for (each,) in lines]
        if not any(states):
            continue
        coming = [each for (each,) in lines if is_open(each)][:MOST_STEPS]
        if coming and place < len(events):
            yield Item(Section.OPEN, place, _OPEN - 1, ranged(["\n".join(coming), coming[0]]))
        return


def _points(value: Any) -> Iterator[str]:
    """Yield the points of a list of tasks among the arguments of a call, a line each."""
    for told in value.values() if isinstance(value, dict) else ():
        if isinstance(told, list):
            yield from (inline(each) for each in told if isinstance(each, dict))
        elif isinstance(told, str):
            # A sentence that speaks of "a phase in progress" is no point.
            lines = told.splitlines()
            yield from (line for line in lines if is_item(line) or not line[:1].isalpha())
