"""Talk: a conversation without work in it, told as one stream in whole sentences.

Those sentences stay that add most to the others: rare words, figures and names that stand in none
of them. List items and lines are never joined, and the words are those of the speakers.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import dropwhile, groupby, pairwise
from math import inf, log2
from typing import NamedTuple

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classification import sentence_ends
from polycontext.window import Role

from ..terms import Kind, is_strong, kind_of, relevance, terms_of, weights_of
from .events import Event, Happening
from .items import MARK, Item, Section, left_out
from .lines import SPOKEN_LINE
from .pieces import letters_of, one_line
from .prose import is_item, lines_of, sentences_of
from .room import DOUBLE, FIRST, SHORT
from .thinning import thin, thinned

LEVELS, FINE = (1.2, 1.8, 3.0), (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.8, 3.0)
"""The shares of the room that the sentences of an item's variants fill, over all items; the longest
variant has all of them. Where no assistant speaks, they are finer, so that the best sentences of
all messages go before others of one."""
_ROOM = 0.2
"""The share of the text that the room is unless it is stated."""

_SPOKEN = (Happening.ASK, Happening.SAY)
_ROLES = (Role.ASSISTANT, Role.USER)
_ACTS = (Happening.CALL, Happening.EDIT, Happening.OUTPUT)
_FEW_ACTS = 0.15
_LONG_ANSWER, _LEAST_LINES, _THINNED = 600, 6, (2_400, 1_200, 600)
_SHORT_ANSWER, _WHOLE, _SHOWN_CODE, _LONGEST_HEAD = 60, 240, 3, 120
_LEAST_TERMS, _SENTENCE_COST = 3, 16
"""The terms of a sentence without figures, and its cost in characters beside its own."""

_ASKS, _VAGUE, _ASSISTANT, _DEMANDS = 0.7, 0.4, 0.35, 2.0
_LONG_TALK, _ONCE, _WORDS = 40, 0.4, (Kind.WORD, Kind.NAME)
"""In a talk of so many messages, a word that stands in one of them is rarely what it is about."""
_TOLD = {Kind.NUMBER: 3.5, Kind.NAME: 2.0}
_WANTED = 2.0
"""By how much questions, an assistant's words and a user's demands weigh."""

_LEAST, _MOST, _REST, _LAST, _ANSWERED = 30.0, 90.0, 0.0, 97.0, 50.0
"""The scores of the last and first sentences in the room, of those beyond it, of the last answer,
and of a short reply."""

_STAMP = re.compile(r"\s*(?:\([^()\n]{4,60}\)|\[(?!…)[^\]\n]{4,60}\])\s*(?=\S)")
_DIGIT = re.compile(r"\d")
_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’-]{0,30}(?: [^\W\d_a-z][\w.'’-]{0,30}){0,2}):\s+(?=\S)")
_HEADING = re.compile(r"#{1,6} |[^\n]{1,200}[:：][*_]*$")
_QUESTION = re.compile(r"[?？]\W*$")
_CORRECTS = re.compile(
    r"\s{0,9}(?:(?:uh|um|er|oh|well|ähm?|euh)[\s,.]{1,9}){0,4}"
    r"(?:no[\s,]+(?!one\b|need\b|longer\b|more\b)|non\s*,"
    r"|(?:sorry|i mean|or rather|correction|scratch that|nein|vielmehr|pardon|perdón)\b)",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"\W{0,3}(?:and|but|so|because|also|otherwise|instead|well|anyway|plus|however|oh|yes|yeah|no|okay"
    r"|of course|or|either|still|then|though)\b"
    r"|(?:[\w'’]{1,20},? ){0,4}(?:it|they|that|this|these|those|he|she|him|her|them|their|its|his"
    r"|both|neither|such)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that refers to the one before it: a connective, or soon a pronoun."""
