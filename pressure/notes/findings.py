"""What the assistant said while it worked: its closing reports, findings and what is open."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..terms import is_strong, strong_terms, terms_of
from .asks import finished_before, telling
from .cues import MOST_STEPS, is_done, is_open, is_remark
from .events import Event, Happening
from .items import MARK, Item, Section, ranged
from .pieces import one_line
from .prose import is_closer, is_guess, is_intention, is_question, sentences_of
from .records import inline, read_json
from .thinning import thinned

_LEAST_WORDS, _BRIEF, _TELLING, _WEIGHED, _FINISHED = 6, 60, 160, 3, 20
_ACTS = frozenset({Happening.CALL, Happening.EDIT, Happening.OUTPUT, Happening.CODE})
_LABEL = re.compile(r"\A(?:THOUGHT|DISCUSSION|Thought|Reasoning)[:\s]+")
_OPEN = 119.0
_CLOSING, _CLOSED, _FOUND, _VAGUE, _GUESSED, _RECENT = 84.0, 48.0, 42.0, 24.0, 0.0, 30.0


def finding_items(events: Sequence[Event], standing: Sequence[Event], total: int) -> Iterator[Item]:
    """Yield what the assistant reported at the end of its work, and what it found on the way.

    What was only weighed long ago is not told; it is decided since.
    """
    is_answered = any(each.happening == Happening.SAY for each in standing)
    closers, finished = [*_closing(events)], finished_before(events, standing)
    closed = set(closers)
    last = [place for place, each in enumerate(events) if each.happening == Happening.SAY][
        -_WEIGHED:
    ]
    for place, event in enumerate(events):
        if event.happening != Happening.SAY:
            continue
        recency = _RECENT * event.turn / max(1, total)
        if place in closed:
            text = _reported(event.text)
            if not text:
                continue
            newest = place == closers[-1] and not is_answered
            yield Item(
                Section.KNOWN,
                place,
                _CLOSING
                if newest
                else _CLOSED + recency + telling(text) - _FINISHED * (place < finished),
                tuple(f"assistant: {each}" for each in thinned(text, 1200, 600, 300)),
            )
        elif told := [*_telling(events, place)]:
            found = [index for index, (_, each) in enumerate(told) if not is_guess(each)]
            if not found and place not in last:
                continue
            ranked = sorted(found or range(len(told)), key=lambda index: -_worth(told, index))
            shown = ([told[index] for index in sorted(ranked[:most])] for most in (5, 2, 1))
            strong = any(strong_terms(told[index][1]) for index in found)
            score = (_FOUND if strong else _VAGUE) + recency if found else _GUESSED + recency
            variants = dict.fromkeys(f"assistant: {_joined(each)}" for each in shown)
            yield Item(Section.KNOWN, place, score, tuple(variants))


def _reported(text: str) -> str:
    """Return a closing message in whole lines, "" if it only asks, thanks or offers help."""
    lines = [line for line in text.splitlines() if line.strip()]
    told = [each for each in sentences_of(text) if not (is_question(each) or is_closer(each))]
    brief = len(told) <= 1 and len("".join(told)) < _BRIEF
    return "" if brief else "\n".join(lines)


def _closing(events: Sequence[Event]) -> Iterator[int]:
    """Yield the places of what the assistant said last before the user spoke, or at the end."""
    for place, event in enumerate(events):
        after = events[place + 1] if place + 1 < len(events) else None
        if event.happening == Happening.SAY and (after is None or after.happening == Happening.ASK):
            yield place


def _telling(events: Sequence[Event], place: int) -> Iterator[tuple[int, str]]:
    """Yield the sentences that tell something, not those that announce the next act."""
    told = [_LABEL.sub("", each) for each in sentences_of(events[place].text)]
    after = events[place + 1] if place + 1 < len(events) else None
    if after is not None and after.happening in _ACTS and len(told) > 1:
        told.pop()
    for number, each in enumerate(told):
        if (
            not is_intention(each)
            and not is_question(each)
            and not is_closer(each)
            and (not is_remark(each) or any(map(is_strong, terms_of(each))))
            and not each.endswith((":", "："))
            and len(terms_of(each)) >= _LEAST_WORDS // 2
            and len(each.split()) >= (_LEAST_WORDS if each.isascii() else 1)
        ):
            yield number, each


def _worth(told: Sequence[tuple[int, str]], place: int) -> float:
    text = told[place][1]
    strong = sum(map(is_strong, terms_of(text)))
    return (
        strong
        + text.count("`") / 2
        + min(len(text), _TELLING) / 80
        + 3 * place / len(told)
        - (len(text) > 2 * _TELLING)
    )


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


def plan_items(events: Sequence[Event]) -> Iterator[Item]:
    """Yield the first open points of the last plan that somebody wrote, in prose or as a call."""
    for place in reversed(range(len(events))):
        event = events[place]
        if event.happening == Happening.SAY:
            lines = [[each] for each in sentences_of(event.text)]
        elif event.happening == Happening.CALL and event.arguments:
            lines = [[each] for each in _points(read_json(event.arguments))]
        else:
            continue
        states = [is_open(each) or is_done(each) for (each,) in lines]
        if not any(states):
            continue
        coming = [each for (each,) in lines if is_open(each)][:MOST_STEPS]
        if coming:
            yield Item(Section.OPEN, place, _OPEN - 1, ranged(["\n".join(coming), coming[0]]))
        return


def _points(value: Any) -> Iterator[str]:
    """Yield the points of a list of tasks among the arguments of a call, a line each."""
    for told in value.values() if isinstance(value, dict) else ():
        if isinstance(told, list):
            yield from (inline(each) for each in told if isinstance(each, dict))
        elif isinstance(told, str):
            yield from told.splitlines()
