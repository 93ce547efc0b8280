"""Follow a conversation that is kept elsewhere, and hand out the view of it: what adapters of agent frameworks are made on (docs/adapters.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.session.compressing import CompressingSession
from polycontext.polynomial.session.writer import TRIES
from polycontext.pressure import ConflictError
from polycontext.window import Turn

if TYPE_CHECKING:
    from polycontext.polynomial.session.followed import Pair, Seen


class SyncingSession(CompressingSession):
    """Take in what is new of a list that grows elsewhere, and say which of it a model is to see."""

    _handles: "dict[str, Pair] | None" = None
    """By the id of each turn: the turn as it came, and the object that it came as. They are not kept with the session."""

    def sync(
        self, turns: Iterable[Turn], handles: Iterable[object] | None = None, *, repair: bool = True, rewind: bool = True
    ) -> ContextOutput:
        """Make the conversation that of `turns`, all of them, from the first on; `handles` are the objects that they came as, one for each.

        What follows the longest common beginning is added as one commit. Where the conversation has gone on otherwise (an edited message,
        an answer taken back), it is rewound to there first: the journal keeps both. Given the same turns again, nothing happens. Turns are
        compared by what they say and carry; ids, times and metadata are their keeper's own.

        With `repair`, calls without results are closed by marked ones, results of no call are left out, and where the assistant is first, the
        user opens; without, they are refused. What the user says and does not fit is cut in the view. Without `rewind`, a conversation that has
        gone on otherwise is another one, and left as it is.

        Raises:
            ConflictError: it would have to be rewound, and `rewind` is False.
            InvalidOptionError: not as many handles as turns. InvalidTurnError: no turn.
            OrderError: without `repair`, the wrong moment of a call. ContextOverflowError: system turns that leave no room.

        >>> from polycontext import ContextSession, Turn
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.sync([Turn("user", "Red or blue?"), Turn("assistant", "Red.")])
        >>> _ = session.sync([Turn("user", "Red or blue?"), Turn("assistant", "Blue.")])
        >>> [turn.text for turn in session.log()]
        ['Red or blue?', 'Blue.']
        """
        from polycontext.polynomial.session.followed import becoming, handled, pairs_of  # noqa: PLC0415 - for those who are elsewhere, too

        pairs = pairs_of(turns, handles, repair=repair)
        for _ in range(TRIES):
            base, output = self.revision, self.output
            command = becoming(self, pairs, rewind=rewind)
            try:
                output = output if command is None else self._write(command, expected_revision=base)
            except ConflictError:
                continue
            self._handles = handled(self.conversation.log, pairs)
            return output
        raise self._writer.outrun()

    def view(self, *, reserve: int = 0, tools: Sequence[Mapping[str, Any]] | None = (), system: str | None = None) -> "tuple[Seen, ...]":
        """Return what a model is to see: the turns that stand, as the objects that they came as, and gists in the place of the others.

        It is valid and fits beside what this request needs besides: `reserve` tokens for the reply, `tools`, and a `system` prompt that is no
        turn. What the session keeps free for the reply and its tools anyway counts once. Where it does not fit, it is compressed first. Asked
        again, it is the same. What is handed out is a request, as that of `messages`: `reported` learns from what the provider says of it.

        Raises:
            ContextOverflowError: not even with everything yielded that may. InvalidOptionError: what cannot be.
        """
        from polycontext.polynomial.session.followed import making_room, needed, seen  # noqa: PLC0415 - as above

        for _ in range(TRIES):
            needs = needed(self, reserve, tools, system)
            command = making_room(self, needs)
            if command is None:
                self._delivery.handed_out(self.window, needs.sent)
                return seen(self, self._handles or {})
            self._write(command)
        raise self._writer.outrun()

    # --- for tasks ---------------------------------------------------------------------

    # Its twin is no `async`: that is a word of the language.
    async def asynced(
        self, turns: Iterable[Turn], handles: Iterable[object] | None = None, *, repair: bool = True, rewind: bool = True
    ) -> ContextOutput:
        """Make the conversation that of `turns` without blocking; see `sync`."""
        from polycontext.polynomial.session.followed import becoming, handled, pairs_of  # noqa: PLC0415 - as above

        pairs = pairs_of(turns, handles, repair=repair)
        for _ in range(TRIES):
            base, output = self.revision, self.output
            command = becoming(self, pairs, rewind=rewind)
            try:
                output = output if command is None else await self._awrite(command, expected_revision=base)
            except ConflictError:
                continue
            self._handles = handled(self.conversation.log, pairs)
            return output
        raise self._writer.outrun()

    async def aview(
        self, *, reserve: int = 0, tools: Sequence[Mapping[str, Any]] | None = (), system: str | None = None
    ) -> "tuple[Seen, ...]":
        """Return what a model is to see without blocking; see `view`."""
        from polycontext.polynomial.session.followed import making_room, needed, seen  # noqa: PLC0415 - as above

        for _ in range(TRIES):
            needs = needed(self, reserve, tools, system)
            command = making_room(self, needs)
            if command is None:
                self._delivery.handed_out(self.window, needs.sent)
                return seen(self, self._handles or {})
            await self._awrite(command)
        raise self._writer.outrun()
