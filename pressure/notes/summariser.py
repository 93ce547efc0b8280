"""The extractive summariser, which selects whole units of the turns and prints them as notes.

It needs no model and no network, and invents nothing: all text is from the turns. It is
deterministic, so that replaying a journal gives the same bytes, and its summaries always fit. It is
the default, and the fallback for a rejected summary of a model.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import Any

import orjson
from attrs import evolve, field, frozen, validators

from polycontext.window import EstimatingCounter, Role, TokenCounter, Turn

from ..gist import unframed
from ..injections import ASKS_OF_INSTRUCTIONS
from ..terms import STRONG, kind_of, relevance, weights_of
from .choice import Bundle, Chooser, Fitter
from .cues import is_closer, is_question, refuses
from .lines import HEADED_FROM, NEW_LINE, SIZE, Entry, Unit, render_notes
from .pieces import GAP, one_line
from .units import parse_turns
from .updates import drop_outdated, mark_outcomes

SLACK = 1.5
"""How far candidates may exceed the limit before they are pruned, so that pruning is rare."""

USED = 5.0
"""How much more a line of a text is worth that a later turn names."""

_LEAST_ROOM = 0.3
"""The share of the room that must be left beside the frozen part."""

_MORE, _MORE_TOKENS = 1.4, 64


@frozen(eq=False)
class Candidates:
    """The candidates from the turns read so far (immutable): entries by number, and units in order.

    The candidates of one summary are the basis of the next, so each turn is read and counted once
    and no summary is made from a summary. `turns` and `read` are the numbers of turns and entries
    that have been read. `answered` states that somebody speaks after all of them.
    """

    entries: Mapping[int, Entry] = {}
    units: tuple[Unit, ...] = ()
    turns: int = 0
    read: int = 0
    answered: bool = False

    @property
    def cost(self) -> int:
        """Return the tokens of all units."""
        return sum(unit.cost for unit in self.units)

    def weights(self) -> dict[str, float]:
        """Return the current weight of each term."""
        uses: list[Unit | Entry] = [*self.units, *self.entries.values()]
        uses.sort(key=attrgetter("turn"))
        return weights_of(
            ((use.turn, getattr(use, "said", True), use.terms) for use in uses), self.turns
        )

    def ranked(self, tokens: float, query: str | None = None, bonus: float = 0.0) -> list[Bundle]:
        """Return the most important units, of about `tokens` in all."""
        scores = self.score(query) if query and bonus else [0.0] * len(self.units)
        return Chooser(self.entries, self._used(), self.weights(), scores).choose(tokens)

    def _used(self) -> Sequence[Unit]:
        """Return the units with a higher worth of what was read and used later."""
        if not any(unit.read for unit in self.units):
            return self.units
        last = {term: unit.turn for unit in self.units if unit.said for term in unit.terms}
        return [
            unit._replace(boost=unit.boost * USED)
            if unit.read
            and any(
                last.get(term, 0) > unit.turn and kind_of(term) in STRONG for term in unit.terms
            )
            else unit
            for unit in self.units
        ]

    def score(self, query: str) -> list[float]:
        """Return the relevance of each unit to `query`: 0 below half of the highest."""
        told = (f"{unit.parent}{unit.header}{unit.label}{unit.text}" for unit in self.units)
        opened = {
            number: entry.opening + " ".join(entry.arguments or ())
            for number, entry in self.entries.items()
        }
        scores = relevance(
            [f"{text} {opened[unit.entry]}" for text, unit in zip(told, self.units, strict=True)],
            query,
        )
        least = max(scores, default=0.0) / 2
        return [score if score > least else 0.0 for score in scores]

    @property
    def current(self) -> "Candidates":
        """Return the candidates with only those steps that are still to come.

        These are the steps of the last plan, what the assistant said last that it will do, and a
        question that nobody answered.
        """
        plans = [unit.entry for unit in self.units if unit.step and not unit.intended]
        living, asked = {*plans[-1:], *self._intending()}, self._open_question()
        return evolve(
            self,
            units=tuple(
                unit._replace(step=unit is asked or unit.entry in living)
                if unit.step or unit is asked
                else unit
                for unit in self.units
            ),
        )

    def _intending(self) -> Iterator[int]:
        """Yield the last message of the assistant, unless it went on or the user refused."""
        for number in reversed(range(self.read)):
            entry = self.entries.get(number)
            if entry is not None and entry.role == Role.ASSISTANT and entry.arguments is None:
                yield number
            said = (unit.text for unit in self.units if unit.entry == number and unit.said)
            if entry is None or entry.role != Role.USER or any(map(refuses, said)):
                return

    def _open_question(self) -> Unit | None:
        """Return the last question of the last message, if nobody answers it.

        An assistant that goes on answers its question itself.
        """
        spoken = (
            unit
            for unit in reversed(self.units)
            if unit.said and self.entries[unit.entry].arguments is None and not is_closer(unit.text)
        )
        ending = [*islice(spoken, 0 if self.answered else 2)]  # who says more behind it goes on
        asked = (
            unit
            for unit in ending
            if is_question(unit.text)
            and unit.entry == ending[0].entry
            and (self.entries[unit.entry].role != Role.ASSISTANT or unit.entry == max(self.entries))
        )
        return next(asked, None)

    def within(self, tokens: int) -> "Candidates":
        """Return the most important candidates, up to about `tokens`."""
        return self.of(
            self.units[index] for index in sorted({*chain.from_iterable(self.ranked(tokens))})
        )

    def beside(self, standing: Sequence[tuple[Turn, int]], counter: TokenCounter) -> "Candidates":
        """Return the candidates that no `standing` turn makes out of date.

        Each of these turns stays, and is paired with the number of read turns after it.
        """
        entries, units = parse_turns(
            [turn for turn, _ in standing], self.read, 0, EstimatingCounter()
        )
        # A standing turn comes before the first of the turns read after it.
        placed = [(self.turns - standing[unit.turn][1], unit) for unit in units]
        together = sorted(
            [*placed, *((unit.turn + 0.5, unit) for unit in self.units)], key=lambda each: each[0]
        )
        kept = drop_outdated({**self.entries, **entries}, [unit for _, unit in together], entries)
        answered = any(not after and turn.role is not Role.TOOL for turn, after in standing)
        return evolve(self, answered=answered).of(unit for unit in kept if unit.entry < self.read)

    def without(self, rules: Iterable[str]) -> "Candidates":
        """Return the candidates without what states one of `rules`, and with nothing standing.

        A gist states its rules before the candidates.
        """
        texts = [*map(one_line, rules)]
        left = (
            (unit, _without(unit.text, texts) if unit.standing else unit.text)
            for unit in self.units
        )
        return self.of(
            unit._replace(text=text, standing=False) if unit.standing else unit
            for unit, text in left
            if text
        )

    def behind(self, kept: str) -> "Candidates":
        """Return the candidates from entries after the last one that is used in `kept`."""
        last = max((unit.entry for unit in self.units if unit.text in kept), default=-1)
        return self.of(unit for unit in self.units if unit.entry > last)

    def of(self, units: Iterable[Unit]) -> "Candidates":
        """Return the candidates with only these units and their entries."""
        kept = tuple(units)
        living = {unit.entry for unit in kept}
        return evolve(
            self,
            units=kept,
            entries={number: entry for number, entry in self.entries.items() if number in living},
        )

    def to_json(self) -> bytes:
        """Return the candidates as JSON text."""
        return orjson.dumps(
            [
                [(number, tuple(entry)) for number, entry in self.entries.items()],
                [*map(tuple, self.units)],
                self.turns,
                self.read,
            ]
        )

    @classmethod
    def from_json(cls, text: bytes) -> "Candidates":
        """Return the candidates that `to_json` wrote.

        Law: they give the same summaries as the original, also after further reading.

        Raises:
            ValueError, TypeError: the text is not valid.
        """
        entries, units, turns, read_entries = orjson.loads(text)
        return cls(
            {number: Entry(*map(_hashable, row)) for number, row in entries},
            tuple(Unit(*map(_hashable, row)) for row in units),
            turns,
            read_entries,
        )


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@frozen(kw_only=True)
class ExtractiveSummariser:
    """A summariser that copies the most important units within a token limit (docs/summarisers.md).

    Standing instructions ("from now on", "never", "must") and next steps come first. A unit is a
    sentence, a line of code or of a log, a key with its value, or a call; "…" marks everything that
    is shortened or left out. JSON becomes notes under the identifiers of its records. The order of
    the conversation is kept. Gists among the turns are parsed into their lines.

    `failure_bonus` multiplies the worth of an error line and its nearest stack frame. Unless
    `query_bonus` is 0, units relevant to the query come first; text addressed to the assistant is
    only shown for a query about such text. For `frozen` compressions in a row, the first half of a
    gist stays unchanged, so that a provider's cache holds more, before the whole gist is selected
    anew. With `ids`, every line begins with the id of its turn, which `ContextSession.recall`
    takes: about five tokens a line. Time is close to linear in the text.

    >>> from polycontext.window import TiktokenCounter
    >>> turns = [
    ...     Turn("assistant", "What is your booking?"),
    ...     Turn("user", "It is ZFA04Y, for two persons. My day is going well."),
    ... ]
    >>> ExtractiveSummariser().summarise(turns, 16, counter=TiktokenCounter("o200k_base"))
    'user: It is ZFA04Y, for two persons.'
    """

    failure_bonus: float = field(default=3.0, validator=validators.ge(0))
    query_bonus: float = field(default=5.0, validator=validators.ge(0))
    frozen: int = field(default=0, validator=[validators.instance_of(int), validators.ge(0)])
    ids: bool = field(default=False, validator=validators.instance_of(bool))

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
        rules: Iterable[str] | None = None,
    ) -> str:
        """Return a summary of at most `max_tokens`; it is empty only if no start of any text fits.

        `query` is what the user will ask next; units relevant to it come first. `rules` are the
        rules that a gist states before the summary; without them, the summary begins with its own.

        Law: ``counter.count(summarise(turns, n, counter=counter)) <= n`` for n >= 0.
        """
        candidates = self.read(turns, counter=counter)
        if rules is not None:
            candidates = candidates.without(rules)
        return self.write(candidates, max_tokens, counter=counter, query=query)

    def read(
        self,
        turns: Sequence[Turn],
        known: Candidates | None = None,
        *,
        counter: TokenCounter,
        most: int | None = None,
    ) -> Candidates:
        """Return the candidates from `turns` and those `known` before.

        If they exceed `most` tokens, only the most important ones are kept.
        """
        known = known or Candidates()
        entries, units = parse_turns(
            turns, known.read, known.turns, counter, self.failure_bonus, ids=self.ids
        )
        found = Candidates(
            {**known.entries, **entries},
            (*known.units, *mark_outcomes(entries, known.units, units)),
            known.turns + len(turns),
            known.read + len(entries),
        )
        found = found.of(drop_outdated(found.entries, found.units, entries))
        return found if most is None or found.cost <= SLACK * most else found.within(most)

    def write(
        self,
        candidates: Candidates,
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
        former: Turn | None = None,
    ) -> str:
        """Return the summary of at most `max_tokens` from `candidates`.

        `former` is the gist that the summary replaces.
        """
        if max_tokens <= 0:
            return ""
        if (
            former is not None
            and former.level % (self.frozen + 1) < self.frozen
            and (kept := _first_half(unframed(former.text)))
        ):
            room = max_tokens - counter.count(kept + "\n")
            if room > _LEAST_ROOM * max_tokens:
                text = (
                    f"{kept}\n"
                    f"{self.write(candidates.behind(kept), room, counter=counter, query=query)}"
                )
                if counter.count(text) <= max_tokens:
                    return text.rstrip()
        candidates = candidates.current
        if query and ASKS_OF_INSTRUCTIONS.search(query):
            candidates = candidates.of(unit._replace(hidden=False) for unit in candidates.units)
        if candidates.cost <= _MORE * max_tokens:
            text = render_notes(
                candidates.entries,
                [unit for unit in candidates.units if unit.place != SIZE],
                headed=max_tokens >= HEADED_FROM and not self.frozen,
            )
            if counter.count(text) <= max_tokens:
                return text
        order = candidates.ranked(more_than(max_tokens), query, self.query_bonus)
        return Fitter(candidates.entries, candidates.units, max_tokens, counter).fit(order)


def more_than(tokens: int) -> float:
    """Return how many tokens to select, because token counts are not additive."""
    return max(_MORE * tokens, tokens + _MORE_TOKENS)


def _without(text: str, rules: Sequence[str]) -> str:
    """Return `text` with a mark in place of each of `rules`; "" if it is only part of one."""
    if any(text in rule for rule in rules):
        return ""
    for rule in rules:
        text = text.replace(rule, GAP)
    return text


def _first_half(body: str) -> str:
    """Return the complete lines in the first half of a summary."""
    ends = [match.start() for match in NEW_LINE.finditer(body) if match.start() <= len(body) // 2]
    return body[: ends[-1]] if ends else ""
