"""Receipts: what each compression of a session took, and what became of every turn.

A receipt is derived from the journal. What the journal's edits do not tell, such as the policy and
the duration, is written with the compression (`Origin`); a journal of before 2026-11-29 has none of
that, and its receipts are partly derived.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from polycontext.base import UnknownNameError, require
from polycontext.pressure import Edit, Reach, SummaryUsage, is_summary, notes, why_each_stays
from polycontext.pressure.gist import is_pointer, source_ids
from polycontext.window import ContextWindow, Turn

from .codec import own_converter
from .conversation import Conversation
from .events import CompressEvent, Event
from .log import Log
from .origin import CachedTokens, Origin, digest_of
from .timeline import count_by_class

SCHEMA_FILE = "compression_receipt.schema.json"
_SHOWN = 9
"""How many ids an error lists."""


class Fate(StrEnum):
    """What a compression did to an atom."""

    KEPT = "kept"
    BARED = "bared"
    """Kept without its images and other parts."""
    TRUNCATED = "truncated"
    SUPERSEDED = "superseded"
    """A line stands for it, which points to the current result or attachment."""
    SUMMARISED = "summarised"
    DROPPED = "dropped"


@frozen
class AtomReceipt:
    """What became of one atom of the view.

    `tokens` are those before. `why` is why it was kept, or what it was when it yielded. `gist` is
    the id of the turn that stands for it, and `lines` are the lines of that turn's text (from 1)
    that come from it; only `History.receipt` finds them.
    """

    turns: tuple[str, ...]
    resource_class: str
    tokens: int
    fate: Fate
    why: str
    gist: str | None = None
    lines: tuple[int, ...] = ()


@frozen
class ViewReceipt:
    """A view: the ids of its turns in order, a digest of their content, and its tokens by class."""

    turns: tuple[str, ...]
    digest: str
    tokens: int
    by_class: Mapping[str, int]

    @classmethod
    def of(cls, window: ContextWindow) -> "ViewReceipt":
        """Return the receipt of a window."""
        turns = window.all_turns()
        ids = tuple(turn.resource_id for turn in turns)
        by_class = {each.name: tokens for each, tokens in count_by_class(window).items()}
        return cls(ids, digest_of(window), window.total_tokens, by_class)


@frozen
class PolicyReceipt:
    """The policy of a compression: the budget, the tokens wanted afterwards, and the options."""

    version: str
    max_tokens: int
    wanted: int
    reach: Reach


@frozen
class SummariserReceipt:
    """What wrote the gists: its name, the seconds it took, and its model calls, if any.

    `rejected` is the number of its texts that extracts replaced.
    """

    name: str
    seconds: float | None = None
    rejected: int = 0
    usage: SummaryUsage | None = None


@frozen
class CompressionReceipt:
    """What one compression did to the view (docs/history.md).

    It contains no text of the conversation.

    Attributes:
        id: the name of the compression in its session, such as ``"c12"``.
        revision: the revision that it led to.
        at: when it happened.
        before: the view before it.
        after: the view after it.
        atoms: what became of each atom of the view before, in order.
        rules: the ids of the rules of the user that stood.
        is_native: whether a provider wrote the summary itself.
        came: how many turns of the view came after it was planned; they are kept.
        is_partial: whether the journal is older than receipts: then it is partly derived, and
            `policy` and `summariser` are None.
        policy: the options under which it was planned.
        summariser: what wrote the gists; None if there were none to write.
        cached_before: the cached tokens that the provider reported for the last request of the
            epoch that it ended, as far as they are known.
        cached_after: those of the first request of the epoch that it began.
        stands: whether the view is still based on it: it was not undone, rewound or cleared.
    """

    id: str
    revision: int
    at: datetime
    before: ViewReceipt
    after: ViewReceipt
    atoms: tuple[AtomReceipt, ...]
    rules: tuple[str, ...] = ()
    is_native: bool = False
    came: int = 0
    is_partial: bool = False
    policy: PolicyReceipt | None = None
    summariser: SummariserReceipt | None = None
    cached_before: int | None = None
    cached_after: int | None = None
    stands: bool = field(default=True)

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data, as `receipt_schema` describes it."""
        data: dict[str, Any] = own_converter().unstructure(self)
        return data

    def __str__(self) -> str:
        fates = [atom.fate for atom in self.atoms]
        told = ", ".join(f"{fates.count(fate)} {fate}" for fate in Fate if fate in fates)
        return f"{self.id}: {self.before.tokens} -> {self.after.tokens} tokens; atoms: {told}"


