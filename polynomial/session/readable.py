"""What anybody may ask of a session: reading never changes anything and never waits, but that a request makes room for a view that went over its budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attrs import evolve

from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.polynomial.journal.events import CompressEvent, Event
from polycontext.polynomial.machine.context_machine import ContextMachine
from polycontext.polynomial.machine.step import ContextPolicy
from polycontext.polynomial.session.decide import held_attachment
from polycontext.polynomial.session.delivery import Delivery, options_for
from polycontext.polynomial.session.options import Asking, check_arguments, require
from polycontext.polynomial.session.twins import threaded
from polycontext.polynomial.session.writer import Writer
from polycontext.polynomial.state import State
from polycontext.polynomial.stores.session_store import Found, SearchableStore
from polycontext.pressure import pressure_of
from polycontext.window import ContextItem, ContextWindow, Epoch, ToolCall, Turn
from polycontext.window.providers import Provider, Rendered, get_format
from polycontext.window.providers.wire import as_provider

if TYPE_CHECKING:
    from polycontext.polynomial.session.answer import Answer
    from polycontext.polynomial.session.billing import Billing
    from polycontext.polynomial.session.looking import Explained
    from polycontext.polynomial.session.paths import ContextPath
    from polycontext.polynomial.session.plugins import PromptMaker
    from polycontext.polynomial.session.searching import LogIndex
    from polycontext.pressure.cache.bill import Bill
    from polycontext.pressure.cache.cache_plan import CachePlan
    from polycontext.pressure.cache.prices import Prices


class ReadableSession:
    """Answer what readers ask, from the value that the session is now."""

    _writer: Writer
    _delivery: Delivery
    _provider: Provider
    _clock: Callable[[], datetime]
    _asking: Asking = Asking()
    _taken: int = 0
    """Tokens that were taken off the window before anything stood in it: for the reply, and for tools."""
    _told_tools: int = 0
    """Tokens of the tool definitions among them."""
    _billing: "Billing | None" = None
    """Made for whoever asks what requests cost."""
    _answer: "Answer | None" = None
    """What is being streamed in."""
    _log_index: "LogIndex | None" = None
    """Made at the first search of what no store searches; without it the next search makes another."""

    def __repr__(self) -> str:
        conversation, window = self.conversation, self.window
        told = f"{len(window)} turns, {window.total_tokens} of {window.max_tokens} tokens, {len(conversation.log)} in the log"
        return f"ContextSession({self._writer.session_id!r}, {conversation.state}, {told})"

    @property
    def conversation(self) -> Conversation:
        """Return the whole session as one immutable value."""
        return self._writer.conversation

    @property
    def state(self) -> State:
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
    def reserve(self) -> int:
        """Return the tokens that were taken off the window for the reply, before anything stood in it."""
        return self._taken - self._told_tools

    @property
    def tool_tokens(self) -> int:
        """Return the tokens that were taken off it for the definitions of tools."""
        return self._told_tools

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
        return ContextOutput(conversation.window, conversation.state, answering=None if self._answer is None else self._answer.text)

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
        """Return the live machine: it is always where the session is, and an event sent to it is sent to the session (docs/machine.md).

        Listeners of python-statemachine may be added to it; one that fails is logged and changes nothing.
        """
        from polycontext.polynomial.session.live_machine import machine_of  # noqa: PLC0415 - for those who look at it

        return machine_of(self)

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """Return the journal behind revision `after`: every accepted input with its effects, in order."""
        revision = self.revision
        events = self._writer.store.load(self._writer.session_id, after).events
        if any(isinstance(event, CompressEvent) and event.names_ranges for event in events):
            from polycontext.polynomial.journal.named_sources import with_sources  # noqa: PLC0415 - for what was read from a file

            events = tuple(with_sources(self._writer.store.load(self._writer.session_id).events))[after:]
        return tuple(events[: max(0, revision - after)])

    def log(self) -> tuple[Turn, ...]:
        """Return every turn ever accepted, in order, whatever became of it in the view."""
        return tuple(self.conversation.log)

    def search(self, text: str, limit: int = 10) -> tuple[Found, ...]:
        """Return the turns of the log that speak most of `text`, best first, of equals the newest, at most `limit`; `recall` takes their ids.

        A turn is found that says one of the words, and all phrases that stand in double quotes; any text is a search. See docs/search.md.

        Raises:
            InvalidOptionError: `text` is no text, `limit` not 1..1000.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> session.search("parcel 4711")[0].snippet
        'Where is my parcel?'
        """
        from polycontext.polynomial.session.searching import LogIndex, check_search, found_in_store  # noqa: PLC0415 - for those who ask

        check_search(text, limit)
        store, conversation = self._writer.store, self.conversation
        if isinstance(store, SearchableStore):
            return found_in_store(store, self._writer.session_id, conversation, text, limit)
        if self._log_index is None:
            self._log_index = LogIndex()
        return self._log_index.search(conversation.log, text, limit)

    asearch = threaded(search)

    def tools(self, provider: Provider | str | None = None) -> list[dict[str, Any]]:
        """Return tools for the model itself, to search, read and describe what has left its view; in the session's own format without a provider.

        Send them with a request, and give each call of them to `call_tool` (docs/context-tools.md).

        Raises:
            UnknownNameError: no such provider.
        """
        from polycontext.polynomial.session.context_tools import context_tools  # noqa: PLC0415 - for models that may look back

        return context_tools(self._provider if provider is None else provider)

    def call_tool(self, name: str, arguments: str | bytes | Mapping[str, Any] | None = None, *, max_tokens: int | None = None) -> str:
        """Return what a call of one of `tools` answers, to be added as its result; the view stays as it is.

        `arguments` are JSON text or a mapping, as the model gave them. The answer has at most `max_tokens` by the session's counter: 2,000 where nothing
        is said, and no more than a quarter of the window. What the model got wrong is answered too, beginning with ``"Error: "``.

        Raises:
            InvalidOptionError: `name` is no text, `arguments` neither, `max_tokens` no whole number of at least 50.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("The code of the east door is 4711.")
        >>> _ = session.clear()
        >>> print(session.call_tool("context_search", '{"query": "east door"}'))
        Turns that say it and that you do not see whole, best first (context_recall reads them):
        t1 user: The code of the east door is 4711.
        """
        from polycontext.polynomial.session.context_tools import answered  # noqa: PLC0415 - for models that may look back

        return answered(self.conversation, self.search, name, arguments, max_tokens)

    acall_tool = threaded(call_tool)

    def export_lines(self) -> Iterator[str]:
        """Iterate over the whole session as lines of JSON: what it is, then an event a line; `import_lines` reads them, into any store.

        It is the session as it is at the call. Idempotency keys stay where they are.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> print(next(session.export_lines()), end="")
        {"format":"polycontext session","schema":4,"session_id":"session","events":1,"companions":{}}
        """
        from polycontext.polynomial.session.exchange import session_lines  # noqa: PLC0415 - the codec is for those who export

        events = self._writer.store.load(self._writer.session_id).events[: self.revision]
        return session_lines(self._writer.session_id, events, self.conversation.companions)

    def export_log(self) -> Iterator[str]:
        """Iterate over the log as lines of JSON, a turn a line, for whoever reads JSON; `from_log` begins a new conversation with them.

        >>> from polycontext import ContextSession
        >>> session = ContextSession.from_messages([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
        >>> import json
        >>> [(turn["resource_id"], turn["role"], turn["content"]) for turn in map(json.loads, session.export_log())]
        [('t1', 'user', 'Hi'), ('t2', 'assistant', 'Hello')]
        """
        from polycontext.polynomial.session.exchange import log_lines  # noqa: PLC0415 - the codec is for those who export

        return log_lines(self.conversation.log)

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

    @property
    def provider(self) -> Provider:
        """Return in whose format requests go out where none is said."""
        return self._provider

    def messages(self, provider: Provider | str | None = None, *, allow_open: bool = False) -> list[dict[str, Any]]:
        """Return the view as a message list that the provider accepts, within budget; without one, the session's own.

        For Anthropic the system turns travel outside of the list: see `request`.

        Raises:
            InvalidMessagesError: nothing to say, or calls are open (unless `allow_open`).
            ContextOverflowError: the view is over its budget, and the session does not compress by itself, or nothing can yield.
            Whatever `save` raises, where a view went over its budget since the last commit: it is compressed first.
        """
        return self.request(provider, allow_open=allow_open).messages

    def request(
        self,
        provider: Provider | str | None = None,
        *,
        allow_open: bool = False,
        cache: "bool | CachePlan" = False,
        options: Mapping[str, Any] | None = None,
    ) -> Rendered:
        """Return messages, and the system blocks apart where the provider wants them so; without a provider, for the session's own.

        `options` are your own fields of the request, such as `thinking`: they are merged into the result's `options`, and win over what the
        session sets under the same key (docs/epochs.md). With `cache` the request has breakpoints and a key for the provider's prompt cache
        (docs/cache.md).

        Raises:
            SpendingError: with the request the `limit` would be crossed. Whatever `messages` raises.
        """
        if options is not None:
            require("options", options, isinstance(options, Mapping), 'fields of a request, such as {"thinking": {"type": "adaptive"}}')
            rendered = self.request(provider, allow_open=allow_open, cache=cache)
            return evolve(rendered, options=options_for(rendered.messages, rendered.options, options))
        wire = self._provider if provider is None else as_provider(provider)
        from polycontext.polynomial.session.billing import as_plan  # noqa: PLC0415 - for those who ask what requests cost

        plan = as_plan(cache)
        self._make_room()
        return self._billed().request(self.conversation, wire, plan, allow_open=allow_open)

    def _make_room(self) -> None:
        """Compress a view that is over its budget, where this session may."""

    def bill(self, prices: "Prices | None" = None, provider: Provider | str | None = None) -> "Bill":
        """Return what requests cost so far, as the provider's prompt cache would have served them, and why they missed what they missed.

        Every list that `messages` or `request` returned counts; of several in one state of the conversation and one format the last one. Money is told at `prices`, or the list prices of the session's model. O(requests).

        Raises:
            UnknownNameError: no such provider. InvalidOptionError: `prices` are none.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> _ = session.request(cache=True)
        >>> print(session.bill().missed[0])
        12 tokens: first request
        """
        return self._billed().bill(self.conversation, prices, None if provider is None else as_provider(provider))

    def limit(
        self, *, tokens: int | None = None, money: float | None = None, prices: "Prices | None" = None, answer: int | None = None
    ) -> None:
        """Let no request be handed out with which more would be spent: in tokens, sent and answered, or in money at `prices`.

        What is on the bill already counts. An answer counts as `answer` tokens until it is there, the session's reserve unless said. Both None take
        the limit away. Copies and forks of the session have neither its bill nor its limit.

        Raises:
            InvalidOptionError: a limit that is no number, or money where neither prices nor the model's are known.
        """
        self._billed().limit(tokens, money, prices, answer)

    def _billed(self) -> "Billing":
        if self._billing is None:
            from polycontext.polynomial.session.billing import Billing  # noqa: PLC0415 - for those who ask what requests cost

            self._billing = Billing.of(
                self.conversation, self._delivery, session_id=self._writer.session_id, clock=self._clock, asked=self._asking
            )
        return self._billing

    def export_messages(self, provider: Provider | str | None = None) -> list[dict[str, Any]]:
        """Return the whole log, whatever the view has of it, as a provider's message list, to be kept or read; `from_messages` takes it.

        It may be over any budget and end on open calls: what is sent is `messages`. Without a provider, in the format of the session's own.

        Raises:
            UnknownNameError: no such provider.
        """
        from polycontext.polynomial.session.exchange import as_told_anew  # noqa: PLC0415 - for those who export

        wire = get_format(self._provider if provider is None else provider)
        return wire.render(as_told_anew(self.conversation.log), readable=True).inline()

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
            InvalidOptionError: an argument cannot be what it has to be.
            PluginError: no prompt builder is announced, and none was given.
        """
        from polycontext.polynomial.session.plugins import load_prompt_maker  # noqa: PLC0415 - what is above is found when it is asked for

        check_arguments(agent_type=agent_type, eigenvectors=eigenvectors, constraints=constraints, task=task, prompts=prompts)
        maker = load_prompt_maker()() if prompts is None else prompts
        return maker.build_prompt(self.output, agent_type, eigenvectors, constraints, task=task, system_only=system_only, **values)
