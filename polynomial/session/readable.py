"""What anybody may ask of a session: reading never changes anything and never waits."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.polynomial.journal.events import CompressEvent, Event
from polycontext.polynomial.machine.context_machine import ContextMachine
from polycontext.polynomial.machine.step import ContextPolicy
from polycontext.polynomial.session.decide import held_attachment
from polycontext.polynomial.session.writer import Writer
from polycontext.polynomial.state import ContextState
from polycontext.pressure import pressure_of
from polycontext.window import ContextItem, ContextWindow, Epoch, ToolCall, Turn

if TYPE_CHECKING:
    from polycontext.polynomial.session.looking import Explained
    from polycontext.polynomial.session.paths import ContextPath
    from polycontext.polynomial.session.plugins import PromptMaker


class ReadableSession:
    """Answer what readers ask, from the value that the session is now."""

    _writer: Writer

    def __repr__(self) -> str:
        conversation, window = self.conversation, self.window
        told = f"{len(window)} turns, {window.total_tokens} of {window.max_tokens} tokens, {len(conversation.log)} in the log"
        return f"ContextSession({self._writer.session_id!r}, {conversation.state.name}, {told})"

    @property
    def conversation(self) -> Conversation:
        """Return the whole session as one immutable value."""
        return self._writer.conversation

    @property
    def state(self) -> ContextState:
        """Return the machine's state."""
        return self.conversation.state

    @property
    def window(self) -> ContextWindow:
        """Return the window, focused on the last turn; immutable."""
        return self.conversation.window

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls of the last atom that have no result yet, in their order: what a writer left that is gone.

        Make them again, or end them by `close_open_calls`.
        """
        waiting, turns = self.window.open_calls, self.window.all_turns()
        calls = next((turn.tool_calls for turn in reversed(turns) if turn.tool_calls), ()) if waiting else ()
        return tuple(call for call in calls if call.id in waiting)

    @property
    def pressure(self) -> float:
        """Return tokens used / max tokens of the window."""
        return pressure_of(self.conversation.window)

    @property
    def epoch(self) -> Epoch:
        """Return since when requests only grow: its number, and what the change that began it took."""
        return self.window.epoch

    @property
    def revision(self) -> int:
        """Return how many events the journal holds."""
        return self.conversation.revision

    @property
    def output(self) -> ContextOutput:
        """Return what readers consume: window and state now."""
        conversation = self.conversation
        return ContextOutput(conversation.window, conversation.state)

    @property
    def policy(self) -> ContextPolicy:
        """Return what guards and actions call."""
        return self._writer.policy

    @property
    def auto(self) -> bool:
        """Tell whether the session makes room by itself."""
        return self.policy.auto

    @property
    def machine(self) -> ContextMachine:
        """Return the live machine, made when it is first looked at: it takes every step that is stored.

        Listeners of python-statemachine may be added to it; one that fails is logged and changes nothing.

        Raises:
            EngineError: it did something else than the table, by which the session goes.
        """
        return self._writer.machine

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """Return the journal behind revision `after`: every accepted input with its effects, in order."""
        revision = self.revision
        events = self._writer.store.load(self._writer.session_id, after).events
        if any(isinstance(event, CompressEvent) and event.is_told for event in events):
            from polycontext.polynomial.journal.named_sources import with_sources  # noqa: PLC0415 - for what was read from a file

            events = tuple(with_sources(self._writer.store.load(self._writer.session_id).events))[after:]
        return tuple(events[: max(0, revision - after)])

    def log(self) -> tuple[Turn, ...]:
        """Return every turn ever accepted, in order, whatever became of it in the view."""
        return tuple(self.conversation.log)

    def search(self, text: str, limit: int = 10) -> tuple[Turn, ...]:
        """Return the turns of the log that speak most of `text`, best first, at most `limit`; `recall` takes their ids. O(log)."""
        from polycontext.polynomial.session.looking import searched  # noqa: PLC0415 - for those who ask

        return searched(self.conversation.log, text, limit)

    def explain(self, resource_id: str) -> "Explained":
        """Return what became of a turn: its class, who gave it, why and when; where it is, and what stands for it. O(journal).

        Raises:
            UnknownResourceError: no turn of this conversation has the id.
        """
        from polycontext.polynomial.session.looking import explained  # noqa: PLC0415 - for those who ask

        return explained(self.conversation, self.events(), resource_id)

    def trace(self, line: str) -> tuple[str, ...]:
        """Return the ids of the turns that a line of an extractive gist is from, in the order of the log; `recall` takes them. O(log).

        As few turns as say all of its pieces between "…"; none where nobody said one of them, as in a model's own words.

        Raises:
            InvalidOptionError: `line` is no text.
        """
        from polycontext.polynomial.session.looking import traced_ids  # noqa: PLC0415 - for those who ask

        return traced_ids(self.conversation.log, line)

    def attached(self, item: ContextItem, *, source: str | None = None) -> Turn | None:
        """Return the turn of the view that holds `item` word for word, None where `attach` would add it."""
        return held_attachment(self.window, item, source)

    def paths(self, under: str = "self.context") -> "tuple[ContextPath, ...]":
        """Return what `invoke` knows at or below a path: names, what each takes and gives, and what it does (docs/paths.md).

        Raises:
            UnknownPathError: there is nothing at `under`.
        """
        from polycontext.polynomial.session.paths import paths  # noqa: PLC0415 - for those who ask

        return paths(under)

    def render(self) -> dict[str, Any]:
        """Return the props of a chat component, JSON-ready: no system text, no strategy (docs/props.md)."""
        from polycontext.polynomial.session.plugins import load_renderer  # noqa: PLC0415 - what is above is found when it is asked for

        props: dict[str, Any] = load_renderer()().render_chat(self)
        return props

    def build_prompt(
        self,
        agent_type: str = "default",
        eigenvectors: Mapping[str, float] | None = None,
        constraints: Sequence[str] = (),
        *,
        task: str | None = None,
        system_only: bool = False,
        prompts: "PromptMaker | None" = None,
        **values: str | float,
    ) -> str:
        """Return the one text that a model completes: system prompt, the view as a transcript, the task (docs/prompts.md).

        It goes to the model and never to a browser; within budget as `messages` is, and
        without a word on classes. `system_only` leaves the conversation out, for use beside
        `messages`. `prompts` brings templates of your own; `values` are what templates name.

        Raises:
            InvalidMessagesError: calls are open.
            ContextOverflowError: over budget even after everything yielded that may.
            PluginError: no prompt builder is announced, and none was given.
        """
        from polycontext.polynomial.session.plugins import load_prompt_maker  # noqa: PLC0415 - what is above is found when it is asked for

        maker = load_prompt_maker()() if prompts is None else prompts
        return maker.build_prompt(self.output, agent_type, eigenvectors, constraints, task=task, system_only=system_only, **values)
