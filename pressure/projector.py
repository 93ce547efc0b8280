"""The projector, which compresses a window in three steps: plan, fulfil, commit.

Planning is pure, and its token counts are known before any model is called. Fulfilling calls a
summariser and changes no state. Committing checks every gist and returns the new window, but only
if the current window begins with the planned one: a conversation can go on while its summary is
being written.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

from attrs import define, evolve, field, frozen

from polycontext.base import CallerError, InvalidOptionError, guided, is_number, must_be, require
from polycontext.base.effects import Effect, Steps, call, in_thread, procedure, twin
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Splice, Turn

from . import notes
from .fulfilment import (
    Fulfilment,
    Gist,
    Reading,
    Rejection,
    aask,
    ask,
    body_allowance,
    make_gist,
    offers,
)
from .gist import GistJob, is_summary
from .ladder import Ladder, ladder_of
from .native import native_gist, prefix_edit
from .plan import Plan, plan_at
from .reach import Reach
from .summariser_protocol import (
    LEAST_ASKED,
    AsyncPlanSummariser,
    AsyncSummariser,
    PlanSummariser,
    RememberingSummariser,
    Summariser,
    as_summariser,
    default_summariser,
)
from .summary_usage import hearing_usage
from .threshold import mark_above, pressure_of, tokens_at
from .view import Edit, View, apply_edit, first_changed


@define(slots=False, eq=False)
class ConflictError(CallerError, RuntimeError):
    """A change was made for a state that is no longer current."""

    what: str
    expected: object
    found: object
    legal: str = "Repeat the change on the current state"

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}. {self.legal}."


@guided
@frozen(repr=False)
class CompressionResult:
    """The report of a compression: the new window and the cost (docs/pressure.md).

    Token counts are for whole windows. `dropped` and `gisted` are resource ids of turns. All other
    turns are kept verbatim, but those named in ``edit.bared`` lost their parts. `rejections` holds
    the summaries that were rejected. `came` is the number of tokens of turns that were appended
    after planning; these turns come last.
    """

    window: ContextWindow
    plan: Plan
    edit: Edit
    tokens_after: int
    dropped: tuple[str, ...]
    gisted: tuple[str, ...]
    rejections: tuple[Rejection, ...] = ()
    came: int = 0

    @property
    def reached(self) -> bool:
        """Return whether the tokens are within the wanted ones; later turns do not count."""
        return self.tokens_after - self.came <= self.plan.tokens_wanted

    @property
    def tokens_before(self) -> int:
        """Return the tokens before the compression."""
        return self.plan.tokens_before + self.came

    @property
    def floor(self) -> int:
        """Return the fewest tokens that any plan could have reached."""
        return self.plan.floor

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the ids of the turns that are not replaced."""
        coming = {turn.resource_id for splice in self.edit.splices for turn in splice.turns}
        return tuple(
            turn.resource_id for turn in self.window.all_turns() if turn.resource_id not in coming
        )

    @property
    def first_changed(self) -> int | None:
        """Return the index of the first turn that changed, or None if nothing did.

        The provider's prompt cache holds the turns before it.

        Law: it is never before the plan's `first_changed`, and after it only if a gist was
        rejected.
        """
        return first_changed(self.plan.window, self.edit)

    @property
    def tokens_saved(self) -> int:
        """Return tokens before - tokens after."""
        return self.tokens_before - self.tokens_after

    def __repr__(self) -> str:
        state = "reached" if self.reached else f"not reached, floor {self.floor}"
        return (
            f"CompressionResult({self.tokens_before} -> {self.tokens_after} tokens, wanted "
            f"{self.plan.tokens_wanted}: {state}, "
            f"{len(self.dropped)} dropped, {len(self.gisted)} gisted)"
        )


