"""What the user asked and said, verbatim, with what short answers answer."""

import re
from collections.abc import Iterator, Sequence

from polycontext.window import Role

from ..terms import STRONG, Kind, is_prose, kind_of, terms_of
from .events import Event, Happening
from .items import Item, Section, is_told, left_out, ranged
from .prose import is_question, sentences_of
from .text_sessions import pasted
from .thinning import thin, thinned

SHORT_ANSWER, NAMING = 80, 300
"""An answer of at most so many characters is told with the question before it; with the points of
a list that it names by their numbers."""

LONG, PASTED, FINISHED = 300, 1_200, (320, SHORT_ANSWER)
"""A message of more characters than this has shorter variants, and only ones of these sizes once
other tasks followed it."""

_SHARES = (0.7, 0.45, 0.25, 0.1, 0.04)
REPORTED = (4_000, 2_000, 1_000, 500, 250)
"""The characters of the variants of a report."""

_BLOCK = re.compile(
    r"^([ \t]*)(`{3,}+|~{3,}+)([^\n`]*+)\n(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_POINT = re.compile(r"[ \t]*[*_]{0,2}(\d{1,2})[.)]")
_RANGE = re.compile(r"\b(\d{1,2})(?:\s?(?:-|–|to|through)\s?(\d{1,2}))?\b")
_WORDS = re.compile(
    r"\b(?:((?:option|number) one|first)|(two|second)|(three|third)|(four|fourth)|(five|fifth))\b"
)
_NAMES_POINTS = re.compile(
    r"(?i)(?:\b(?:options?|numbers?|items?|points?|steps?|tasks?|issues?|findings?|do|fix|address"
    r"|choose) |#)\d{1,2}\b(?![.,:]\d)|\A\W*\d{1,2}(?:(?:\W+and)?\W+\d{1,2})*\W*\Z"
    r"|\bthe (?:first|second|third|fourth|fifth) (?:one|option|flight|item|point|issue)\b"
)
"""What surely names points of a list, not only a number."""
LEAST_LINES, _FAR = 6, 200
"""A block of code in a message with more lines than this is told by its size; how many events back
a list is looked for."""

_NEWEST, _FIRST, _OTHERS, _RECENT = 120.0, 95.0, 70.0, 26.0
_ANSWERED = 118.0
TASKS, CALLED = 2, 3
"""How many of the last tasks are not finished, and of how many calls are told at length."""


def ask_items(
    events: Sequence[Event], standing: Sequence[Event] = (), *, total: int, is_anchored: bool
) -> Iterator[Item]:
    """Yield an item for each message of the user that is not said again later.

    The first one is the task, unless the view still has the first request (`is_anchored`). Requests
    that others follow, also in the `standing` events, are told in short.
    """
    asks = [place for place, event in enumerate(events) if event.happening == Happening.ASK]
    last = {events[place].text: place for place in asks}
    later = [event for event in standing if event.happening == Happening.ASK]
    tasks = tasks_of(events, standing)
    # A word such as "proceed" leaves the request before it open.
    live = tasks[-1] if tasks else -1
    for place in asks:
        event = events[place]
        if last[event.text] != place:
            continue
        is_task = place == asks[0] and not is_anchored
        score = (
            _NEWEST
            if place == asks[-1] and not later
            else _FIRST
            if is_task or place == live
            else _OTHERS + _RECENT * event.turn / max(1, total) + telling(event.text)
        )
        is_finished = place in tasks[:-TASKS]
        # A message of nothing but marks says nothing.
        is_followed = bool(later) and not is_task
        if variants := said_variants(event, is_finished=is_finished, is_followed=is_followed):
            section = Section.TASK if is_task else Section.SAID
            yield Item(section, place, score, variants, _asked(events, place))


def tasks_of(events: Sequence[Event], standing: Sequence[Event]) -> list[int]:
    """Return the places of requests that are no answers; those that stay are at the end."""
    return [
        min(place, len(events))
        for place, event in enumerate((*events, *standing))
        if event.happening == Happening.ASK
        and len(event.text) > SHORT_ANSWER
        and not event.text.startswith('"')  # of questions of a tool, with which answers begin
    ]


def finished_before(events: Sequence[Event], standing: Sequence[Event], tasks: int = TASKS) -> int:
    """Return the place before which all was done for requests that so many others followed."""
    return [0, *tasks_of(events, standing)[: 1 - tasks]][-1]


def answered_items(events: Sequence[Event], standing: Sequence[Event]) -> Iterator[Item]:
    """Yield the message that the first message in `standing` answers, if the user wrote that.

    Its shorter variants have the most telling lines.
    """
    if _is_reply(events, standing) and len(events[-1].text) > SHORT_ANSWER:
        yield _reported(len(events) - 1, *thinned(_lines(events[-1].text), *REPORTED))


def pointed_items(events: Sequence[Event], standing: Sequence[Event]) -> Iterator[Item]:
    """Yield the points of a list, however long ago it was told, that the last request names."""
    asks = [place for place, each in enumerate(standing) if each.happening == Happening.ASK]
    answer = standing[asks[-1]].text if asks else ""
    if not answer or _listed_at(standing, asks[-1], answer)[1]:
        return
    place, named = _listed_at(events, len(events), answer)
    if not named and not asks[-1] and _is_reply(events, standing):
        place, named = len(events) - 1, _named_points(events[-1].text, answer)
    if named:
        yield _reported(
            place, _lines(events[place].text) if place == len(events) - 1 else "", named
        )


