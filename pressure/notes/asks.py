"""What the user asked and said, verbatim, with what short answers answer."""

import re
from collections.abc import Iterator, Sequence

from polycontext.window import Role

from ..terms import STRONG, Kind, is_prose, kind_of, terms_of
from .events import Event, Happening
from .items import Item, Section, left_out, ranged
from .prose import is_question, sentences_of
from .text_sessions import pasted
from .thinning import thin, thinned

SHORT_ANSWER, NAMING = 80, 300
"""An answer of at most so many characters is told with the question before it; with the points of
a list that it names by their numbers."""

LONG, FINISHED = 300, (320, SHORT_ANSWER)
"""A message of more characters than this has shorter variants, and only ones of these sizes once
other tasks followed it."""

_SHARES, _REPORTED = (0.7, 0.45, 0.25, 0.1, 0.04), (4_000, 2_000, 1_000, 500, 250)

_BLOCK = re.compile(
    r"^([ \t]*)(`{3,}+|~{3,}+)([^\n`]*+)\n(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_MARKS = re.compile(r"\[…[^\]\n]*\]")
_POINT = re.compile(r"[ \t]*[*_]{0,2}(\d{1,2})[.)]")
_RANGE = re.compile(r"\b(\d{1,2})(?:\s?(?:-|–|to|through)\s?(\d{1,2}))?\b")
_WORDS = re.compile(
    r"\b(?:((?:option|number) one|first)|(two|second)|(three|third)|(four|fourth)|(five|fifth))\b"
)
_LEAST_LINES = 6
"""A block of code in a message with more lines than this is told by its size."""

_NEWEST, _FIRST, _OTHERS, _RECENT = 120.0, 95.0, 70.0, 26.0
_ANSWERED = 118.0
_TASKS = 2


def ask_items(
    events: Sequence[Event], standing: Sequence[Event] = (), *, total: int, is_anchored: bool
) -> Iterator[Item]:
    """Yield an item for each message of the user that is not said again later.

    The first one is the task, unless the view still has the first request (`is_anchored`). Requests
    that others follow, also in the `standing` events, are told in short.
    """
    asks = [place for place, event in enumerate(events) if event.happening == Happening.ASK]
    last = {events[place].text: place for place in asks}
    tasks = [place for place in asks if len(events[place].text) > SHORT_ANSWER]
    later = [event for event in standing if event.happening == Happening.ASK]
    tasks += [len(events)] * sum(len(event.text) > SHORT_ANSWER for event in later)
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
        is_finished = place in tasks[:-_TASKS]
        # A message of nothing but marks says nothing.
        if variants := said_variants(event, is_finished=is_finished):
            section = Section.TASK if is_task else Section.SAID
            yield Item(section, place, score, variants, _asked(events, place))


def answered_items(events: Sequence[Event], standing: Sequence[Event]) -> Iterator[Item]:
    """Yield the message that the first message in `standing` answers, if the user wrote that.

    Its shorter variants have the points that the answer names by number, or the most telling lines.
    """
    said, answer = events[-1:], next(iter(standing), None)
    if answer is None or answer.happening != Happening.ASK or not said:
        return
    if said[0].happening == Happening.SAY and len(said[0].text) > SHORT_ANSWER:
        text = "\n".join(line for line in said[0].text.splitlines() if line.strip())
        named = _named_points(text, answer.text)
        texts = (text, named) if named else thinned(text, *_REPORTED)
        variants = ranged([f"{Role.ASSISTANT}: {each}" for each in texts])
        yield Item(Section.KNOWN, len(events) - 1, _ANSWERED, variants)


def telling(text: str) -> float:
    """Return how much a text tells that cannot be told again: identifiers, dates and numbers.

    >>> telling("Thanks, do it."), telling("It is ZFA04Y, on 2024-05-20.")
    (-10.0, 8.0)
    """
    kinds = [kind_of(term) for term in terms_of(text)]
    strong = sum(kind in STRONG for kind in kinds) * 2 + sum(kind is Kind.NUMBER for kind in kinds)
    return min(16.0, 4.0 + strong) if strong else -10.0 if len(text) < SHORT_ANSWER // 2 else 0.0


def said_variants(event: Event, *, is_finished: bool = False) -> tuple[str, ...]:
    """Return what somebody said from long to short, with the speaker first.

    Of a request that `is_finished`, what was pasted is counted, and there are only short variants.
    """
    speaker = " ".join(("user", *event.name.split())) if event.name else "user"
    text = _BLOCK.sub(_sized, event.text).strip()
    if is_finished and len(text) > SHORT_ANSWER:
        text = "\n\n".join(map(_own, text.split("\n\n")))
        texts = thinned(thin(text, FINISHED[0]), *FINISHED[1:])
    else:
        sizes = [int(len(text) * share) for share in _SHARES] if len(text) > LONG else []
        texts = thinned(text, *sizes)
    return ranged([f"{speaker}: {each}" for each in texts if _MARKS.sub("", each).strip()])


def _sized(block: re.Match[str]) -> str:
    lines = block[4].count("\n")
    return (
        left_out(lines, f"{block[3].strip() or 'text'} line") if lines > _LEAST_LINES else block[0]
    )


def _own(block: str) -> str:
    """Return a paragraph, or a mark that counts its lines if it is no prose."""
    lines = block.split("\n")
    is_own = is_prose(block) and not pasted(lines)
    return block if is_own else left_out(len(lines), "line")


def _asked(events: Sequence[Event], place: int) -> str:
    """Return the question that a short answer answers, or the points of a list that it names."""
    answer = events[place].text
    if len(answer) > NAMING or not place or events[place - 1].happening != Happening.SAY:
        return ""
    said = events[place - 1].text
    if named := _named_points(said, answer):
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
    wanted = {
        number
        for first, last in _RANGE.findall(answer)
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