_PASSAGE, _TAIL = 400, 8
_SOUND, _MANY_SOUNDS = re.compile(r"\{[a-z]{3,20}\}"), 5
"""A mark of a transcript, and in how many messages it stands."""


class _Message(NamedTuple):
    """What one speaker says in a turn, with the index of its first event."""

    event: int
    turn: int
    speaker: str
    stamp: str
    text: str
    is_user: bool


class _Sentence(NamedTuple):
    """A sentence or list item of a message; an item has its list's introduction and length.

    `number` counts the sentences of its message; `at` is the room in which it is one of the best.
    """

    message: int
    text: str
    line: int
    terms: tuple[str, ...]
    factor: float
    head: str = ""
    listed: int = 0
    number: int = 0
    at: float = inf


def is_talk(events: Sequence[Event]) -> bool:
    """Return whether a conversation is mostly talk: no edits, and few calls beside its turns."""
    acts = [event for event in events if event.happening in _ACTS]
    turns = len({event.turn for event in events})
    is_edited = any(event.happening == Happening.EDIT for event in acts)
    return not is_edited and len(acts) < max(2, _FEW_ACTS * turns)


def talk_items(
    events: Sequence[Event], total: int, room: int | None = None, asked: str = ""
) -> list[Item]:
    r"""Return an item for each message that tells something, in the order of the conversation.

    `total` is the number of turns that were read. `room` is about how many characters the items
    may have in all; without it, a fifth of the text. What `asked` is about goes first. The first
    line of a variant names the speaker,
    and before it a date or time if it changed. A short reply takes the question along.

    >>> from .events import Event, Happening
    >>> said = [
    ...     Event(Happening.SAY, 0, "a", "Welcome back! Which seat would you like?"),
    ...     Event(Happening.ASK, 1, "b", "14C, please."),
    ... ]
    >>> answer = talk_items(said, 2)[-1]
    >>> answer.before, answer.variants[-1]
    ('assistant: Which seat would you like?', 'user: 14C, please.')
    """
    messages = _messages(events)
    is_assisted, are_users = _is_assisted(messages), all(each.is_user for each in messages)
    questions = [_question_before(messages, place) for place in range(len(messages))]
    sentences = [
        each
        for place, message in enumerate(messages)
        for each in _sentences(place, message, is_assisted=is_assisted)
        if each.text != "".join(questions[place + 1 : place + 2])
    ]
    size = sum(len(each.text) for each in sentences)
    room = max(1, int(_ROOM * size) if room is None else room)
    told = dict[int, list[_Sentence]]()
    for each in _ranked(_wanted(sentences, asked), messages, total):
        told.setdefault(each.message, []).append(each)
    last = _last_long_answer(messages) if is_assisted else -1
    items = list[Item]()
    for place, message in enumerate(messages):
        question = f"{messages[place - 1].speaker}: {questions[place]}" if questions[place] else ""
        if place == last:
            texts = thinned(thin(message.text, _THINNED[0]), *_THINNED[1:])
            variants = tuple(f"{message.speaker}: {text}" for text in texts)
            items.append(Item(Section.TALK, message.event, _LAST, variants, question))
        elif chosen := told.get(place):
            items.append(_told(message, chosen, room, question, is_fine=are_users))
        elif question and is_assisted and message.is_user:
            variants = (f"{message.speaker}: {one_line(message.text)}",)
            items.append(Item(Section.TALK, message.event, _ANSWERED, variants, question))
    return [*_dated(items, messages)]