@guided
@frozen
class ContextProjector:
    """Compresses windows: the lower adjoint of a Galois connection (docs/pressure.md).

    Laws, on the views of real windows: monotone; deflationary; idempotent; ``compress(expand(v)) ==
    v``; PRESERVED turns are byte-identical afterwards; atoms are never split; the order of the
    conversation is kept.
    """

    summariser: Summariser = field(factory=default_summariser, converter=as_summariser)
    reach: Reach = field(
        factory=Reach, validator=must_be(Reach, "a Reach, such as Reach(keep_recent=6)")
    )

    def pressure(self, window: ContextWindow) -> float:
        """Return the tokens used / max tokens of the whole window."""
        return pressure_of(window)

    def ladder(self, window: ContextWindow) -> Ladder:
        """Return the chain of all plans for `window`."""
        return ladder_of(window, self.reach)

    def floor(self, window: ContextWindow) -> int:
        """Return the fewest tokens that a plan for `window` can promise."""
        return self.ladder(window).floor

    def plan_for(self, window: ContextWindow, target: float) -> Plan:
        """Return the gentlest plan for a pressure of at most `target`, or the harshest plan.

        Law: for every reachable t, ``c_j <= plan_for(t)`` exactly when ``pressure(c_j) <= t``.

        Raises:
            InvalidOptionError: `target` is not a number from 0 to 1.
        """
        tokens, ladder = _tokens(window, target), self.ladder(window)
        return plan_at(ladder, ladder.gentlest(tokens), tokens)

    def plan_within(self, window: ContextWindow, tokens: int, query: str | None = None) -> Plan:
        """Return the plan for at most `tokens` that keeps the most text, or the harshest plan.

        It compresses more atoms than necessary, so that gists of all of them share the freed
        tokens, the newest results first. The atoms most relevant to `query` stay complete. Without
        a query, the gists start with what the last user message asks about the past.
        """
        return self._filled(self.ladder(window), tokens, query)

    def plan_to(self, window: ContextWindow, target: float, query: str | None = None) -> Plan:
        """Return the plan for a pressure of at most `target` that keeps the most text.

        If no plan reaches the target, the harshest one is returned.

        Raises:
            InvalidOptionError: `target` is not a number from 0 to 1.
        """
        return self._sendable(self.ladder(window), _tokens(window, target), query)

    def plan_between(
        self, window: ContextWindow, low: float, high: float, query: str | None = None
    ) -> Plan:
        """Return the plan of automatic compression, to `low` of the room beside what cannot shrink.

        If possible, the newest results or the newest reply stay complete, as long as the pressure
        is below the `high` mark.
        """
        ladder, most = self.ladder(window), window.max_tokens
        newest_whole = mark_above(ladder.tokens[ladder.whole_newest] / most, low)
        floor = ladder.floor / most
        # Keep the newest results, or the newest reply, complete if that leaves room for more turns
        # before the next compression.
        target = newest_whole if newest_whole < mark_above(floor, high) else mark_above(floor, low)
        return self._sendable(ladder, tokens_at(target, most), query)

    def _sendable(self, ladder: Ladder, tokens: int, query: str | None) -> Plan:
        """Return the plan for at most `tokens`, or fewer if filler messages need the room.

        A provider may require filler messages between the turns that are left.
        """
        besides, most = REQUEST_OVERHEAD, ladder.window.max_tokens
        while True:
            plan = self._filled(ladder, min(tokens, max(0, most - besides)), query)
            needed = REQUEST_OVERHEAD + plan.introduced_tokens
            if not plan.reached or plan.tokens_promised + needed <= most or besides >= most:
                return plan
            # Each round sets more tokens aside, so the loop ends.
            besides = max(needed, besides + 1)

    def _filled(self, ladder: Ladder, tokens: int, query: str | None) -> Plan:
        if tokens < ladder.tokens[0]:
            from . import ranking  # noqa: PLC0415 - only for compressions

            if asked := query:
                relevant = ladder.select(tokens, lambda texts: ranking.by_relevance(texts, asked))
                ladder = ladder_of(ladder.window, self.reach, relevant)
            # Who asks about the past by the way reads it in the gist, in its order.
            query = query or ranking.asked_by(ladder.window)
        return plan_at(ladder, ladder.roomiest(tokens), tokens, query)

    @procedure
    def fulfil(self, plan: Plan, *, reading: Reading | None = None) -> Steps[Fulfilment]:
        """Ask the summariser for the text of every gist of `plan`; nothing changes.

        With `reading`, the summariser continues from what it read before. `afulfil` awaits its
        ``asummarise``, or runs ``summarise`` in a thread.
        """
        with hearing_usage() as heard:
            made = yield offers(plan.jobs, lambda job: self._words(plan, job, reading))
        return Fulfilment(plan, made, self.summariser, usage=heard.total)

    afulfil = twin(fulfil)

    def commit(self, window: ContextWindow, fulfilment: Fulfilment) -> CompressionResult:
        """Check every gist and return the report with the compressed window.

        Turns appended after planning are kept unchanged at the end.

        Raises:
            ConflictError: `window` does not begin with the planned window, or a class in that was
                raised since.
        """
        plan = fulfilment.plan
        if not plan.fits(window):
            raise ConflictError("compression plan", plan.window, window)
        # A provider's own summary has other checks.
        make = native_gist if plan.is_native else make_gist
        gists = [
            make(job, offer, failure, resource_id, window.counter)
            for job, (offer, failure), resource_id in zip(
                plan.jobs, fulfilment.offers, new_ids(window), strict=False
            )
        ]
        return _commit_gists(window, plan, gists)

    @procedure
    def compress(
        self, window: ContextWindow, target: float = 0.7, *, query: str | None = None
    ) -> Steps[CompressionResult]:
        """Plan, fulfil and commit in one call."""
        fulfilment = yield call(self, "fulfil", self.plan_to(window, target, query))
        return self.commit(window, fulfilment)

    acompress = twin(compress)

    def expand(self, view: View) -> View:
        """Return a compressed view as one of all views.

        Raising its fidelity again needs the log (recall).
        """
        return view

    @staticmethod
    def asks(summariser: object, plan: Plan, job: GistJob) -> bool:
        """Return whether `summariser` is asked for the text of `job`.

        If not, the job needs no words, or has too little room for those of a model.
        """
        remembers = isinstance(summariser, RememberingSummariser)
        return job.kind.needs_words and (
            remembers or body_allowance(job, plan.window.counter) >= LEAST_ASKED
        )

    def _words(self, plan: Plan, job: GistJob, reading: Reading | None) -> Effect:
        """Return the effect that requests the text of `job`."""
        room = body_allowance(job, plan.window.counter)
        summariser = (
            self.summariser if self.asks(self.summariser, plan, job) else default_summariser()
        )
        blocking = partial(_asked, summariser, plan, job, room, reading)
        if isinstance(summariser, AsyncSummariser | AsyncPlanSummariser):
            return Effect(blocking, partial(aask, summariser, plan, job, room))
        return in_thread(blocking)


