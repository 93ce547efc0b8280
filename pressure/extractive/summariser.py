"""The offline summariser: words that were said, chosen rather than rewritten.

No model and no network. Whatever it returns stood in the turns, so it cannot
invent; it is deterministic, so that replaying a journal gives the same bytes; it
fits, whatever the text. It is the default, and what a model's refused summary
falls back to.

How: turns become lines, lines become segments, and segments are chosen to cover
the terms that weigh most (identifiers, paths, names from code, rare words),
every token paid from one budget over all turns.
"""

from collections.abc import Sequence

from attrs import field, frozen, validators

from polycontext.pressure.extractive.choice import Fitter
from polycontext.pressure.extractive.heads import HEADS_FROM
from polycontext.pressure.extractive.reading import Bonuses, Candidates, raised, read
from polycontext.pressure.gist import unframed
from polycontext.window import TokenCounter, Turn

_LEAST_ROOM = 0.3
"""The share of the room that must be left beside what is frozen."""

_SLACK = 1.5
"""How much more than wanted is held before what is worth least goes: pruning then costs little a turn."""


@frozen(kw_only=True)
class ExtractiveSummariser:
    """Summarise turns by copying out what matters most, within the tokens there are (docs/summarisers.md).

    What states a standing constraint ("from now on", "never", "must") goes first.
    Identifiers keep what stands to their left, so that they stay bound to their
    meaning; the order of the conversation is kept; white space is normalised and
    what is left out between two pieces shows as "…". Gists among the turns are read back into lines.

    `answer_bonus` multiplies the worth of a turn that follows a question,
    `failure_bonus` that of an error line and its nearest frame, `decision_bonus`
    that of words that settle a matter, and 1 + `query_bonus` that of a piece which
    speaks of all that the query asks. For `frozen` compressions in a row the first half of a gist stays as it was (a provider's
    cache then holds more), before all of it is chosen anew. With `ids` every line begins with the id of its turn, which
    `ContextSession.recall` takes: about five tokens a line. Time is close to linear in the text.

    >>> from polycontext.window import TiktokenCounter
    >>> turns = [Turn("assistant", "What is your booking?"), Turn("user", "It is ZFA04Y, for two. How is your day going?")]
    >>> ExtractiveSummariser().summarise(turns, 16, counter=TiktokenCounter("o200k_base"))
    'user: It is ZFA04Y, for two.'
    """

    answer_bonus: float = field(default=1.3, validator=validators.ge(0))
    failure_bonus: float = field(default=3.0, validator=validators.ge(0))
    decision_bonus: float = field(default=1.5, validator=validators.ge(0))
    query_bonus: float = field(default=5.0, validator=validators.ge(0))
    frozen: int = field(default=0, validator=[validators.instance_of(int), validators.ge(0)])
    ids: bool = field(default=False, validator=validators.instance_of(bool))

    def summarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return a summary of at most `max_tokens`; empty only where no start of any text fits.

        `query` is what the reader will ask next: what speaks of it weighs more.

        Law: ``counter.count(summarise(turns, n, counter=counter)) <= n`` for n >= 0.
        """
        return self.write(self.read(turns, counter=counter), max_tokens, counter=counter, query=query)

    def read(self, turns: Sequence[Turn], known: Candidates | None = None, *, counter: TokenCounter, most: int | None = None) -> Candidates:
        """Return what could be kept of `turns` and of what was `known` before; of more than `most` tokens what is worth most."""
        bonuses = Bonuses(self.answer_bonus, self.failure_bonus, self.decision_bonus, self.query_bonus)
        candidates = read(known or Candidates(), turns, bonuses, counter, ids=self.ids)
        return candidates if most is None or candidates.cost <= _SLACK * most else candidates.within(most)

    def write(
        self, candidates: Candidates, max_tokens: int, *, counter: TokenCounter, query: str | None = None, former: Turn | None = None
    ) -> str:
        """Return the summary of at most `max_tokens` that `candidates` make; `former` is the gist that it takes the place of."""
        if max_tokens <= 0:
            return ""
        if former is not None and former.level % (self.frozen + 1) < self.frozen:
            from polycontext.pressure.extractive.freezing import behind, first_half  # noqa: PLC0415 - for who freezes

            kept = first_half(unframed(former.text)) + "\n"
            room = max_tokens - counter.count(kept)
            if kept.strip() and room > _LEAST_ROOM * max_tokens:
                text = kept + self.write(behind(candidates, kept.rstrip()), room, counter=counter, query=query)
                if counter.count(text) <= max_tokens:
                    return text.rstrip()
        headed = max_tokens >= HEADS_FROM and not self.frozen
        fitter = Fitter(candidates.lines, candidates.segments, counter, headed, candidates.steps)
        whole = fitter.everything(max_tokens)
        boosts = raised(candidates, query, self.query_bonus) if query else None
        return whole if whole is not None else fitter.best(candidates.chooser(boosts), max_tokens)
