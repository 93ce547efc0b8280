"""The session: one conversation, written through decisions, read as a value.

Every write is a command: it is decided over the machine's table, stored, and only then the session is it.
Reading never changes anything and never waits; only a request compresses a view that went over its budget since.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Unpack

from attrs import evolve

from polycontext.linearity import Classifier, ResourceClass, default_classifier
from polycontext.linearity.classifying.tool_rules import ToolRule, classified_by
from polycontext.polynomial.errors import ContextOverflowError, SessionWriteError
from polycontext.polynomial.inputs import ContextInput, ContextOutput, as_tool_calls
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.polynomial.machine.context_machine import ContextMachine
from polycontext.polynomial.machine.step import ContextPolicy
from polycontext.polynomial.session.commands import Add, Oversize, Recall, Take, Together
from polycontext.polynomial.session.delivery import Delivery
from polycontext.polynomial.session.intake import Items, Messages, added, all_added, all_attached, attached, checked_ids, class_of, closing
from polycontext.polynomial.session.kept import Place, When
from polycontext.polynomial.session.options import (
    Asking,
    check_arguments,
    check_plugins,
    check_policy,
    check_prices,
    check_rules,
    check_tools,
    load_ahead,
    require,
    room_of,
    whole_number,
)
from polycontext.polynomial.session.syncing import SyncingSession
from polycontext.polynomial.session.twins import awaiting
from polycontext.polynomial.session.writer import Writer
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.pressure import ContextProjector, Signals, Threshold
from polycontext.pressure.threshold import session_threshold
from polycontext.window import ContextItem, ContextWindow, Role, TokenCounter, Turn, count_tools
from polycontext.window.providers import Provider
from polycontext.window.providers.recognising import AUTO

if TYPE_CHECKING:
    from polycontext.polynomial.session.answer import Answer
    from polycontext.polynomial.session.exchange import Lines
    from polycontext.pressure.cache.prices import Prices
    from polycontext.window.model_profiles import ModelProfile

Auto = Literal["background"] | bool

DEFAULT_ROOM = 8000
"""Tokens of a session where neither a model nor a number is said."""

Clock = Callable[[], datetime]
Calls = Iterable[Any]
"""`ToolCall`s, a provider's JSON data, or objects of its SDK."""


def utc_now() -> datetime:
    """Return the time; the one place where a session reads a clock of its own."""
    return datetime.now(UTC)


