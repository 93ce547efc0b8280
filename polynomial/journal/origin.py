"""The origin of a compression: what its receipt needs and its edit does not tell.

It is written with the compression. All else in a receipt is derived from the journal.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from typing import Any

import orjson
from attrs import asdict, evolve, field, frozen

from polycontext.base.json_data import EMPTY, freeze, thaw
from polycontext.pressure import ContextProjector, Plan, Reach, SummaryUsage
from polycontext.pressure.gist import GistJob
from polycontext.window import ContextWindow

from ..machine.step import Step

EXTRACTIVE = "extractive"
"""The name of the built-in summariser, whose gists can be made again from the log."""

UNKNOWN = "unknown"
"""The name of a summariser of which only the texts came, as with `Fulfilment.of`."""

_DIGEST_BYTES = 16


@frozen
class CachedTokens:
    """The cached tokens of the first and of the last request that was measured in an epoch."""

    epoch: int
    first: int
    last: int


@frozen
class Origin:
    """How a compression was made.

    The plan was for the first `planned` turns of the view, a budget of `room` tokens and `wanted`
    tokens afterwards, with the options `reach` and the caller's `query`. `summariser` names what
    wrote the gists, with its `options` if it is the built-in one; "" if there was none to write.
    Extracts replaced the texts for the gists with the indices `rejected`. It took `seconds` to
    write them, by the session's clock. `cached` are the cached tokens that providers reported since
    the compression before. `before` and `after` are digests of the view.
    """

    version: str
    wanted: int
    room: int
    planned: int
    reach: Reach = field(factory=Reach)
    query: str | None = None
    summariser: str = ""
    options: Mapping[str, Any] = field(default=EMPTY, converter=freeze)
    rejected: tuple[int, ...] = ()
    seconds: float | None = None
    usage: SummaryUsage | None = None
    cached: tuple[CachedTokens, ...] = ()
    before: str | None = None
    after: str | None = None

    @classmethod
    def of(cls, step: Step) -> "Origin | None":
        """Return the origin of the compression in a step; None if it changed nothing."""
        made, given = step.compression, step.input.payload
        if made is None or made.edit.is_empty:
            return None
        plan = made.plan
        refused = {each.sources for each in made.rejections}
        sources = [tuple(turn.resource_id for turn in job.sources) for job in plan.jobs]
        taken = [job for job, ids in zip(plan.jobs, sources, strict=True) if ids not in refused]
        by, options = _summariser_of(plan, taken, getattr(given, "summariser", None))
        return cls(
            version(),
            plan.tokens_wanted,
            plan.window.max_tokens,
            len(plan.window),
            plan.reach,
            _own_query(plan),
            by,
            options,
            tuple(number for number, each in enumerate(sources) if each in refused),
            getattr(given, "seconds", None),
            getattr(given, "usage", None),
            before=digest_of(step.window),
            after=digest_of(step.after),
        )

    def plan_again(self, window: ContextWindow) -> Plan:
        """Return the plan that the compression was made by, for the window that it was made for."""
        projector = ContextProjector(reach=self.reach)
        return projector.plan_within(window.with_room(self.room), self.wanted, self.query)

    def unsigned(self) -> "Origin":
        """Return it without the digests, and without the query, which may quote what is erased."""
        return evolve(self, before=None, after=None, query=None)


def digest_of(window: ContextWindow) -> str:
    """Return a digest of the view: of its turns with their ids, without times and token counts.

    It is the same in every process and version of Python.

    >>> digest_of(ContextWindow(100))
    '7ebb3c7c2a87b1a2f8a7ed729ecb040d'
    """
    turns = [
        [
            turn.resource_id,
            turn.role,
            turn.content,
            [[call.id, call.name, call.arguments] for call in turn.tool_calls],
            turn.tool_call_id,
            turn.name,
            [[part.provider, part.kind, part.data] for part in turn.parts],
            turn.metadata,
        ]
        for turn in window.all_turns()
    ]
    return blake2b(orjson.dumps(turns, default=thaw), digest_size=_DIGEST_BYTES).hexdigest()


@cache
def version() -> str:
    """Return the version of the package, "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415 - slow to import
    from importlib.metadata import version as version_of  # noqa: PLC0415

    try:
        return version_of("polycontext")
    except PackageNotFoundError:
        return ""


def _summariser_of(
    plan: Plan, taken: Iterable[GistJob], summariser: object
) -> tuple[str, Mapping[str, Any]]:
    """Return the name of what wrote the gists of a plan, of which the texts of `taken` were taken.

    The built-in one wrote what no other was asked for, and what replaced a rejected text.
    """
    if not plan.jobs:
        return "", EMPTY
    from polycontext.pressure import ExtractiveSummariser  # noqa: PLC0415 - only when compressing

    if type(summariser) is ExtractiveSummariser:
        return EXTRACTIVE, asdict(summariser)
    # A name, or none, comes with texts that were given: nothing was asked for them.
    is_named = summariser is None or isinstance(summariser, str)
    is_other = plan.is_native or any(
        job.kind.needs_words if is_named else ContextProjector.asks(summariser, plan, job)
        for job in taken
    )
    if not is_other:
        return EXTRACTIVE, EMPTY
    # A function is wrapped: its own name says more than that of the wrapper.
    said = getattr(summariser, "function", summariser)
    name = said if is_named else getattr(said, "__name__", type(said).__name__)
    is_free = isinstance(name, str) and name.isprintable() and name not in ("", EXTRACTIVE)
    return str(name) if is_free else UNKNOWN, EMPTY


def _own_query(plan: Plan) -> str | None:
    """Return the query that the caller gave; None if it follows from the conversation."""
    from polycontext.pressure import ranking  # noqa: PLC0415 - only when compressing

    is_given = plan.asked or (plan.query and plan.query != ranking.asked_by(plan.window))
    return plan.query if is_given else None
