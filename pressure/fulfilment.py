"""Fulfilments: the texts of a plan's gists, and the summarisers that write them.

Every text is checked before it becomes a gist. A model also lists standing instructions as quotes;
each counts only if the user said it verbatim.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, Self

from attrs import evolve, field, frozen

from polycontext.base import InvalidOptionError, require
from polycontext.base.effects import Effect, Steps, in_thread, together
from polycontext.linearity.classification.prose import sentences, unquoted
from polycontext.window import Role, TokenCounter, Turn, count_turn
from polycontext.window.items import attachment_of

from . import notes
from .gist import (
    NO_TEXT,
    GistJob,
    GistKind,
    digest_turn,
    pointer_turn,
    summary_text,
    summary_turn,
    unframed,
    with_rules,
)
from .plan import Plan
from .summariser_protocol import (
    LEAST_ASKED,
    AsyncPlanSummariser,
    AsyncSummariser,
    PlanSummariser,
    RememberingSummariser,
    Summariser,
)
from .summary_usage import SummaryUsage

Reading = Callable[[RememberingSummariser, GistJob], Any]
"""Returns a summariser's candidates for a job, including those read earlier."""


@frozen
class NativeGist:
    """A provider's summary of a prefix: its `blocks`, as JSON texts, which are sent back unchanged.

    `tokens` is the size that the provider states for the last block, or None. `twin` is the text
    for all other providers; without one, it is made from the turns. `keeps_bound` states that the
    provider also accepts parts that it bound to the prefix after the blocks.
    """

    provider: str
    blocks: tuple[str, ...] = field(converter=tuple[str, ...])
    tokens: int | None = None
    twin: str | None = None
    keeps_bound: bool = False


Offer = tuple[str | NativeGist | None, str | None]
"""A text or a `NativeGist`, or None and the reason why there is none."""
_PAIR = 2


def _is_offer(value: object) -> bool:
    """Return whether `value` is a pair with a reason or None; its text is checked at the commit."""
    return isinstance(value, tuple) and len(value) == _PAIR and isinstance(value[1], str | None)


@frozen
class Fulfilment:
    """The offers of a summariser for the jobs of a plan, in the order of the jobs.

    `of` creates one from texts. `summariser` wrote them, in `seconds` and with `usage`, as far as
    that is known.

    Raises:
        InvalidOptionError: the number of offers differs from that of the jobs, or a value is not an
            `Offer`.
    """

    plan: Plan = field(repr=False)
    offers: tuple[Offer, ...] = field(converter=tuple[Offer, ...])
    summariser: object = field(default=None, eq=False, repr=False)
    seconds: float | None = field(default=None, eq=False)
    usage: SummaryUsage | None = field(default=None, eq=False)

    def __attrs_post_init__(self) -> None:
        require(
            "offers",
            self.offers,
            len(self.offers) == len(self.plan.jobs),
            f"{len(self.plan.jobs)}, one for each of the plan's jobs; Fulfilment.of takes texts",
        )
        for number, offer in enumerate(self.offers):
            if not _is_offer(offer):
                raise InvalidOptionError(
                    f"offers[{number}]", offer, "a text and None, or None and why there is none"
                )

    def timed(self, taken: timedelta) -> Self:
        """Return the fulfilment with how long it took, unless that is known."""
        seconds = max(0.0, taken.total_seconds())
        return self if self.seconds is not None else evolve(self, seconds=seconds)

    @classmethod
    def of(cls, plan: Plan, *texts: str) -> Self:
        """Return the fulfilment with `texts`, one for each job that needs words.

        Facts that a gist must keep are added if its text does not contain them.

        Raises:
            InvalidOptionError: there are too many or too few texts, or a value is not a text.
        """
        wanted = [job for job in plan.jobs if job.kind.needs_words]
        require(
            "texts",
            len(texts),
            len(texts) == len(wanted),
            f"{len(wanted)}, one for each gist of the plan that needs words",
        )
        for number, text in enumerate(texts):
            require(f"texts[{number}]", text, isinstance(text, str), "a text")
        coming = iter(texts)
        return cls(
            plan,
            offers(plan.jobs, lambda job: in_thread(complete_offer, plan, job, next(coming))).do(),
        )


def offers(jobs: Sequence[GistJob], words: Callable[[GistJob], Effect]) -> Effect:
    """Return the effect that requests the texts of gists; a failure affects its own gist only."""
    return together(_offer(job, words) for job in jobs)


def _offer(job: GistJob, words: Callable[[GistJob], Effect]) -> Steps[Offer]:
    if not job.kind.needs_words:
        return None, None
    try:
        return (yield words(job)), None
    except Exception as error:  # noqa: BLE001 - a failing summariser affects its own gist only
        return None, f"the summariser failed: {type(error).__name__}: {error}"