def _is_reply(events: Sequence[Event], standing: Sequence[Event]) -> bool:
    """Return whether the first message that stays is the user's answer to the last before it."""
    said, answer = events[-1:], standing[:1]
    return bool(said and answer) and (said[0].happening, answer[0].happening) == (
        Happening.SAY,
        Happening.ASK,
    )


def _lines(text: str) -> str:
    return "\n".join(filter(str.strip, text.splitlines()))


def _reported(place: int, *texts: str) -> Item:
    variants = ranged([f"{Role.ASSISTANT}: {text}" for text in texts if text])
    return Item(Section.KNOWN, place, _ANSWERED, variants)


def _listed_at(events: Sequence[Event], end: int, answer: str) -> tuple[int, str]:
    """Return the place of the last list before `end` with the points an answer names, and these."""
    if not _NAMES_POINTS.search(answer):
        return -1, ""
    for place in reversed(range(max(0, end - _FAR), end)):
        said = events[place]
        if said.happening == Happening.SAY and (named := _named_points(said.text, answer)):
            return place, named
    return -1, ""


def telling(text: str) -> float:
    """Return how much a text tells that cannot be told again: identifiers, dates and numbers.

    >>> telling("Thanks, do it."), telling("It is ZFA04Y, on 2024-05-20.")
    (-10.0, 8.0)
    """
    kinds = [kind_of(term) for term in terms_of(text)]
    strong = sum(kind in STRONG for kind in kinds) * 2 + sum(kind is Kind.NUMBER for kind in kinds)
    return min(16.0, 4.0 + strong) if strong else -10.0 if len(text) < SHORT_ANSWER // 2 else 0.0


def said_variants(
    event: Event, *, is_finished: bool = False, is_followed: bool = False
) -> tuple[str, ...]:
    """Return what somebody said from long to short, with the speaker first.

    Of a request that `is_finished`, what was pasted is counted, and there are only short variants.
    One that another followed has no very long one.
    """
    speaker = " ".join(("user", *event.name.split())) if event.name else "user"
    text = without_code(event.text).strip()
    if is_finished and len(text) > SHORT_ANSWER:
        text = "\n\n".join(map(_own, text.split("\n\n")))
        texts = thinned(thin(text, FINISHED[0]), *FINISHED[1:])
    else:
        sizes = [int(len(text) * share) for share in _SHARES] if len(text) > LONG else []
        # What was pasted into a request is read again where it is needed.
        texts = thinned(thin(text, PASTED) if is_followed else text, *sizes)
    return ranged([f"{speaker}: {each}" for each in texts if is_told(each)])


def without_code(text: str) -> str:
    """Return a text in which long blocks of code are told by their sizes."""
    return _BLOCK.sub(_sized, text)


def _sized(block: re.Match[str]) -> str:
    lines = block[4].count("\n")
    return (
        left_out(lines, f"{block[3].strip() or 'text'} line") if lines > LEAST_LINES else block[0]
    )


def _own(block: str) -> str:
    """Return a paragraph, or a mark that counts its lines if it is no prose."""
    lines = block.split("\n")
    is_own = is_prose(block) and not pasted(lines)
    return block if is_own else left_out(len(lines), "line")


def _asked(events: Sequence[Event], place: int) -> str:
    """Return the question that a short answer answers, or the points of a list that it names."""
    answer = events[place].text
    if len(answer) > NAMING or not place:
        return ""
    is_reply = events[place - 1].happening == Happening.SAY
    said = events[place - 1].text if is_reply else ""
    if named := _named_points(said, answer) or _listed_at(events, place, answer)[1]:
        return f"{Role.ASSISTANT}: {named}"
    if len(answer) > SHORT_ANSWER:
        return ""
    asked = [each for each in sentences_of(said) if is_question(each)]
    return f"{Role.ASSISTANT}: {asked[-1]}" if asked else ""


def _named_points(said: str, answer: str) -> str:
    r"""Return the points of the last numbered list of a message that an answer names.

    >>> _named_points("We have:\n1. a red one\n2. a blue one\n\nWhich?", "The second, please.")
    '2. a blue one'
    """
    if len(answer) > NAMING:
        return ""
    is_number = len(answer) <= SHORT_ANSWER or _NAMES_POINTS.search(answer)
    wanted = {
        number
        for first, last in _RANGE.findall(answer if is_number else "")
        for number in range(int(first), min(int(last or first), int(first) + 9) + 1)
    } | {found.lastindex or 0 for found in _WORDS.finditer(answer.lower())}
    points, number = dict[int, list[str]](), 0
    for line in said.splitlines() if wanted else ():
        if point := _POINT.match(line):
            number = int(point[1])
            points[number] = []
        elif line.startswith(("#", "---")) or (line.strip() and not line[0].isspace()):
            number = 0
        if number and line.strip():
            points[number].append(line.rstrip())
    return "\n".join(line for number in sorted(wanted & {*points}) for line in points[number])
