"""Make room: at once, or in three steps between which the conversation may go on (docs/background.md)."""

from typing import TYPE_CHECKING, Any, Unpack

from attrs import evolve

from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.session.commands import Asked, Command, Commit, Compress
from polycontext.polynomial.session.decide import BY_HAND, planned
from polycontext.polynomial.session.kept import When
from polycontext.polynomial.session.options import check_arguments, require
from polycontext.polynomial.session.travelling import TravellingSession
from polycontext.polynomial.session.twins import awaiting
from polycontext.pressure import Fulfilment, Plan

if TYPE_CHECKING:
    from polycontext.polynomial.session.background import Background


class CompressingSession(TravellingSession):
    """Compress; or plan, have the words written elsewhere, and commit what came of it."""

    _background: "Background | None" = None
    """Made when it is first looked at, or first has something to do."""

    def compress(self, target: float | None = None, *, query: str | None = None, **when: Unpack[When]) -> ContextOutput:
        """Compress to a target pressure (default: 40 % of the free room, or the low mark where that is lower); the output reports what it did.

        Raises:
            FloorError: the projector's fulfilment would take an atom below the floor of its class.
            InvalidOptionError: `target` is no number from 0 to 1, `query` no text.
        """
        check_arguments(query=query)
        return self._write(Compress(target, query), **when)

    acompress = awaiting(compress)

    def plan(self, target: float | None = None, *, query: str | None = None, native: bool = False) -> Plan:
        """Return what compressing now would come to, and change nothing: `fulfil` has its words written, `commit` puts them in.

        With `native` a whole prefix yields, to a summary that the provider writes itself (docs/native-compaction.md).

        Raises:
            InvalidOptionError: `target` is no number from 0 to 1, `query` no text.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=400)
        >>> for number in range(3):
        ...     _ = session.add_user_turn(f"Shelf {number} holds " + "jars of plums, " * 12)
        >>> fulfilment = session.fulfil(session.plan(0.45), lambda turns, max_tokens: "Shelves 0 and 1 hold plums.")
        >>> _ = session.add_assistant_turn("Noted.")
        >>> session.commit(fulfilment).compression.reached, session.messages()[-1]["content"]
        (True, 'Noted.')
        """
        check_arguments(query=query)
        plan = planned(self.conversation.window, self.policy, target, query, BY_HAND)
        if not native:
            return plan
        from polycontext.pressure.native import prefix_plan  # noqa: PLC0415 - for those who let a provider write

        return prefix_plan(plan.window, plan.tokens_wanted, self.policy.projector.reach)

    def fulfil(self, plan: Plan, summariser: Any = None) -> Fulfilment:
        """Have the words of a plan written by the session's summariser, or another one (docs/summarisers.md); nothing changes, and others may write meanwhile.

        What has a `fulfil` of its own, such as a provider's compaction, is asked for the whole fulfilment. A summariser that fails costs its
        own gist: what it raised is in the fulfilment.

        Raises:
            InvalidOptionError: no plan, or nothing that can summarise.
        """
        fulfilled: Fulfilment = self._fulfiller(plan, summariser, "fulfil").fulfil(plan, reading=self.conversation.reading)
        return fulfilled

    async def afulfil(self, plan: Plan, summariser: Any = None) -> Fulfilment:
        """Have the words of a plan written without blocking; see `fulfil`."""
        fulfilled: Fulfilment = await self._fulfiller(plan, summariser, "afulfil").afulfil(plan, reading=self.conversation.reading)
        return fulfilled

    def commit(self, fulfilment: Fulfilment, *, fallback: bool = False, **when: Unpack[When]) -> ContextOutput:
        """Put in what was made of a plan. Turns that came since the plan stand behind it, untouched.

        Where an answer is empty, no text, as long as what it stands for or longer than its allowance, nothing happens and the output says in
        `refused` why; with `fallback` an extract stands in its place.

        Raises:
            ConflictError: anything else happened to the turns that were planned on: they yielded, came back, or one was raised to a higher class.
            InvalidOptionError: no fulfilment.
        """
        return self._write(_commit(fulfilment, fallback), **when)

    acommit = awaiting(commit)

    @property
    def background(self) -> "Background":
        """Return what is written in the background: whether anything is, and what became of it."""
        if self._background is None:
            from polycontext.polynomial.session.background import Background  # noqa: PLC0415 - for those who have it

            self._background = Background(self)  # pyright: ignore[reportArgumentType] - it sees this module twice
        return self._background

    def close(self) -> None:
        """Let go of the store if this session has opened it, and of what is written in the background; twice is once. What was read stays readable."""
        if self._background is not None:
            self._background.cancel()
        super().close()

    def _fulfiller(self, plan: Plan, summariser: Any, method: str) -> Any:
        require("plan", plan, isinstance(plan, Plan), "what session.plan() returned")
        if callable(getattr(summariser, method, None)):
            return summariser
        projector = self.policy.projector
        return projector if summariser is None else evolve(projector, summariser=summariser)

    def _asked(self, command: Command, key: str | None = None) -> Asked:
        asked = super()._asked(command, key)
        return asked if self._background is None else evolve(asked, ready=self._background.ready)

    def _write(self, command: Command, **when: Any) -> ContextOutput:
        output = super()._write(command, **when)
        if self.policy.background:
            self.background.after(output)
        return output

    async def _awrite(self, command: Command, **when: Any) -> ContextOutput:
        output = await super()._awrite(command, **when)
        if self.policy.background:
            await self.background.aafter(output)
        return output


def _commit(fulfilment: Fulfilment, fallback: bool) -> Commit:  # noqa: FBT001 - as it was given
    require("fulfilment", fulfilment, isinstance(fulfilment, Fulfilment), "what session.fulfil() returned, or Fulfilment.of(plan, text)")
    return Commit(fulfilment, fallback)
