"""What a message may name: completed while it is typed, looked at, and fetched when it is sent (docs/attachments.md)."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, Protocol, TypeGuard

from polycontext.linearity import InvalidDataError, PolycontextError
from polycontext.nodes import SourcedItem, items_of
from polycontext.window import PillDocument
from polycontext.window.pills import (
    Candidate,
    CannotAttachError,
    Completer,
    Pill,
    PillError,
    Resolver,
    Resolvers,
    Source,
    document_from_json,
    resolve_document,
)

MOST_PILLS = 64
"""Of one message."""

MOST_OFFERED = 50
"""Candidates at once."""

MOST_SHOWN = 200_000
"""Characters of a source that a page is given to look at, whatever its resolver gives."""

_SHARE = 20
"""Names are looked for anew after this many times as long as it took: it may cost a twentieth of
one processor."""

_SOONEST = 2.0
"""Seconds for which names are believed at least."""

_log = logging.getLogger("polycontext.server")


class _Known(Resolver, Source, Protocol):
    """Stand for a resolver that also knows which names there are."""


class Sources:
    """Resolve and complete pills for every chat; what takes time runs in a thread.

    A resolver with `entries` is completed as well. Names are looked for when they are first asked
    for, and anew behind the back of whoever asks later.

    Law: nothing is shown or attached but what a resolver gives, and what a resolver of the caller's
    own says when it fails is kept back.
    """

    def __init__(self, resolvers: Iterable[Resolver] = ()) -> None:
        self._resolvers = Resolvers(resolvers)
        self._completer: Completer | None = None
        self._until = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def completions(self, prefix: str, limit: int) -> list[dict[str, Any]]:
        """Return what `prefix` may stand for, the best first."""
        if self._looking is None or (self._looking.done() and monotonic() > self._until):
            self._looking = asyncio.create_task(self._look(), name="polycontext-names")
        if self._completer is None:
            # Shielded: whoever types on lets go of this question, and others wait for the same
            # answer.
            await asyncio.shield(self._looking)
        if self._completer is None:
            return []
        found: Sequence[Candidate] = await asyncio.to_thread(
            self._completer.candidates, prefix, limit=limit
        )
        return [
            {"name": each.name, "type": each.type.value, "detail": each.detail} for each in found
        ]

    async def shown(self, pill: Pill) -> dict[str, Any]:
        """Return what `pill` names, to be looked at.

        Raises:
            PillError: as its resolver says.
        """
        try:
            found = await asyncio.to_thread(self._resolvers.resolve, pill)
        except PolycontextError as error:
            raise _public_error(pill, error) from error
        return {
            "name": found.name,
            "type": found.type.value,
            "content": found.content[:MOST_SHOWN],
            "path": found.path,
            "startLine": found.start_line,
            "notice": found.notice,
        }

    async def attached(self, document: PillDocument) -> list[SourcedItem]:
        """Return what the pills of `document` name, as items to attach.

        Raises:
            ExceptionGroup: of a `PillError` for each pill that cannot be attached.
        """
        message = await asyncio.to_thread(resolve_document, document, self._resolvers)
        if message.problems:
            raise ExceptionGroup(
                "nothing was sent",
                [_public_error(each.pill, each.error) for each in message.problems],
            )
        return items_of(message)

    async def close(self) -> None:
        """Look for no more names."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})

    async def _look(self) -> None:
        began, completer = (
            monotonic(),
            Completer([each for each in self._resolvers if _is_known(each)]),
        )
        try:
            await asyncio.to_thread(completer.candidates, "")
            self._completer = completer
        except Exception:  # noqa: BLE001 - a source of the caller's own may raise anything
            _log.exception("no names to complete")
        now = monotonic()
        self._until = now + max(_SOONEST, _SHARE * (now - began))


def document_of(content: str, pills: Sequence[Any]) -> PillDocument:
    """Return the document of a message.

    Where each pill stands may be left out or out of date, but it must be written there.

    Raises:
        InvalidDataError: no document, nothing but blanks, or a pill that stands nowhere in the
            text.
    """
    if not content.strip():
        raise InvalidDataError("$.content", "is empty", "the user's text")
    document = document_from_json({"text": content, "pills": pills}, recover=True)
    for index, pill in enumerate(pills):
        if pill["name"] not in document.context:
            raise InvalidDataError(
                f"$.pills[{index}]",
                f"[@{pill['name']}] does not stand in the content",
                "pills that are written there",
            )
    return document


def refusal(errors: Iterable[PillError]) -> dict[str, Any]:
    """Return which pills cannot be attached, and why; what is `missing` may be elsewhere by now."""
    told = [
        (error.name, str(error), isinstance(error, CannotAttachError) and error.is_missing)
        for error in errors
    ]
    return {
        "detail": "; ".join(f"[@{name}]: {problem}" for name, problem, _ in told),
        "pills": [
            {"name": name, "problem": problem, "missing": missing}
            for name, problem, missing in told
        ],
    }


def _public_error(pill: Pill, error: PolycontextError) -> PillError:
    """Return what may be told: a resolver of the caller's own that failed may have named what is nobody's business."""
    if isinstance(error, PillError):
        return error
    _log.error("the resolver of %r failed: %s", pill.name, error)
    return CannotAttachError(pill.name, "cannot be had", "removing or updating the pill")


def _is_known(resolver: Resolver) -> TypeGuard[_Known]:
    return callable(getattr(resolver, "entries", None))
