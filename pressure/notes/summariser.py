"""The extractive summariser, which writes a note to go on with and invents nothing.

It needs no model and no network: all text is from the turns. It is deterministic, so that replaying
a journal gives the same bytes, and its summaries always fit. It is the default, and the fallback
for a rejected summary of a model.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen, validators

from polycontext.base import guided
from polycontext.window import TokenCounter, Turn

from ..gist import unframed

if TYPE_CHECKING:
    from .candidates import Candidates

_LEAST_ROOM = 0.3
"""The share of the room that must be left beside the frozen part."""


@guided
@frozen(kw_only=True)
class ExtractiveSummariser:
    """A summariser that writes a note within a token limit (docs/summarisers.md).

    The note has sections: what is open, the task, what the user said, what was done, what is known,
    and the files that were read; a conversation that is mostly talk is one stream. It consists of
    whole sentences, lines and records; marks in brackets stand for what is left out. JSON becomes
    lines under the identifiers of its records. Gists among the turns are read line by line.

    With a `query_bonus`, items relevant to the query come first. For `frozen` compressions in a
    row, the first half of a gist stays unchanged, so that a provider's cache holds more, before the
    whole gist is written anew. With `ids`, every line begins with the id of its turn, which
    `ContextSession.recall` takes: about five tokens a line. Time is close to linear in the text.

    >>> from polycontext.window import TiktokenCounter
    >>> turns = [
    ...     Turn("assistant", "What is your booking?"),
    ...     Turn("user", "It is ZFA04Y, for two persons."),
    ...     Turn("assistant", "It is cancelled."),
    ... ]
    >>> print(ExtractiveSummariser().summarise(turns, 20, counter=TiktokenCounter("o200k_base")))
    assistant: What is your booking?
    user: It is ZFA04Y, for two persons.
    """

    query_bonus: float = field(default=1.0, validator=validators.ge(0))
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

        `query` is what the user will ask next; items relevant to it come first. `rules` are the
        rules that a gist states before the summary; without them, the summary states its own.

        Law: ``counter.count(summarise(turns, n, counter=counter)) <= n`` for n >= 0.
        """
        candidates = self.read(turns, counter=counter)
        if rules is None:
            candidates = evolve(candidates, states_rules=True)
        else:
            candidates = candidates.without(rules)
        return self.write(candidates, max_tokens, counter=counter, query=query)

    def read(
        self,
        turns: Sequence[Turn],
        known: "Candidates | None" = None,
        *,
        counter: TokenCounter,
        most: int | None = None,
    ) -> "Candidates":
        """Return the candidates from `turns` and those `known` before.

        Over `most` tokens, the least important are removed.
        """
        from .candidates import SLACK, Candidates  # noqa: PLC0415 - first turns need no notes

        del counter
        found = (known or Candidates()).reading(turns)
        return found if most is None or found.cost <= SLACK * most else found.within(most)

    def write(
        self,
        candidates: "Candidates",
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
        former: Turn | None = None,
    ) -> str:
        """Return the summary of at most `max_tokens` from `candidates`.

        `former` is the gist that the summary replaces.
        """
        from .note import write_note  # noqa: PLC0415 - as above

        if max_tokens <= 0:
            return ""
        if (
            former is not None
            and former.level % (self.frozen + 1) < self.frozen
            and (kept := _first_half(unframed(former.text)))
        ):
            room = max_tokens - counter.count(kept + "\n")
            if room > _LEAST_ROOM * max_tokens:
                rest = self.write(candidates.behind(kept), room, counter=counter, query=query)
                text = f"{kept}\n{rest}".rstrip()
                if counter.count(text) <= max_tokens:
                    return text
        items = candidates.items(query if self.query_bonus else None, max_tokens)
        headed = not self.frozen
        return write_note(
            items,
            candidates.events,
            max_tokens,
            counter,
            ids=self.ids,
            headed=headed,
            standing=candidates.standing,
        )


def _first_half(body: str) -> str:
    """Return the complete lines in the first half of a summary."""
    from .lines import NEW_LINE  # noqa: PLC0415 - as above

    ends = [match.start() for match in NEW_LINE.finditer(body) if match.start() <= len(body) // 2]
    return body[: ends[-1]] if ends else ""
