"""Making compressions again from the log, and comparing them with what the journal has.

A gist of the built-in summariser follows from the log and the compression's origin. It is made
again and compared byte for byte, and the digests of the view are compared for every compression.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from attrs import evolve, frozen

from polycontext.base import PolycontextError
from polycontext.pressure import ContextProjector, Edit, ExtractiveSummariser
from polycontext.window import ContextWindow

from .codec import own_converter, to_json
from .conversation import Conversation, replayed
from .events import CompressEvent, EraseEvent, Event, is_erased
from .origin import EXTRACTIVE, Origin, digest_of, version
from .past import Past
from .receipts import receipt_id


class Verdict(StrEnum):
    """What the check of a compression found."""

    SAME = "same"
    """The views have the digests that were stored, and the gists can be made again."""
    SIGNED = "signed"
    """The views have the digests that were stored; a model or a caller wrote the gists."""
    OTHER_VERSION = "other version"
    """The same, but another version of the package made it, so it is not made again."""
    ERASED = "erased"
    """Words that it showed were erased since, and its digests with them."""
    UNSIGNED = "unsigned"
    """The journal is older than receipts: nothing was stored that it could be compared with."""
    DIFFERS = "differs"


@frozen
class Checked:
    """The result of checking one compression; `what` differs if the verdict is DIFFERS."""

    id: str
    verdict: Verdict
    what: str = ""

    def __str__(self) -> str:
        return f"{self.id}: {self.verdict}" + (f": {self.what}" if self.what else "")


def check_compressions(events: Iterable[Event], empty: Conversation) -> Iterator[Checked]:
    """Yield the result for each compression of a whole journal that changed the view, in order.

    `empty` is the conversation that the journal begins with.
    """
    events, stages = tuple(events), list[Conversation]()
    erased = max((n for n, each in enumerate(events, 1) if isinstance(each, EraseEvent)), default=0)
    for before, event, after in replayed(events, evolve(empty, past=Past())):
        stages.append(before)
        if isinstance(event, CompressEvent) and not event.edit.is_empty:
            yield _checked(stages, before, event, after, erased)


def _checked(
    stages: Sequence[Conversation],
    before: Conversation,
    event: CompressEvent,
    after: Conversation,
    erased: int,
) -> Checked:
    """Return the result for one compression, in a journal whose last erasure is event `erased`."""
    origin, verdict, what = event.origin, Verdict.SAME, ""
    if origin is None:
        verdict = Verdict.UNSIGNED
    elif origin.before is None or origin.after is None:
        verdict, what = Verdict.DIFFERS, "the digests"
        # An erasure removes both. A fork may begin before the event of one that it shows.
        was_erased = after.revision < erased or any(map(is_erased, after.log))
        if was_erased and origin.before is origin.after:
            verdict, what = Verdict.ERASED, ""
    elif digest_of(before.window) != origin.before:
        verdict, what = Verdict.DIFFERS, "the view before it"
    elif digest_of(after.window) != origin.after:
        verdict, what = Verdict.DIFFERS, "the view after it"
    elif origin.summariser not in ("", EXTRACTIVE):
        verdict = Verdict.SIGNED
    elif origin.version != version():
        verdict, what = Verdict.OTHER_VERSION, origin.version
    elif origin.summariser and not _is_made_again(stages, before, event, origin):
        verdict, what = Verdict.DIFFERS, "the gists, made again"
    return Checked(receipt_id(after.revision), verdict, what)


def _is_made_again(
    stages: Sequence[Conversation], before: Conversation, event: CompressEvent, origin: Origin
) -> bool:
    """Return whether a compression that is made again has the same edit, byte for byte."""
    stored = _bytes(event.edit)
    try:
        return any(
            stored == _bytes(made_again(planned, before.window, origin))
            for planned in _planned(stages, before, origin)
        )
    except (TypeError, ValueError, PolycontextError):
        return False  # an origin that no compression has, such as unknown options


def _planned(
    stages: Sequence[Conversation], before: Conversation, origin: Origin
) -> Iterator[Conversation]:
    """Yield the conversations that a compression may have been planned for.

    A background summary is planned for an earlier one, and the summariser may have read the turns
    that yielded before for another budget, or anew.
    """
    seen = set[int]()
    for stage in reversed(stages):
        if len(stage.window) < origin.planned or not before.window.extends(stage.window):
            return
        if len(stage.window) == origin.planned and stage.past.batches.length not in seen:
            seen.add(stage.past.batches.length)
            planned = stage.with_room(origin.room)
            yield planned
            yield evolve(planned, past=planned.past.unread())


def made_again(planned: Conversation, window: ContextWindow, origin: Origin) -> Edit:
    """Return the edit of a compression of `window` that was planned for an earlier conversation."""
    summariser = ExtractiveSummariser(**origin.options)
    projector = ContextProjector(summariser, origin.reach)
    plan = origin.plan_again(planned.window)
    fulfilment = projector.fulfil(plan, reading=planned.reading)
    # An extract of the job alone stands where a text was rejected.
    offers = [
        (None, "rejected") if number in origin.rejected else offer
        for number, offer in enumerate(fulfilment.offers)
    ]
    return projector.commit(window, evolve(fulfilment, offers=offers)).edit


def _bytes(edit: Edit) -> str:
    return to_json(own_converter().unstructure(edit))