def _asked(summariser: object, plan: Plan, job: GistJob, room: int, reading: Reading | None) -> str:
    if not isinstance(summariser, Summariser | PlanSummariser):
        raise InvalidOptionError(
            "summariser",
            summariser,
            "one that need not be awaited, or the methods that begin with an a, such as "
            "await session.aadd_user_turn(...)",
        )
    if not isinstance(summariser, RememberingSummariser):
        return ask(summariser, plan, job, room)
    counter = plan.window.counter
    former = next((turn for turn in job.sources if is_summary(turn)), None) if reading else None
    candidates = (
        reading(summariser, job)
        if reading
        else summariser.read(_focused(job.reads, plan.query), counter=counter)
    )
    if hasattr(candidates, "beside"):
        candidates = candidates.beside(
            _standing(plan, job, job.sources if reading else job.reads), counter
        )
    if isinstance(candidates, notes.Candidates):
        candidates = candidates.without(rule.text for rule in job.rules)
        if plan.query is not None:
            candidates = candidates.asking(job.reads, plan.query)
    return summariser.write(candidates, room, counter=counter, query=plan.query, former=former)


def _focused(turns: Sequence[Turn], query: str | None) -> Sequence[Turn]:
    """Return `turns` with texts that are too long shortened to the passages relevant to `query`."""
    if query is None:
        return turns
    return [
        turn
        if (text := notes.excerpt(turn.text, query)) == turn.text
        else evolve(turn, content=text)
        for turn in turns
    ]


def _tokens(window: ContextWindow, target: float) -> int:
    require(
        "target",
        target,
        is_number(target, 0, 1),
        "a pressure from 0.0 to 1.0 (tokens / max tokens)",
    )
    return tokens_at(target, window.max_tokens)


def new_ids(window: ContextWindow) -> Iterator[str]:
    """Yield ids that neither a caller's turn nor an earlier gist has."""
    ids = (f"g{number}" for number in count(window.serial + 1))
    return (resource_id for resource_id in ids if resource_id not in window.linearity)


def _commit_gists(window: ContextWindow, plan: Plan, gists: Sequence[Gist]) -> CompressionResult:
    if plan.is_native:
        edit = prefix_edit(window, plan, gists[0])
        sources = plan.jobs[0].reads if edit.splices else ()
    else:
        taken = [job for job, gist in zip(plan.jobs, gists, strict=True) if gist.turn is not None]
        edit = _edit_of(window, plan, taken, [gist.turn for gist in gists if gist.turn is not None])
        sources = tuple(turn for job in taken for turn in job.sources)
    after = apply_edit(window, edit, compressed=True)
    return CompressionResult(
        after,
        plan,
        edit,
        after.tokens,
        edit.dropped,
        tuple(turn.resource_id for turn in sources),
        tuple(gist.rejection for gist in gists if gist.rejection is not None),
        window.total_tokens - plan.window.total_tokens,
    )


def _edit_of(
    window: ContextWindow, plan: Plan, jobs: Sequence[GistJob], gists: Sequence[Turn]
) -> Edit:
    """Return the edit in which `gists` replace the turns of their `jobs`."""

    def ids_in(splices: Sequence[Splice]) -> Iterator[str]:
        turns = window.all_turns()
        return (turn.resource_id for each in splices for turn in turns[each.start : each.stop])

    splices = list(plan.drops)
    for job, gist in zip(jobs, gists, strict=True):
        splices += [Splice(*job.runs[0], (gist,)), *(Splice(*run) for run in job.runs[1:])]
    splices.sort(key=lambda splice: splice.start)
    gone = {*ids_in(splices)}
    bared = tuple(resource_id for resource_id in plan.bared if resource_id not in gone)
    return Edit(tuple(splices), tuple(ids_in(plan.drops)), bared, plan.unbound_from)


def _standing(plan: Plan, job: GistJob, read: Sequence[Turn]) -> list[tuple[Turn, int]]:
    """Return the turns that stay, each with the number of turns of `read` after it."""
    yielding, turns = plan.yielding, plan.window.all_turns()
    ids = {turn.resource_id for turn in read if not is_summary(turn)}
    runs = (index for run in job.runs for index in range(*run))
    known = [index for index in runs if turns[index].resource_id in ids]
    kept = (index for index in range(len(turns)) if index not in yielding)
    # Before the summary, everything follows that earlier summaries read, too.
    every = max(len(known), len(job.stands_for))
    return [
        (turns[index], every if index < job.start else len(known) - bisect_right(known, index))
        for index in kept
    ]
