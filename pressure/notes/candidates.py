"""Candidates: the events of all turns read so far, from which each note is written anew."""

import json
from collections.abc import Iterable, Sequence

import orjson
from attrs import evolve, frozen

from polycontext.linearity import constraint_sentences
from polycontext.window import EstimatingCounter, Role, TokenCounter, Turn
from polycontext.window.filler import is_opening

from ..terms import is_prose, relevance
from .asks import without_code
from .call_items import call_line, is_report
from .events import Effect, Event, Happening
from .items import MARK, Item, Section
from .note import items_of, rule_items
from .output import telling_lines
from .pieces import MOST_DEMANDS, both_ends, one_line
from .reading import read_events
from .record_lines import record_text, worth_by_kind
from .records import parse_records, read_json
from .room import Room
from .thinning import Piece, printed, thin

SLACK = 1.5
"""How far candidates may exceed the limit before they are pruned, so that pruning is rare."""

MOST_OUTPUT, MOST_CODE, MOST_PROSE, MOST_LINES = 6_000, 1_000, 12_000, 300
"""The most characters of an output, of code that was read and of prose that are kept, and the most
lines of an output."""

MOST_RECORDS, MOST_ARGUMENT = 24_000, 400
"""The most characters of records that are kept as they came, and of each of many arguments."""

_ASKED, _MOST_ASKED = 117.0, 6
"""The score of the lines that a question is about, and how many they are at most."""
_CHARS_A_TOKEN = 4
_ESTIMATED = EstimatingCounter()


@frozen(eq=False)
class Candidates:
    """The events of the turns read so far (immutable), in order.

    The candidates of one summary are the basis of the next, so each turn is read once and no
    summary is made from a summary. `turns` is the number of turns that have been read. `standing`
    are the events that stay in the view behind them; `is_anchored` states that the first request
    stays before them. With `states_rules`, a note states standing instructions itself.
    """

    events: tuple[Event, ...] = ()
    turns: int = 0
    standing: tuple[Event, ...] = ()
    is_anchored: bool = False
    states_rules: bool = False
    asked: tuple[str, ...] = ()
    """The lines of results that a question is about."""

    @property
    def cost(self) -> int:
        """Return about how many tokens the events take."""
        return sum(map(_size, self.events)) // _CHARS_A_TOKEN

    def items(self, query: str | None = None, room: int | None = None) -> list[Item]:
        """Return the items of a note about the events, which may take about `room` tokens."""
        items = items_of(
            self.events,
            self.standing,
            is_anchored=self.is_anchored,
            query=query or "",
            room=room,
        )
        last = len(self.events) - 1
        items += (Item(Section.KNOWN, last, _ASKED, (text,)) for text in self.asked)
        return [*rule_items(self.events), *items] if self.states_rules else items

    def reading(self, turns: Sequence[Turn]) -> "Candidates":
        """Return the candidates with the events of `turns` behind them."""
        told = [turn for turn in turns if not is_opening(turn)]
        # The results of the last message may come only now.
        last = next(
            (each for each in range(len(self.events)) if self.events[each].turn == self.turns - 1),
            len(self.events),
        )
        read = read_events(told, self.turns, before=self.events[last:])
        events = (*self.events[:last], *map(_shortened, read))
        return evolve(self, events=events, turns=self.turns + len(turns))

    def asking(self, turns: Sequence[Turn], query: str) -> "Candidates":
        """Return the candidates with the lines of long results in `turns` that `query` is about.

        What is kept of a long result does not depend on a question, so they are looked up.
        """
        calls = {call.id: call for turn in turns for call in turn.tool_calls}
        told = list[str]()
        for turn in turns if self.events else ():
            if turn.role is Role.TOOL and (lines := _asked_lines(turn.text, query)):
                call = calls.get(turn.tool_call_id or "")
                name, given = (call.name, call.arguments) if call else (turn.name or "", "{}")
                made = Event(Happening.CALL, 0, "", name=name, arguments=given)
                told.append(f"{call_line(made)} ->\n{lines}")
        return evolve(self, asked=tuple(told))

    def within(self, tokens: int) -> "Candidates":
        """Return the candidates with the best events, of about `tokens` in all.

        These are the events whose items fit, the best first, and then the newest edits: the state
        of a file depends on all of them.
        """
        items = self.items(room=tokens)
        chosen = sorted(
            Room(items, _ESTIMATED.count, tokens).fill(), key=lambda index: -items[index].score
        )
        edits = (
            place
            for place in reversed(range(len(self.events)))
            if self.events[place].happening == Happening.EDIT
        )
        # The output of the last message's command may come in the next one.
        open_ = (place for place, each in enumerate(self.events) if each.turn == self.turns - 1)
        kept, left = set[int](), _CHARS_A_TOKEN * tokens
        for place in dict.fromkeys((*open_, *(items[index].event for index in chosen), *edits)):
            if _size(self.events[place]) <= left:
                kept.add(place)
                left -= _size(self.events[place])
        return evolve(self, events=tuple(self.events[place] for place in sorted(kept)))

    def beside(self, standing: Sequence[tuple[Turn, int]], counter: TokenCounter) -> "Candidates":
        """Return the candidates of a note beside the `standing` turns, which say the latest.

        Each of these turns stays, and is paired with the number of read turns after it.
        """
        del counter
        last = [(turn, self.turns - after) for turn, after in standing if after < self.turns]
        first = [turn for turn, after in standing if after >= self.turns and not is_opening(turn)]
        return evolve(
            self,
            standing=tuple(
                event._replace(turn=last[event.turn][1])
                for event in read_events([turn for turn, _ in last], 0)
            ),
            is_anchored=any(event.happening == Happening.ASK for event in read_events(first, 0)),
        )

    def without(self, rules: Iterable[str]) -> "Candidates":
        """Return the candidates without what states one of `rules`, which a gist states itself."""
        texts = [*map(one_line, rules)]
        if not texts:
            return self
        left = (
            event._replace(text=_without(event.text, texts))
            if event.happening in (Happening.ASK, Happening.LINE)
            else event
            for event in self.events
        )
        return evolve(
            self,
            events=tuple(
                event
                for event in left
                if event.text or event.happening not in (Happening.ASK, Happening.LINE)
            ),
        )

    def behind(self, kept: str) -> "Candidates":
        """Return the candidates behind the last event of which a variant is in `kept`."""
        told = {
            item.event
            for item in self.items()
            if any(variant.replace("\n", "\n ") in kept for variant in item.variants)
        }
        return evolve(self, events=self.events[max(told, default=-1) + 1 :])

    def to_json(self) -> bytes:
        """Return the candidates as JSON text."""
        return orjson.dumps([[*map(tuple, self.events)], self.turns])

    @classmethod
    def from_json(cls, text: bytes) -> "Candidates":
        """Return the candidates that `to_json` wrote.

        Law: they give the same summaries as the original, also after further reading.

        Raises:
            ValueError, TypeError: the text is not valid.
        """
        events, turns = orjson.loads(text)
        return cls(tuple(Event(*event) for event in events), turns)


