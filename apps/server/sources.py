"""The sources that a message may name: completion, preview and attachment (docs/attachments.md)."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, Protocol, TypeGuard

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.pills import (
    Completer,
    PillDocument,
    Resolvers,
    document_from_json,
    resolve_document,
)
from polycontext.pills.errors import CannotAttachError, PillError
from polycontext.pills.message import SourcedItem, items_of
from polycontext.pills.pill import Pill
from polycontext.pills.resolver import Candidate, Resolver, Source

MOST_PILLS = 64
"""The maximum number of pills in one message."""

MOST_OFFERED = 50
"""The maximum number of completions at once."""

MOST_SHOWN = 200_000
"""The maximum number of characters in a preview of a source."""

_SHARE = 20
"""Names are listed again after this many times the duration of the last listing, which limits it to
a twentieth of one processor."""

_SOONEST = 2.0
"""The minimum number of seconds before names are listed again."""

_log = logging.getLogger("polycontext.server")


class _Known(Resolver, Source, Protocol):
    """A resolver that also lists its names."""


class Sources:
    """Resolves and completes pills for every chat; slow work runs in a thread.

    A resolver with `entries` also offers completions. Names are listed on the first request and
    refreshed in the background on later ones.

    Law: only what a resolver returns is shown or attached, and the error of a caller's own resolver
    is not disclosed.
    """

    def __init__(self, resolvers: Iterable[Resolver] = ()) -> None:
        self._resolvers = Resolvers(resolvers)
        self._completer: Completer | None = None
        self._until = 0.0
        self._looking: asyncio.Task[None] | None = None

    @property
    def offers_names(self) -> bool:
        """Return whether a message can name anything."""
        return bool(self._resolvers.resolvers)

    async def completions(self, prefix: str, limit: int) -> list[dict[str, Any]]:
        """Return the completions of `prefix`, best first."""
        if self._looking is None or (self._looking.done() and monotonic() > self._until):
            self._looking = asyncio.create_task(self._look(), name="polycontext-names")
        if self._completer is None:
            # Shielded: the client may cancel this request by typing on, and others wait for the
            # same listing.
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
        """Return a preview of what `pill` names.

        Raises:
            PillError: the pill cannot be resolved.
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
            ExceptionGroup: holds a `PillError` for each pill that cannot be attached.
        """
        message = await asyncio.to_thread(resolve_document, document, self._resolvers)
        if message.problems:
            raise ExceptionGroup(
                "nothing was sent",
                [_public_error(each.pill, each.error) for each in message.problems],
            )
        return items_of(message)

    async def close(self) -> None:
        """Stop listing names."""
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

    The position of a pill may be missing or out of date, but its name must occur in the text.

    Raises:
        InvalidDataError: the content is invalid or blank, or does not contain a pill.
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
    """Return the pills that cannot be attached, with reasons; a `missing` source may have moved."""
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
    """Return the error to show; the error of a caller's own resolver is only logged."""
    if isinstance(error, PillError):
        return error
    _log.error("the resolver of %r failed: %s", pill.name, error)
    return CannotAttachError(pill.name, "cannot be had", "removing or updating the pill")


def _is_known(resolver: Resolver) -> TypeGuard[_Known]:
    return callable(getattr(resolver, "entries", None))