def _told(
    message: _Message, chosen: Sequence[_Sentence], room: int, question: str, *, is_fine: bool
) -> Item:
    """Return the item of a message, whose variants have its sentences up to shares of the room."""
    best = min(each.at for each in chosen) / room
    texts = dict[str, float]()
    for level in (*(FINE if is_fine else LEVELS), inf):
        if kept := [each for each in chosen if each.at <= level * room]:
            texts.setdefault(_written(message, kept), min(level, LEVELS[-1]) - best)
    if len(message.text) <= _WHOLE and "\n" not in message.text:
        texts.setdefault(f"{message.speaker}: {message.text}", LEVELS[-1])
    variants, slope = tuple(reversed(texts)), (_MOST - _LEAST) / LEVELS[-1]
    score = _MOST - slope * best if best < LEVELS[-1] else _REST
    if not is_fine:
        return Item(Section.TALK, message.event, score, variants, question)
    steps = tuple(slope * max(0.0, level) for level in reversed(texts.values()))
    score += DOUBLE * log2(max(SHORT, len(variants[-1]) + len(question)) / SHORT)
    return Item(Section.TALK, message.event, min(FIRST, score), variants, question, steps=steps)


def _messages(events: Sequence[Event]) -> list[_Message]:
    """Return the messages, without the names and dates that they begin with.

    A name counts if it is the event's, or if most messages begin with one of a few names.
    """
    texts = _without_sounds([*_texts(events)])
    dates = [_STAMP.match(text) for _, text in texts]
    stamps = [date[0] if date and _DIGIT.search(date[0]) else "" for date in dates]
    names = [_SPEAKER.match(text, len(at)) for (_, text), at in zip(texts, stamps, strict=True)]
    prefixes = [named[1] for named in names if named]
    are_named = 2 * len(prefixes) > len(names) and len(prefixes) >= 2 * len({*prefixes})
    found = list[_Message]()
    for (place, text), stamp, named in zip(texts, stamps, names, strict=True):
        event = events[place]
        is_user, start, name = event.happening == Happening.ASK, len(stamp), event.name
        is_own = named and letters_of(named[1]) == letters_of(name)
        role = str(_ROLES[is_user])
        if named and _is_name(named[1]) and (is_own or (are_named and not name)):
            speaker, start = named[1], named.end()
        elif _is_name(name):
            speaker = name
        elif is_user and name[:1].isupper() and " " in name:
            # A title such as "User Interface" stands behind the role for which it could be taken.
            speaker, start = f"{role} {name}", named.end() if named and is_own else start
        else:
            speaker = role
        found.append(
            _Message(place, event.turn, speaker, stamp.strip(), text[start:].strip(), is_user)
        )
    return found