def _size(event: Event) -> int:
    return len(event.text) + len(event.before) + len(event.arguments) + len(event.command)


def _asked_lines(text: str, query: str) -> str:
    """Return the few lines of a long text that `query` is about, with marks for the others."""
    lines = text.splitlines() if len(text) > MOST_OUTPUT else []
    scores = relevance(lines, query)
    least = max(scores, default=0.0) / 2
    found = [place for place, score in enumerate(scores) if score > least]
    few = 0 < len(found) <= _MOST_ASKED
    return printed([Piece(*each) for each in enumerate(lines)], found) if few else ""


def _shortened(event: Event) -> Event:
    """Return an event with long texts reduced to what can be told of them."""
    if event.happening in (Happening.ASK, Happening.SAY, Happening.LINE):
        return event._replace(text=_thinned_prose(event.text))
    event = event._replace(
        before=_thinned(event.before, MOST_OUTPUT),
        command=_thinned(event.command, MOST_OUTPUT),
        arguments=_short_arguments(event.arguments),
    )
    if event.happening == Happening.EDIT or len(event.text) <= MOST_OUTPUT:
        return event._replace(text=_thinned(event.text, MOST_OUTPUT))
    _, value = parse_records(event.text)
    if value is None and (event.effect == Effect.READ or is_report(event)):
        # Equal lines of a file are not one line that was printed again.
        is_code = event.path and event.effect != Effect.RUN and not is_prose(event.text)
        text = without_code(event.text) if event.effect == Effect.RUN else event.text
        return event._replace(text=_thinned(text, MOST_CODE if is_code else MOST_OUTPUT))
    if value is None:
        lines = telling_lines(event.text)[:MOST_LINES]
        return event._replace(text=thin("\n".join(lines), MOST_OUTPUT))
    if len(event.text) <= MOST_RECORDS:
        return event
    told = record_text(value, worth_by_kind, lambda text: len(text) <= MOST_OUTPUT)
    return event._replace(text=told)


def _thinned_prose(text: str) -> str:
    """Return prose thinned, with the sentences that state constraints behind it."""
    if len(text) <= MOST_PROSE:
        return text
    thinned = _thinned(text, MOST_PROSE)
    demands = (each for each in constraint_sentences(text)[:MOST_DEMANDS] if each not in thinned)
    return "\n".join((thinned, *demands))


def _thinned(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    lines = (
        line if len(line) <= most else both_ends(line, most // 2 - len(MARK))
        for line in text.splitlines()
    )
    return thin("\n".join(lines), most)


def _short_arguments(arguments: str) -> str:
    """Return the JSON text of arguments with long texts in them thinned."""
    if len(arguments) <= MOST_OUTPUT:
        return arguments
    value = read_json(arguments)
    if not isinstance(value, dict):
        return arguments[:MOST_OUTPUT]
    return json.dumps(
        {
            key: _thinned(told, MOST_ARGUMENT)
            if isinstance(told, str)
            else told
            if len(str(told)) <= MOST_ARGUMENT
            else MARK
            for key, told in value.items()
        },
        ensure_ascii=False,
    )


def _without(text: str, rules: Sequence[str]) -> str:
    """Return `text` with a mark in place of each of `rules`; "" if nothing else is in it."""
    if not any(rule in one_line(text) for rule in rules):
        return text
    lines = [one_line(line) for line in text.splitlines()]
    for rule in rules:
        lines = [line.replace(rule, MARK) for line in lines]
    left = "\n".join(line for line in lines if line.strip())
    return left if left.replace(MARK, "").strip() else ""