def ask(summariser: Summariser | PlanSummariser, plan: Plan, job: GistJob, room: int) -> str:
    """Return the summariser's text for `job` in `room` tokens, completed by `complete_offer`.

    A `PlanSummariser` is passed the plan.
    """
    counter = plan.window.counter
    if isinstance(summariser, PlanSummariser):
        text = summariser.summarise_plan(plan, job, room, counter=counter)
    else:
        text = summariser.summarise(job.reads, room, counter=counter, query=plan.query)
    return complete_offer(plan, job, text)


async def aask(
    summariser: AsyncSummariser | AsyncPlanSummariser, plan: Plan, job: GistJob, room: int
) -> str:
    """Return what `ask` returns, without blocking."""
    counter = plan.window.counter
    if isinstance(summariser, AsyncPlanSummariser):
        text = await summariser.asummarise_plan(plan, job, room, counter=counter)
    else:
        text = await summariser.asummarise(job.reads, room, counter=counter, query=plan.query)
    # Reading the turns takes as long as writing an extract of them.
    return await asyncio.to_thread(complete_offer, plan, job, text)


def complete_offer(plan: Plan, job: GistJob, text: str) -> str:
    """Return `text` with the facts that the gist of `job` must keep, and with its quotes checked.

    The result stays within the allowance of the job; see `complete_text` and `Quotes`.
    """
    if not isinstance(text, str) or not text.strip():
        return text  # rejected when the plan is committed
    counter = plan.window.counter
    # The gist states the rules of the ledger before the text.
    known = {" ".join(rule.text.split()) for rule in plan.window.rules.all}
    facts = [
        fact
        for fact in notes.facts_of(job.reads, counter)
        if fact.head is not notes.Section.RULES or fact.text not in known
    ]
    quotes = Quotes.of(job.reads, facts)

    def fits(body: str) -> bool:
        checked = _check(job, quotes.mark(body), job.sources[0].resource_id, counter)
        return isinstance(checked, Turn)

    whole = notes.complete_text(text.strip(), facts, fits)
    # If there is no room for marks, nothing is marked as the user's own words, not even by a model.
    marked = (quotes if fits(whole) else Quotes()).mark(whole)
    lines = marked.split("\n")
    return "\n".join(line for line in lines if line.removeprefix(USER) not in known)


_EMPTY = "the summary is empty"


@frozen
class Rejection:
    """A rejected summary: the ids of its sources, and the reason."""

    sources: tuple[str, ...]
    reason: str


@frozen
class Gist:
    """The gist of one job (None: its sources stay verbatim), and the rejection of an offer."""

    turn: Turn | None
    rejection: Rejection | None = None
    keeps_bound: tuple[str, ...] = ()
    """The providers that accept parts bound to the sources after their own gist."""


def frame(job: GistJob, body: str, resource_id: str) -> Turn:
    """Return the gist turn of `job` around `body`, without a token count."""
    first = job.sources[0]
    if job.kind is GistKind.POINTER:
        return pointer_turn(first, resource_id)
    if job.kind is GistKind.DIGEST:
        return digest_turn(first, with_rules(body, job.rules), resource_id)
    return summary_turn(
        summary_text(with_rules(body, job.rules)), job.sources, job.stands_for, resource_id
    )


def body_allowance(job: GistJob, counter: TokenCounter) -> int:
    """Return how many tokens the summary may take inside its frame."""
    # The frame is counted around a word, because line breaks take more tokens there.
    return job.allowance - count_turn(counter, frame(job, "x", job.sources[0].resource_id))


def make_gist(
    job: GistJob,
    offer: str | NativeGist | None,
    failure: str | None,
    resource_id: str,
    counter: TokenCounter,
) -> Gist:
    """Return the gist of `job` from `offer`, or an extract if the offer is invalid.

    A valid offer is not empty, has fewer tokens than the sources and is within the allowance. Gists
    that a provider writes are made by `native_gist` instead.
    """
    if job.kind is GistKind.POINTER:
        return Gist(_count(frame(job, "", resource_id), counter))
    if job.kind is GistKind.DIGEST:
        return Gist(_extract(job, resource_id, counter))
    checked = failure or _check(job, offer, resource_id, counter)
    if isinstance(checked, Turn):
        return Gist(checked)
    extract = _extract(job, resource_id, counter)
    # An allowance this small may not fit a single word, which is not a fault of the summariser.
    if checked == _EMPTY and body_allowance(job, counter) < LEAST_ASKED:
        return Gist(extract)
    return Gist(extract, Rejection(tuple(turn.resource_id for turn in job.sources), checked))