class ContextSession(SyncingSession):
    """Hold one conversation: its machine, its log, and everything that readers may ask of it (docs/session.md).

    Args:
        model: who is asked, by name (``"claude-sonnet-4-5"``) or as a `ModelProfile`: window, reserve, counter and provider come from its
            profile (docs/models.md). A number stands for `max_tokens`.
        max_tokens: what request and reserve may take together, in tokens; 8000 unless a model is named.
        auto: compress when PRESSURED before the next turn goes in, and at once when a
            turn alone takes the window over its budget. ``"background"`` has a summary written before that, while the conversation goes
            on (docs/background.md). ``False`` leaves it to the caller.
        reserve: tokens kept free for the reply; 0 unless a model is named.
        tools: tool definitions sent with every request; their tokens are taken off the window.
        projector, threshold, cooldown: how and when it yields; for how many turns behind a compression the state stays COMPRESSED.
        counter, classifier, preserved_share: how turns are counted and classified.
        provider: in whose format requests go out where none is said; ``"openai"`` unless a model is named.
        prices: what tokens cost: room is then also made where that is cheaper than carrying on (docs/cache.md). It is not saved.
        rules: what is stated of tools (`keep_last`, `never_yield`, `yield_first`), beside those that the projector's reach has.
        clock: where timestamps come from.
        listeners: objects that the live machine (see `session.machine`) calls, in the way of python-statemachine.
        machine: a subclass of `ContextMachine` that adds states, events or guards (docs/machine.md).
        store, session_id: where the session is kept, by default in memory; one that is there already goes on.

    Safe under threads, tasks and event loops: one writer at a time. A write that names the `expected_revision` gets a
    `ConflictError` if that is stale; one with an `idempotency_key` happens once, however often it is asked for. Each write has a twin
    for tasks, with an a before its name.

    Raises:
        InvalidOptionError: an option is out of its range. UnknownNameError: no such model or provider.
        ContextOverflowError: reserve and tools leave no room.

    >>> session = ContextSession(max_tokens=8000)
    >>> _ = session.add_system("You are a travel assistant.")
    >>> _ = session.add_user_turn("Book me a night train to Vienna.")
    >>> session.state
    <ContextState.ACCUMULATING: 'ACCUMULATING'>
    >>> session.messages()[1]
    {'role': 'user', 'content': 'Book me a night train to Vienna.'}
    """

    def __init__(
        self,
        model: "int | str | ModelProfile | None" = None,
        *,
        max_tokens: int | None = None,
        auto: Auto = True,
        reserve: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = (),
        projector: ContextProjector | None = None,
        threshold: Threshold | None = None,
        cooldown: int = 2,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        preserved_share: float = 0.2,
        rules: Sequence[ToolRule] = (),
        clock: Clock = utc_now,
        listeners: Sequence[object] = (),
        store: Place | None = None,
        session_id: str = "session",
        provider: Provider | str | None = None,
        prices: "Prices | None" = None,
        machine: type[ContextMachine] = ContextMachine,
    ) -> None:
        room = room_of(DEFAULT_ROOM if model is None and max_tokens is None else model, max_tokens, reserve, counter, provider)
        whole_number("cooldown", cooldown, 0, "turns")
        check_policy(projector, threshold)
        check_plugins(classifier=classifier, clock=clock, store=store, listeners=listeners, session_id=session_id, auto=auto)
        self._told_tools = count_tools(room.counter, tools := check_tools(tools))
        taken = room.reserve + self._told_tools
        if taken and not 0 <= taken < room.max_tokens:
            raise ContextOverflowError(taken, room.max_tokens, "what the request needs besides (reserve and tool definitions)")
        projector = projector or ContextProjector()
        if ruled := check_rules(rules):
            projector = evolve(projector, reach=evolve(projector.reach, rules=(*projector.reach.rules, *ruled)))
        classifier = classified_by(projector.reach.rules, classifier)
        window = ContextWindow(room.max_tokens - taken, counter=room.counter, classifier=classifier, preserved_share=preserved_share)
        policy = ContextPolicy(
            projector,
            threshold or session_threshold(),
            cooldown,
            auto=bool(auto),
            background=auto == "background",
            prices=check_prices(prices),
        )
        self._taken, self._reports = taken, {}
        self._provider = room.provider
        self._asking = Asking(room.model, tools, room.reserve)
        self._clock, self._delivery = clock, Delivery()
        is_machine = isinstance(machine, type) and issubclass(machine, ContextMachine)
        require("machine", machine, is_machine, "ContextMachine, or a subclass of it")
        with self._opening(store) as kept:
            self._writer = Writer(Conversation(window, machine=machine), policy, kept, session_id)
        load_ahead(room.counter)
        if listeners:
            from polycontext.polynomial.session.live_machine import machine_of  # noqa: PLC0415 - for those who listen

            machine_of(self, listeners)

    @classmethod
    def from_messages(
        cls,
        messages: Messages,
        model: "int | str | ModelProfile | None" = None,
        *,
        provider: Provider | str = AUTO,
        oversize: Oversize = "truncate",
        **options: Any,
    ) -> "ContextSession":
        """Return a new session that has taken a provider's message list in; options are those of a session, `provider` that of the list.

        Raises:
            Whatever a session or `extend` raises; of what the user says and does not fit, nothing unless ``oversize="error"``.

        >>> ContextSession.from_messages([{"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Hi"}])
        ContextSession('session', ACCUMULATING, 3 turns, 21 of 8000 tokens, 3 in the log)
        """
        session = cls(model, **options)
        session.extend(messages, provider, oversize=oversize)
        return session

    @classmethod
    def from_log(cls, lines: "Lines", model: "int | str | ModelProfile | None" = None, **options: Any) -> "ContextSession":
        """Return a new session that has taken the turns of `export_log` in, under their ids, classified and counted anew.

        What the user says and does not fit is truncated in the view. Calls that were open when the view was cleared get a marked result.

        Raises:
            InvalidDataError: a line is no turn; names it, and the place of its first fault.
            Whatever a session or `add` raises.
        """
        from polycontext.polynomial.session.exchange import as_told_anew, turns_of_lines  # noqa: PLC0415 - the codec is for those who import

        turns = as_told_anew(turns_of_lines(lines))
        session = cls(model, **options)
        session._write(Together(tuple(added(turn) for turn in turns)))
        return session

    # --- writing -----------------------------------------------------------------

    def add_system(self, /, content: str, **options: Any) -> ContextOutput:
        """Add a system turn; options are those of `add`."""
        return self.add(self._turn(Role.SYSTEM, content), **options)

    aadd_system = awaiting(add_system)

    def add_user_turn(self, /, content: str, *, name: str | None = None, **options: Any) -> ContextOutput:
        """Add what the user says; options are those of `add`."""
        return self.add(self._turn(Role.USER, content, name=name), **options)

    aadd_user_turn = awaiting(add_user_turn)

    def add_assistant_turn(self, /, content: str | None = None, tool_calls: Calls | None = None, **options: Any) -> ContextOutput:
        """Add what the model says and calls; calls are `ToolCall`s or a provider's own objects; options are those of `add`."""
        return self.add(self._turn(Role.ASSISTANT, content, tool_calls=as_tool_calls(tool_calls)), **options)

    aadd_assistant_turn = awaiting(add_assistant_turn)

    def add_tool_turn(self, /, content: str, *, tool_call_id: str, name: str | None = None, **options: Any) -> ContextOutput:
        """Add the result of an open call; options are those of `add`."""
        return self.add(self._turn(Role.TOOL, content, tool_call_id=tool_call_id, name=name), **options)

    aadd_tool_turn = awaiting(add_tool_turn)

    def add(
        self,
        turn: Turn,
        resource_class: ResourceClass | str | None = None,
        expected_revision: int | None = None,
        *,
        oversize: Oversize = "truncate",
        idempotency_key: str | None = None,
    ) -> ContextOutput:
        """Take any turn through the machine; with `auto`, make room first where needed.

        `resource_class` overrules the classifier. What the user says and does not fit is truncated in the view and whole in the log; with
        ``oversize="error"`` it is refused. What the model said or a tool answered always gets in.

        Raises:
            IllegalDirectionError: not legal in this state (ContextPressureError in PRESSURED without `auto`).
            OrderError: the wrong moment of a tool call.
            ContextOverflowError: what the system says, what you pin, or a user turn with ``oversize="error"`` could not fit
                even after compressing everything that may yield.
            ConflictError: `expected_revision` is not the current one.
        """
        return self._write(added(turn, resource_class, oversize), expected_revision=expected_revision, idempotency_key=idempotency_key)

    aadd = awaiting(add)

    def extend(
        self,
        messages: Messages,
        provider: Provider | str = AUTO,
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[When],
    ) -> ContextOutput:
        """Take several turns, or a provider's messages, in as one commit: all or none.

        They may go on with what is there: results of open calls come first. `oversize` is as in `add`. Whose format they are in is
        noticed. Where the assistant speaks first in a new conversation, a marked line of the user opens it; the output names it as repaired.

        Raises:
            InvalidMessagesError: the messages break a rule of the provider, or are in another one's format; names index and rule.
            Whatever `add` raises for one of them.

        >>> session = ContextSession(max_tokens=1000)
        >>> len(session.extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]).window)
        2
        """
        return self._write(all_added(self.conversation, messages, provider, oversize), **when)

    aextend = awaiting(extend)

    def add_message(
        self, message: object, provider: Provider | str = AUTO, *, oversize: Oversize = "truncate", **when: Unpack[When]
    ) -> ContextOutput:
        """Take one message in as a provider's response or request has it: JSON data, or an object of the SDK; see `extend`."""
        return self.extend([message], provider, oversize=oversize, **when)  # type: ignore[list-item]

    aadd_message = awaiting(add_message)

    def attach(
        self,
        item: ContextItem,
        resource_class: ResourceClass | str | None = None,
        *,
        source: str | None = None,
        **when: Unpack[When],
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
        return self._write(attached(item, source, resource_class), **when)

    aattach = awaiting(attach)

    def send_message(self, content: str, items: Items = (), **when: Unpack[When]) -> ContextOutput:
        """Attach items, each alone or with its source, and add what the user says of them, as one commit."""
        return self._write(Together((*all_attached(items), Add(self._turn(Role.USER, content)))), **when)

    asend_message = awaiting(send_message)

    def close_open_calls(self, reason: str, **when: Unpack[When]) -> ContextOutput:
        """End every call that waits for its result with a marked one that says why there is none; the output names them as repaired.

        For whoever opens a conversation that its last writer left in the middle of a call; without open calls nothing happens.
        """
        return self._write(closing(self.conversation, reason), **when)

    aclose_open_calls = awaiting(close_open_calls)

    def send(self, event: str | ContextInput, /, *args: Any, **kwargs: Any) -> ContextOutput:
        """Send an event of the machine by its name, with what the verb of it takes, or an input (docs/machine.md).

        An event that your own machine adds takes any JSON data.

        Raises:
            UnknownNameError: the machine has no such event. Whatever the verb raises.

        >>> session = ContextSession(max_tokens=8000)
        >>> session.send("user_turn", "Where is my parcel?").state
        <ContextState.ACCUMULATING: 'ACCUMULATING'>
        """
        from polycontext.polynomial.session.sending import call_of  # noqa: PLC0415 - for those who drive the machine

        call = call_of(event, args, kwargs)
        output = getattr(self, call.verb)(*call.args, **call.kwargs)
        return output if isinstance(output, ContextOutput) else self.output

    async def asend(self, event: str | ContextInput, /, *args: Any, **kwargs: Any) -> ContextOutput:
        """Send an event without blocking; see `send`."""
        from polycontext.polynomial.session.sending import call_of  # noqa: PLC0415 - as above

        call = call_of(event, args, kwargs)
        output = await getattr(self, "_awrite" if call.verb == "_write" else f"a{call.verb}")(*call.args, **call.kwargs)
        return output if isinstance(output, ContextOutput) else self.output

    def answer(self) -> "Answer":
        """Open an answer that is streamed in: `output.answering` holds its words, and once it is closed it is one assistant turn.

        Raises:
            SessionWriteError: one is open already.

        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> with session.answer() as answer:
        ...     answer.add("On its ")
        ...     answer.add("way.")
        ...     session.output.answering
        'On its way.'
        >>> session.output.answering, session.messages()[-1]["content"]
        (None, 'On its way.')
        """
        from polycontext.polynomial.session.answer import Answer  # noqa: PLC0415 - for those who stream

        if self._answer is not None:
            raise SessionWriteError("an answer is being written", "wait for it, or close it")
        self._answer = Answer(self)
        return self._answer

    def clear(self, *, keep_system: bool = False, **when: Unpack[When]) -> ContextOutput:
        """Forget the view; log and ledger keep all. With `keep_system` the system turns are taken in again in the same commit.

        >>> session = ContextSession(max_tokens=1000)
        >>> _ = session.add_system("Be brief."), session.add_user_turn("hello")
        >>> [turn.text for turn in session.clear(keep_system=True).window.all_turns()]
        ['Be brief.']
        """
        system = (turn for turn in self.window.all_turns() if keep_system and turn.role is Role.SYSTEM)
        kept = (Add(self._turn(turn.role, turn.text)) for turn in system)
        return self._write(Together((Take(ContextInput.clear()), *kept)), **when)

    aclear = awaiting(clear)

    def recall(self, resource_ids: str | Iterable[str], **when: Unpack[When]) -> ContextOutput:
        """Raise atoms back to VERBATIM from the log; ids are those of any of their turns, or of a gist.

        Raises:
            UnknownResourceError: an id the log does not know.
            ContextOverflowError: the window would be pressured again at once.
            IllegalDirectionError: there is no view (EMPTY), or it is PRESSURED.
        """
        return self._write(Recall(checked_ids(resource_ids)), **when)

    arecall = awaiting(recall)

    def promote(self, resource_id: str, resource_class: ResourceClass | str, *, rationale: str = "", **when: Unpack[When]) -> ContextOutput:
        """Raise the class of a turn; classes are never lowered.

        Raises:
            UnknownResourceError: no such id. DemotionError: the class is not higher.
            IllegalDirectionError: there is no view (EMPTY).
        """
        check_arguments(resource_id=resource_id, rationale=rationale)
        return self._write(Take(ContextInput.promote(resource_id, class_of(resource_class), rationale)), **when)

    apromote = awaiting(promote)

    def pin(self, resource_id: str, why: str = "", **when: Unpack[When]) -> ContextOutput:
        """Keep a turn word for word from now on, its pictures included; what is PRESERVED already stays as it is.

        Raises:
            UnknownResourceError: no such id. IllegalDirectionError: there is no view (EMPTY).
        """
        check_arguments(resource_id=resource_id)
        if self.window.linearity.get(resource_id) is ResourceClass.PRESERVED:
            return self.output
        return self.promote(resource_id, ResourceClass.PRESERVED, rationale=why, **when)

    apin = awaiting(pin)

    def signal(self, signals: Signals) -> None:
        """Tell the threshold how the task goes; the machine's guard asks it with these from now on."""
        require("signals", signals, isinstance(signals, Signals), "Signals(progress=, error_rate=, looping=)")
        self._writer.resize(policy=evolve(self.policy, signals=signals))

    # --- by name ---------------------------------------------------------------------

    def invoke(self, path: str, /, *arguments: Any, **options: Any) -> Any:
        """Do what stands at a path of a session, and return what it gives (docs/paths.md).

        Raises:
            UnknownPathError: nothing stands there; names paths like it.
            InvalidDataError: an argument is missing, unknown, given twice or one too many; names it.
            InvalidOptionError: an argument cannot be what it has to be; names it and what is legal.
            Whatever the session raises for what it is asked.

        Warns:
            DeprecationWarning: the path is a former one; names where it stands today.

        >>> from polycontext.polynomial import ContextSession
        >>> session = ContextSession(max_tokens=100)
        >>> _ = session.add_user_turn("Paint the house.")
        >>> session.invoke("self.context.window.focus").text
        'Paint the house.'
        """
        from polycontext.polynomial.session.invoking import invoked  # noqa: PLC0415 - for those who ask by name

        return invoked(self, path, arguments, options)

    def ainvoke(self, path: str, /, *arguments: Any, **options: Any) -> Coroutine[Any, Any, Any]:
        """Do what stands at a path without blocking; see `invoke`."""
        from polycontext.polynomial.session.invoking import ainvoked  # noqa: PLC0415 - for those who ask by name

        return ainvoked(self, path, arguments, options)

    # --- keeping ------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the session as JSON text, with a schema version; `from_json` restores the identical session (docs/saving.md)."""
        from polycontext.polynomial.journal.saved import SavedSession  # noqa: PLC0415 - the codec is for those who save

        as_given = self.conversation.with_room(self._writer.given)
        return SavedSession.of(self.events(), as_given, self.policy, taken=self._taken, provider=self._provider).to_text()

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        projector: ContextProjector | None = None,
        threshold: Threshold | None = None,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        clock: Clock = utc_now,
        listeners: Sequence[object] = (),
        store: Place | None = None,
        session_id: str = "session",
        machine: type[ContextMachine] = ContextMachine,
    ) -> "ContextSession":
        """Restore a session by replaying its journal; no model is called.

        What is no data (a summariser, a classifier, a counter of your own) is passed again, and `threshold` where it is not to be a session's own.

        Raises:
            InvalidDataError: no saved session, of an unknown schema, or with an event that the machine's table does not allow.
            ConflictError: `store` holds a session of this id already.
        """
        from polycontext.polynomial.journal.saved import SavedSession  # noqa: PLC0415 - the codec is for those who load

        saved = SavedSession.from_text(text)
        memory = InMemoryStore()
        memory.append(session_id, 0, saved.events, saved.companions)
        with saved.settings_checked():
            session = cls(
                saved.max_tokens,
                auto="background" if saved.background else saved.auto,
                reserve=saved.taken,
                projector=projector or ContextProjector(reach=saved.reach),
                threshold=threshold,
                cooldown=saved.cooldown,
                counter=counter or saved.loaded_counter(),
                classifier=classifier,
                preserved_share=saved.preserved_share,
                clock=clock,
                listeners=listeners,
                machine=machine,
                store=memory,
                session_id=session_id,
                provider=saved.provider,
            )
        session.signal(saved.signals)
        if store is not None:
            # Only what has been replayed goes into a store.
            with session._opening(store) as kept:
                kept.append(session_id, 0, saved.events, saved.companions)
                session._writer.keep_in(kept)
        return session

    # A copy goes on by itself, without listeners; what has been written for a provider is written anew there.
    def __getstate__(self) -> dict[str, Any]:
        own = ("_answer", "_delivery", "_log_index", "_background", "_billing", "_handles")
        return {name: value for name, value in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _delivery=Delivery())

    # --- inside ---------------------------------------------------------------------------

    def _turn(self, role: Role, content: str | None, **fields: Any) -> Turn:
        return Turn(role, content, timestamp=self._clock(), **fields)