@cache
def receipt_schema() -> Mapping[str, Any]:
    """Return the JSON Schema of a receipt that the package ships (docs/history.md)."""
    file = Path(__file__).with_name(SCHEMA_FILE)
    schema: Mapping[str, Any] = json.loads(file.read_bytes())
    return schema


def receipt_id(revision: int) -> str:
    """Return the id of the compression that led to `revision`."""
    return f"c{revision}"


def cached_in(event: Event) -> tuple[CachedTokens, ...]:
    """Return the cached tokens that an event has recorded."""
    origin = event.origin if isinstance(event, CompressEvent) else None
    return () if origin is None else origin.cached


def merged(cached: Iterable[CachedTokens]) -> tuple[CachedTokens, ...]:
    """Return one entry for each epoch: the first request of its first, and the last of its last.

    >>> merged([CachedTokens(1, 5, 5), CachedTokens(2, 0, 0), CachedTokens(1, 9, 7)])
    (CachedTokens(epoch=1, first=5, last=7), CachedTokens(epoch=2, first=0, last=0))
    """
    found = dict[int, CachedTokens]()
    for each in cached:
        found[each.epoch] = evolve(found.get(each.epoch, each), last=each.last)
    return tuple(found.values())


def number_of(events: Sequence[Event], key: str | None) -> int:
    """Return the number of the event of a compression, by the id of its receipt; None for the last.

    Raises:
        InvalidOptionError: `key` is not a text.
        UnknownNameError: there is no such compression; the message names the last ones.
    """
    known = {receipt_id(number): number for number in compressions(events)}
    if key is None:
        key = next(reversed(known), "the last one")
    require("id", key, isinstance(key, str), "the id of a receipt, such as 'c12'")
    if key not in known:
        advice = "" if known else "The session was never compressed."
        raise UnknownNameError("receipt", key, tuple(known)[-_SHOWN:], advice=advice)
    return known[key]


def compressions(events: Iterable[Event], after: int = 0) -> dict[int, CompressEvent]:
    """Return the compressions that changed the view, by the numbers of their events.

    The events follow revision `after`.
    """
    numbered = enumerate(events, after + 1)
    return {
        number: event
        for number, event in numbered
        if isinstance(event, CompressEvent) and not event.edit.is_empty
    }


def receipt_of(
    before: Conversation,
    event: CompressEvent,
    after: Conversation,
    cached: Iterable[CachedTokens] = (),
    *,
    stands: bool = True,
    in_lines: bool = False,
) -> CompressionReceipt:
    """Return the receipt of a compression between two conversations; O(view).

    With `in_lines`, it also reads the turns that went into a summary, for the lines of atoms.
    """
    origin, window = event.origin, before.window
    known = {each.epoch: each for each in merged(cached)}
    last, first = (known.get(each.window.epoch.number) for each in (before, after))
    return CompressionReceipt(
        receipt_id(after.revision),
        after.revision,
        event.at,
        ViewReceipt.of(window),
        ViewReceipt.of(after.window),
        tuple(_atoms(window, event.edit, origin, before.log if in_lines else None)),
        tuple(rule.id for rule in window.rules.standing),
        any(turn.native_providers for turn in event.turns),
        0 if origin is None else len(window) - origin.planned,
        origin is None,
        None if origin is None else _policy_of(origin),
        None if origin is None or not origin.summariser else _summariser_of(origin),
        None if last is None else last.last,
        None if first is None else first.first,
        stands,
    )