def _check(job: GistJob, offer: object, resource_id: str, counter: TokenCounter) -> Turn | str:
    """Return the counted gist, or the reason why it is rejected."""
    if not isinstance(offer, str):
        came = "None" if offer is None else type(offer).__name__
        return f"the summary is {came}, not text; the summariser must return a str"
    body = offer.strip()
    if not body:
        return _EMPTY
    try:
        turn = _count(frame(job, body, resource_id), counter)
    except ValueError as error:
        return f"the summary cannot be stored: {error}"
    tokens = turn.tokens or 0
    if tokens >= job.source_tokens:
        return f"the summary takes {tokens} tokens, its sources {job.source_tokens}"
    if tokens > job.allowance:
        return f"the summary takes {tokens} tokens, its allowance is {job.allowance}"
    return turn


def _extract(job: GistJob, resource_id: str, counter: TokenCounter) -> Turn | None:
    """Return an extractive gist, retried with less room because token counts are not additive."""
    room = body_allowance(job, counter)
    for spare in (0, 4, 8, 16):
        body = _write_extract(job, room - spare, counter) if room > spare else ""
        turn = _check(job, body.strip() or NO_TEXT, resource_id, counter)
        if isinstance(turn, Turn):
            return turn
    return None


def _write_extract(job: GistJob, max_tokens: int, counter: TokenCounter) -> str:
    """Return the text of the built-in summariser for `job`."""
    if job.kind is GistKind.DIGEST:
        return notes.truncate(unframed(job.sources[0].text), max_tokens, counter, wanted=job.about)
    rules = [rule.text for rule in job.rules]
    return notes.ExtractiveSummariser().summarise(
        job.reads, max_tokens, counter=counter, rules=rules
    )


def _count(turn: Turn, counter: TokenCounter) -> Turn:
    return turn.with_tokens(count_turn(counter, turn))


# --- the user's own words in a model's text ---------------------------------------------

SHORTEST_QUOTE, LONGEST_QUOTE, MOST_QUOTES = 4, 400, 100
"""The fewest and the most characters of a quote, and how many quotes of a summary are looked up."""
USER = "user: "
"""The prefix of a line of constraints with the user's own words, which a later summary keeps."""

_MARKUP = re.compile(r"\A(?:[-*•+>]|\d{1,3}[.)])\s+")
_LABELS = re.compile(r"\A(?:(?:\[[^\]\s]{1,80}\] )?user(?: [^:\n]{1,64})?:\s*)+")
_MARKS = " \"'`*“”„«»「」『』‘’"


@frozen
class Quotes:
    """A search for quotes in texts, each as prose and with its own quotations blanked out."""

    said: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, turns: Iterable[Turn], facts: "Iterable[notes.Fact]" = ()) -> Self:
        """Return a search in the user's prose and in the demands among `facts`.

        The prose of `turns` excludes code, pasted text, attachments and gists.
        """
        texts = [
            turn.text
            for turn in turns
            if turn.role is Role.USER and not turn.is_gist and attachment_of(turn) is None
        ]
        texts += [fact.text for fact in facts if fact.head is notes.Section.RULES]
        prose = (" ".join(" ".join(sentences(text)).split()) for text in texts)
        return cls(tuple((text, unquoted(text)) for text in prose))

    def mark(self, summary: str) -> str:
        r"""Return `summary` with the user's own words marked in the lines under "Constraints:".

        A line that quotes the user verbatim is marked and kept once; a mark on any other line is
        removed.

        >>> Quotes.of([Turn("user", "Hello! Never  push.")]).mark(
        ...     'Constraints:\n- "Never push."\n- user: Push daily.'
        ... )
        'Constraints:\nuser: Never push.\nPush daily.'
        """
        lines, under, left = dict[object, str](), "", MOST_QUOTES
        for number, line in enumerate(summary.splitlines()):
            title = line.strip().strip("#*: ") + ":"
            if title in notes.TITLES:
                lines[number] = under = title
            elif under != f"{notes.Section.RULES}:":
                lines[number] = line
            elif bare := _LABELS.sub("", _MARKUP.sub("", " ".join(line.split()))):
                quote, left = bare.strip(_MARKS), left - 1
                is_own = (
                    left >= 0
                    and SHORTEST_QUOTE <= len(quote) <= LONGEST_QUOTE
                    and self._hold(quote)
                )
                lines[quote if is_own else number] = USER + quote if is_own else bare
        return "\n".join(lines.values())

    def _hold(self, quote: str) -> bool:
        for prose, own in self.said:
            start = prose.find(quote)
            if (
                start >= 0
                and own[start : start + len(quote)].count("_") * 2
                < len(quote) + quote.count("_") * 2
            ):
                return True
        return False