def _without_sounds(texts: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return texts without the marks of a transcript for laughs and breaks, which are in many."""
    times = Counter(mark for _, text in texts for mark in {*_SOUND.findall(text)})
    sounds = {mark for mark, number in times.items() if number >= _MANY_SOUNDS}
    if not sounds:
        return [*texts]
    spoken = re.compile(
        rf"[ \t]*(?:{'|'.join(map(re.escape, sorted(sounds)))})(?=[ \t]|$)", re.MULTILINE
    )
    return [(place, spoken.sub("", text)) for place, text in texts]


def _is_name(name: str) -> bool:
    """Return whether a speaker may be called by `name`, which must not look like another's role."""
    return bool(name) and not SPOKEN_LINE.match(f"{name.lower()}: ")


def _texts(events: Sequence[Event]) -> Iterator[tuple[int, str]]:
    """Yield what is said in a turn, with the index of its first event; longer code is counted."""
    for _, group in groupby(enumerate(events), key=lambda pair: pair[1].turn):
        told = [*dropwhile(lambda pair: pair[1].happening not in _SPOKEN, group)]
        parts = [
            left_out(event.text.count("\n") + 1, "line")
            if event.happening == Happening.CODE and event.text.count("\n") >= _SHOWN_CODE
            else event.text
            for _, event in told
            if event.happening in (*_SPOKEN, Happening.CODE)
        ]
        if parts:
            yield told[0][0], "\n".join(parts)


def _is_assisted(messages: Sequence[_Message]) -> bool:
    """Return whether an assistant writes most of the text."""
    by_user = sum(len(message.text) for message in messages if message.is_user)
    return sum(len(message.text) for message in messages) > 3 * by_user


def _last_long_answer(messages: Sequence[_Message]) -> int:
    """Return the place of the last answer if that is long and has many lines, or -1."""
    last = max((n for n, message in enumerate(messages) if not message.is_user), default=-1)
    text = messages[last].text if last >= 0 else ""
    return last if len(text) > _LONG_ANSWER and text.count("\n") >= _LEAST_LINES else -1


def _sentences(place: int, message: _Message, *, is_assisted: bool) -> list[_Sentence]:
    """Return the sentences and list items of a message, without headings.

    None spans two lines, unless the sentence is wrapped.
    """
    demands = (
        {*map(one_line, constraint_sentences(message.text))}
        if is_assisted and message.is_user
        else set[str]()
    )
    head, count, sizes = "", 0, Counter[str]()
    found = list[_Sentence]()
    for number, line in enumerate(lines_of(message.text)):
        is_listed = is_item(line) or line.lstrip().startswith("[… ")
        if not is_listed or _HEADING.match(line):
            head = line if _HEADING.match(line) and len(line) <= _LONGEST_HEAD else ""
        elif head:
            sizes[head] += 1
        ends = [] if is_listed else _uncorrected_ends(line)
        for start, end in pairwise((0, *ends, len(line))):
            count += 1
            text = line[start:end].strip()
            terms = terms_of(text)
            is_demand = one_line(text) in demands
            if not is_demand and (_HEADING.match(text) or _is_filler(terms)):
                continue
            factor = _DEMANDS if is_demand else 1 if message.is_user else _ASSISTANT
            under = head if is_listed else ""
            factor *= _ASKS if _asks(text) else 1
            factor *= 1 if is_assisted or _is_concrete(terms) else _VAGUE
            found.append(_Sentence(place, text, number, terms, factor, under, number=count))
    return [each._replace(listed=sizes[each.head]) for each in found]


def _is_concrete(terms: Sequence[str]) -> bool:
    return any(_DIGIT.search(term) or kind_of(term) is not Kind.WORD for term in terms)


def _uncorrected_ends(line: str) -> list[int]:
    """Return where sentences end that the next one does not take back: both are told or none."""
    return [end for end in sentence_ends(line) if not _CORRECTS.match(line, end)]


def _wanted(sentences: Sequence[_Sentence], asked: str) -> Sequence[_Sentence]:
    """Return the sentences with a higher worth of those that share words with what is asked."""
    scores = relevance([each.text for each in sentences], asked) if asked else []
    if not any(scores):
        return sentences
    most = max(scores)
    return [
        each._replace(factor=each.factor * (1 + _WANTED * score / most))
        for each, score in zip(sentences, scores, strict=True)
    ]


def _is_filler(terms: Sequence[str]) -> bool:
    """Return whether a text has few words that tell something, and no figure or identifier."""
    return len(terms) < _LEAST_TERMS and not any(
        _DIGIT.search(term) or is_strong(term) for term in terms
    )


def _ranked(
    sentences: Sequence[_Sentence], messages: Sequence[_Message], total: int
) -> list[_Sentence]:
    """Return the sentences that add something, in order, each with the room that it needs.

    The next best is always the one whose new terms are worth most for its length. In a long talk
    among users these are passages, since single sentences of it are not understood.
    """
    are_users = all(message.is_user for message in messages)
    weights = _weights(sentences, messages, total)
    held, size, places = set[str](), 0.0, dict[int, float]()
    costs = [
        len(each.text) + _SENTENCE_COST + len(messages[each.message].speaker) for each in sentences
    ]

    length = _PASSAGE if len(messages) >= _LONG_TALK else 0
    single = [[place] for place in range(len(sentences))]
    passages = _passages(sentences, length) if are_users else single

    def worth(passage: int) -> float:
        gain = sum(
            weights[term] * sentences[each].factor
            for each in passages[passage]
            for term in sentences[each].terms
            if term not in held
        )
        return -gain / sum(costs[each] for each in passages[passage])

    queue = [(worth(passage), passage) for passage in range(len(passages))]
    heapify(queue)
    while queue:
        _, passage = heappop(queue)
        now = worth(passage)
        if queue and now > queue[0][0]:
            heappush(queue, (now, passage))
        elif now:
            size += sum(costs[each] for each in passages[passage])
            places |= dict.fromkeys(passages[passage], size)
            held.update(*(sentences[each].terms for each in passages[passage]))
    return [sentences[place]._replace(at=places[place]) for place in sorted(places)]


def _passages(sentences: Sequence[_Sentence], length: int) -> list[list[int]]:
    """Return the places of the sentences of passages of about `length` characters.

    None begins with a sentence that refers to the one before it, unless that gets long.
    """
    passages, size = list[list[int]](), 0
    for place, each in enumerate(sentences):
        is_next = length > 0 or each.message == sentences[place - 1].message
        refers = is_next and size <= 2 * _PASSAGE and _REFERS.match(each.text)
        if place == 0 or (size > length and not refers):
            passages.append([])
            size = 0
        passages[-1].append(place)
        size += len(each.text)
    return passages


def _weights(
    sentences: Sequence[_Sentence], messages: Sequence[_Message], total: int
) -> Mapping[str, float]:
    """Return the worth of each term; where no assistant speaks, figures and names have more."""
    weights = weights_of(((messages[each.message].turn, each.terms) for each in sentences), total)
    heard = Counter((each.message, term) for each in sentences for term in {*each.terms})
    times = Counter(term for _, term in heard)
    is_long = len(messages) >= _LONG_TALK
    factors = _TOLD if all(message.is_user for message in messages) else {}

    def factor(term: str) -> float:
        kind = kind_of(term)
        return _ONCE if is_long and times[term] == 1 and kind in _WORDS else factors.get(kind, 1.0)

    return {term: weight * factor(term) for term, weight in weights.items()}


def _question_before(messages: Sequence[_Message], place: int) -> str:
    """Return the question that a short message answers, or an empty text."""
    before, message = messages[max(0, place - 1)], messages[place]
    is_short = len(message.text) <= _SHORT_ANSWER and not _asks(message.text)
    if not is_short or before.speaker == message.speaker:
        return ""
    told = sentences_of(before.text)[-1:]
    return told[0] if told and _asks(told[0]) else ""


def _asks(text: str) -> bool:
    return _QUESTION.search(text[-_TAIL:]) is not None


def _written(message: _Message, sentences: Sequence[_Sentence]) -> str:
    """Write sentences, with a mark where one of the same line is left out; lines stay lines.

    A list has the line that introduces it, and a mark that counts its items that are left out.
    """
    lines = list[str]()
    for head, group in groupby(sentences, key=lambda each: each.head):
        chosen = [*group]
        lines += [head] if head else []
        for before, each in zip((None, *chosen), chosen, strict=False):
            if before is None or each.line != before.line:
                lines.append(each.text)
            else:
                is_next = each.number == before.number + 1
                lines[-1] += f" {'' if is_next else f'{MARK} '}{each.text}"
        if head and len(chosen) < chosen[0].listed:
            lines.append(left_out(chosen[0].listed - len(chosen), "item"))
    told = "\n".join(lines)
    return f"{message.speaker}: {told}"


def _dated(items: Sequence[Item], messages: Sequence[_Message]) -> Iterator[Item]:
    """Yield the items with dates and times before those at which they change."""
    stamps: Mapping[int, str] = {message.event: message.stamp for message in messages}
    last = ""
    for item in items:
        stamp = stamps[item.event]
        opening = f"{stamp} " if stamp not in ("", last) else ""
        last = stamp or last
        if item.before:
            yield item._replace(before=f"{opening}{item.before}")
        else:
            yield item._replace(variants=tuple(f"{opening}{each}" for each in item.variants))
