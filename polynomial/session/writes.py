"""The writes of a session, each of them one event of its journal."""

from collections.abc import Iterable

from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.polynomial.errors import ContextOverflowError, illegal
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.journal import events as journal
from polycontext.polynomial.machine.transition import VALID_DIRECTIONS
from polycontext.polynomial.session.attaching import attaching_turn, class_of_item, held_attachment
from polycontext.polynomial.session.calls import as_tool_call
from polycontext.polynomial.session.core import Calls, SessionCore
from polycontext.polynomial.session.recall import recall_edit
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.pressure import Signals, apply_edit, pressure_of, tokens_at
from polycontext.window import ContextItem, Role, Turn


class SessionWrites(SessionCore):
    """Take turns in, compress, clear, recall and promote."""

    def add_system(
        self, content: str, *, resource_class: ResourceClass | None = None, expected_revision: int | None = None
    ) -> ContextOutput:
        """Add a system turn."""
        return self.add(Turn(Role.SYSTEM, content, timestamp=self._clock()), resource_class, expected_revision)

    def add_user_turn(
        self, content: str, *, name: str | None = None, resource_class: ResourceClass | None = None, expected_revision: int | None = None
    ) -> ContextOutput:
        """Add what the user says."""
        return self.add(Turn(Role.USER, content, name=name, timestamp=self._clock()), resource_class, expected_revision)

    def add_assistant_turn(
        self,
        content: str | None = None,
        tool_calls: Calls = (),
        *,
        resource_class: ResourceClass | None = None,
        expected_revision: int | None = None,
    ) -> ContextOutput:
        """Add what the model says and calls; calls are `ToolCall`s or a provider's own objects."""
        calls = tuple(as_tool_call(call) for call in tool_calls)
        turn = Turn(Role.ASSISTANT, content, tool_calls=calls, timestamp=self._clock())
        return self.add(turn, resource_class, expected_revision)

    def add_tool_turn(
        self,
        content: str,
        *,
        tool_call_id: str,
        name: str | None = None,
        resource_class: ResourceClass | None = None,
        expected_revision: int | None = None,
    ) -> ContextOutput:
        """Add the result of an open call."""
        turn = Turn(Role.TOOL, content, tool_call_id=tool_call_id, name=name, timestamp=self._clock())
        return self.add(turn, resource_class, expected_revision)

    def add(self, turn: Turn, resource_class: ResourceClass | None = None, expected_revision: int | None = None) -> ContextOutput:
        """Take any turn through the machine; with `auto`, make room first where needed.

        Raises:
            IllegalDirectionError: not legal in this state (ContextPressureError in PRESSURED without `auto`).
            OrderError: the wrong moment of a tool call.
            ContextOverflowError: could not fit even after compressing everything that may yield.
            ConflictError: `expected_revision` is not the current one.
        """
        with self._lock:
            self._check_revision(expected_revision)
            with self._all_or_nothing():
                output = self._put(ContextInput.of_turn(self._stamped(turn), resource_class))
                return self._compress(self.policy.projector.fulfil(self._plan())) if self.auto and self._must_yield() else output

    def attach(
        self,
        item: ContextItem,
        resource_class: ResourceClass | None = None,
        *,
        source: str | None = None,
        expected_revision: int | None = None,
    ) -> ContextOutput:
        """Add a context item as one user turn, REQUIRED by default; it yields to its outline and can be recalled.

        `source` says where it comes from, its file name and lines by default: attaching another text of the same
        source supersedes the earlier one, which then yields first. An item that stands in the view
        already (see `attached`) is not added again; a higher class raises that of its turn. An item whose id
        named another item in this conversation goes in under a fresh one.

        Raises:
            PluginError: the registered formatter of a custom kind failed.
            Whatever `add` raises for a user turn.
        """
        with self._lock:
            self._check_revision(expected_revision)
            held = self.attached(item, source=source)
            if held is not None:
                return self._pinned(held, resource_class)
            return self.add(attaching_turn(self._log, item, source), class_of_item(resource_class))

    def attached(self, item: ContextItem, *, source: str | None = None) -> Turn | None:
        """Return the turn of the view that holds `item` word for word, None where `attach` would add it."""
        return held_attachment(self.window, item, source)

    def compress(self, target: float | None = None, *, query: str | None = None, expected_revision: int | None = None) -> ContextOutput:
        """Compress to a target pressure (default: the threshold's low mark); the output reports what it did."""
        with self._lock:
            self._check_revision(expected_revision)
            self._check_direction(InputKind.COMPRESS)
            return self._compress(self.policy.projector.fulfil(self._plan(target), query=query))

    def clear(self, *, expected_revision: int | None = None) -> ContextOutput:
        """Forget the view; log and ledger keep all."""
        with self._lock:
            self._check_revision(expected_revision)
            with self._all_or_nothing():
                output = self._machine.advance(ContextInput.clear())
                self._events.append(journal.ClearEvent(output.state, self._clock()))
                return output

    def recall(self, resource_ids: Iterable[str], *, expected_revision: int | None = None) -> ContextOutput:
        """Raise atoms back to VERBATIM from the log; ids are those of any of their turns, or of a gist.

        Raises:
            UnknownResourceError: an id the log does not know.
            ContextOverflowError: the window would be pressured again at once.
            IllegalDirectionError: there is no view (EMPTY), or it is PRESSURED.
        """
        with self._lock:
            self._check_revision(expected_revision)
            if self.state in (ContextState.EMPTY, ContextState.PRESSURED):
                raise illegal(self.state, "recall", VALID_DIRECTIONS[self.state])
            edit = recall_edit(self.window, self._log, resource_ids)
            after = apply_edit(self.window, edit, compressed=False)
            high = self.policy.threshold.high(self.policy.signals)
            if edit.splices and pressure_of(after) > high:
                raise ContextOverflowError(after.tokens, tokens_at(high, after.max_tokens), "the view with what is recalled")
            return self._settle(journal.RecallEvent(self.state, edit, self._clock()), after) if edit.splices else self.output

    def promote(
        self, resource_id: str, resource_class: ResourceClass, *, rationale: str = "", expected_revision: int | None = None
    ) -> ContextOutput:
        """Raise the class of a turn; classes are never lowered.

        Raises:
            UnknownResourceError: no such id. DemotionError: the class is not higher.
        """
        with self._lock:
            self._check_revision(expected_revision)
            after = self.window.promote(resource_id, resource_class, rationale=rationale)
            return self._settle(journal.PromoteEvent(self.state, resource_id, resource_class, rationale, self._clock()), after)

    def signal(self, signals: Signals) -> None:
        """Tell the threshold how the task goes; the machine's guard asks it with these from now on."""
        with self._lock:
            self._machine.policy = evolve(self.policy, signals=signals)

    def _pinned(self, turn: Turn, resource_class: ResourceClass | None) -> ContextOutput:
        """Raise the class of a turn of the view where `resource_class` is higher."""
        if resource_class is None or resource_class <= self.window.class_of(turn):
            return self.output
        return self.promote(turn.resource_id, resource_class, rationale="attached again")
