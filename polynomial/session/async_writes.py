"""The async twins of a session's writes: the same, without blocking on a summariser."""

from collections.abc import Iterable
from typing import Any

from polycontext.linearity import ResourceClass
from polycontext.polynomial.errors import ContextOverflowError
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.session.attaching import attaching_turn, class_of_item
from polycontext.polynomial.session.calls import as_tool_call
from polycontext.polynomial.session.core import Calls, Mark
from polycontext.polynomial.session.writes import SessionWrites
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.window import ContextItem, Role, Turn


class AsyncWrites(SessionWrites):
    """Write from tasks; tasks of one event loop take turns, threads are held off by the session's lock."""

    async def aadd(self, turn: Turn, resource_class: ResourceClass | None = None, expected_revision: int | None = None) -> ContextOutput:
        """Take any turn through the machine without blocking on the summariser; raises what `add` raises, and changes nothing then."""
        async with self._one_task():
            return await self._aadd(turn, resource_class, expected_revision)

    async def aadd_system(self, content: str, **options: Any) -> ContextOutput:
        """Add a system turn; see `add_system`."""
        return await self.aadd(Turn(Role.SYSTEM, content), **options)

    async def aadd_user_turn(self, content: str, *, name: str | None = None, **options: Any) -> ContextOutput:
        """Add what the user says; see `add_user_turn`."""
        return await self.aadd(Turn(Role.USER, content, name=name), **options)

    async def aadd_assistant_turn(self, content: str | None = None, tool_calls: Calls = (), **options: Any) -> ContextOutput:
        """Add what the model says and calls; see `add_assistant_turn`."""
        calls = tuple(as_tool_call(call) for call in tool_calls)
        return await self.aadd(Turn(Role.ASSISTANT, content, tool_calls=calls), **options)

    async def aadd_tool_turn(self, content: str, *, tool_call_id: str, name: str | None = None, **options: Any) -> ContextOutput:
        """Add the result of an open call; see `add_tool_turn`."""
        return await self.aadd(Turn(Role.TOOL, content, tool_call_id=tool_call_id, name=name), **options)

    async def aattach(
        self,
        item: ContextItem,
        resource_class: ResourceClass | None = None,
        *,
        source: str | None = None,
        expected_revision: int | None = None,
    ) -> ContextOutput:
        """Add a context item as one user turn; see `attach`."""
        async with self._one_task():
            self._check_revision(expected_revision)
            held = self.attached(item, source=source)
            if held is not None:
                return self._pinned(held, resource_class)
            return await self._aadd(attaching_turn(self._log, item, source), class_of_item(resource_class), expected_revision)

    async def acompress(
        self, target: float | None = None, *, query: str | None = None, expected_revision: int | None = None
    ) -> ContextOutput:
        """Compress without blocking: plan, await the summaries, commit.

        Raises:
            ConflictError: `expected_revision` is not the current one, or another writer changed the window
                meanwhile; nothing changed here.
        """
        async with self._one_task():
            self._check_revision(expected_revision)
            return await self._acompress(target, query)

    async def aclear(self, *, expected_revision: int | None = None) -> ContextOutput:
        """Forget the view; see `clear`."""
        async with self._one_task():
            return self.clear(expected_revision=expected_revision)

    async def arecall(self, resource_ids: Iterable[str], *, expected_revision: int | None = None) -> ContextOutput:
        """Raise atoms back to VERBATIM; see `recall`."""
        async with self._one_task():
            return self.recall(resource_ids, expected_revision=expected_revision)

    async def _aadd(self, turn: Turn, resource_class: ResourceClass | None, expected_revision: int | None) -> ContextOutput:
        """Do what `add` does, while no other task writes."""
        mark, output = await self._aput(ContextInput.of_turn(self._stamped(turn), resource_class), expected_revision)
        if not (self.auto and self._must_yield()):
            return output
        revision = self.revision
        try:
            return await self._acompress(None, None)
        except BaseException as error:
            with self._lock:
                if self.revision == revision:
                    self._back_to(mark)
                elif isinstance(error, Exception):
                    # Somebody went on from this turn meanwhile: it stays, and making room is theirs.
                    return self.output
            raise

    async def _aput(self, context_input: ContextInput, expected_revision: int | None) -> tuple[Mark, ContextOutput]:
        """Do what `_put` does; return what stood before as well."""
        self._check_revision(expected_revision)
        if not (self.auto and self.state is ContextState.PRESSURED):
            with self._lock:
                return self._mark(), self._append(context_input)
        self.window.check_order(context_input.turn)
        afulfil = self.policy.projector.afulfil
        try:
            return self._put_after(await afulfil(self._plan()), context_input)
        except ContextOverflowError:
            return self._put_after(await afulfil(self._plan(0.0)), context_input)

    async def _acompress(self, target: float | None, query: str | None) -> ContextOutput:
        self._check_direction(InputKind.COMPRESS)
        fulfilment = await self.policy.projector.afulfil(self._plan(target), query=query)
        with self._lock:
            return self._compress(fulfilment)