def _policy_of(origin: Origin) -> PolicyReceipt:
    return PolicyReceipt(origin.version, origin.room, origin.wanted, origin.reach)


def _summariser_of(origin: Origin) -> SummariserReceipt:
    refused = len(origin.rejected)
    return SummariserReceipt(origin.summariser, origin.seconds, refused, origin.usage)


# --- what became of each atom -----------------------------------------------------------


def _atoms(
    window: ContextWindow, edit: Edit, origin: Origin | None, log: Log | None
) -> Iterator[AtomReceipt]:
    """Yield what an edit does to each atom of the window that it is about to change."""
    turns, gists = window.all_turns(), dict(_gists(window, edit))
    lines = {} if log is None else _lines(turns, gists, log)
    bared, dropped = frozenset(edit.bared), frozenset(edit.dropped)
    reach = Reach() if origin is None else origin.reach
    for places, reason in why_each_stays(window, reach, _asked(window, origin)):
        atom = [turns[place] for place in places]
        ids = tuple(turn.resource_id for turn in atom)
        gist = next((gists[each] for each in ids if each in gists), None)
        fate, why = (
            Fate.KEPT if bared.isdisjoint(ids) else Fate.BARED,
            reason.removesuffix(", whole"),
        )
        if not dropped.isdisjoint(ids):
            fate, why = Fate.DROPPED, "droppable"
        elif gist is not None:
            fate = _fate_in(gist)
        yield AtomReceipt(
            ids,
            max(window.linearity.classes_of(ids)).name,
            sum(turn.tokens or 0 for turn in atom),
            fate,
            why,
            None if gist is None else gist.resource_id,
            tuple(sorted({number for each in ids for number in lines.get(each, ())})),
        )


def _fate_in(gist: Turn) -> Fate:
    if is_pointer(gist):
        return Fate.SUPERSEDED
    return Fate.SUMMARISED if is_summary(gist) else Fate.TRUNCATED


def _gists(window: ContextWindow, edit: Edit) -> Iterator[tuple[str, Turn]]:
    """Yield the ids of the turns that an edit replaces, each with the gist that stands for it."""
    turns, stays = window.all_turns(), {*edit.dropped, *edit.again}
    whole = [turn for splice in edit.splices for turn in splice.turns if is_summary(turn)]
    for splice in edit.splices:
        for turn in turns[splice.start : splice.stop]:
            if turn.resource_id in stays:
                continue
            # A truncated turn has its own line; all others are in a summary, which may stand
            # elsewhere in the view.
            behind = source_ids(turn)[0]
            own = (each for each in (*splice.turns, *whole) if behind in each.sources)
            if (gist := next(own, None)) is not None:
                yield turn.resource_id, gist


def _lines(turns: Sequence[Turn], gists: Mapping[str, Turn], log: Log) -> dict[str, list[int]]:
    """Return the numbers of the lines of summaries that come from each turn, by its id.

    A line of an earlier gist comes from its turns, as far as the log has their words.
    """
    found = dict[str, list[int]]()
    for gist in {each.resource_id: each for each in gists.values()}.values():
        if not is_summary(gist):
            continue
        told = [turn for turn in turns if gists.get(turn.resource_id) is gist]
        owner = {each: turn.resource_id for turn in told for each in source_ids(turn)}
        known = [*filter(None, map(log.get, owner))]
        lines = gist.text.split("\n")
        for number, sources in enumerate(notes.find_sources_of_all(lines, known), 1):
            for source in sources:
                found.setdefault(owner[source.resource_id], []).append(number)
    return found


def _asked(window: ContextWindow, origin: Origin | None) -> frozenset[int]:
    """Return the atoms that the caller's query kept."""
    if origin is None or origin.query is None:
        return frozenset()
    return origin.plan_again(window).asked
