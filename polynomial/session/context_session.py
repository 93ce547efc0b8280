"""The session: one conversation, written through decisions, read as a value.

Every write is a command: it is decided over the machine's table, stored, and only then the session
is it. Reading never changes anything and never waits; only a request compresses a view that went
over its budget since.
This class is a table of contents: each method hands on to the module of its subject.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from polycontext.linearity import Classifier, ResourceClass, ToolRule, default_classifier
from polycontext.linearity.effects import Steps, procedure, twin
from polycontext.pressure import ContextProjector, Threshold, pressure_of
from polycontext.window import ContextItem, ContextWindow, Role, TokenCounter, ToolCall, Turn
from polycontext.window.providers import AUTO, Provider, Rendered

from .. import session as subjects
from ..inputs import ContextInput, ContextOutput, as_tool_calls
from ..journal.conversation import Conversation
from ..machine.context_machine import ContextMachine
from ..machine.step import ContextPolicy
from ..state import State
from ..stores.session_store import SessionStore
from . import commands, construction, options
from .commands import AddOptions, Command, Oversize, WriteOptions
from .options import Asking, Auto, Clock, Format, Model, NewOptions, OpenOptions, Place
from .verbs import ClassTwin, HistoryPart, verb
from .writer import Writer

if TYPE_CHECKING:
    from polycontext.pressure.cache import CachePlan, Prices


class ContextSession:
    """Hold one conversation: its machine, its log, and everything that readers may ask of it (docs/session.md).

    Args:
        model: who is asked, by name (``"claude-sonnet-4-5"``) or as a `ModelProfile`: window,
            reserve, counter and provider come from its profile (docs/models.md). A number stands
            for `max_tokens`.
        max_tokens: what request and reserve may take together, in tokens; 8000 unless a model is
            named.
        auto: compress when PRESSURED before the next turn goes in, and at once when a
            turn alone takes the window over its budget. ``"background"`` has a summary written
            before that, while the conversation goes on (docs/summarisers.md). ``False`` leaves it
            to the caller.
        reserve: tokens kept free for the reply; 0 unless a model is named.
        tools: tool definitions sent with every request; their tokens are taken off the window.
        projector, threshold, cooldown: how and when it yields; for how many turns behind a
            compression the state stays COMPRESSED.
        counter, classifier, preserved_share: how turns are counted and classified.
        provider: in whose format requests go out where none is said; ``"openai"`` unless a model is
            named.
        prices: what tokens cost: room is then also made where that is cheaper than carrying on
            (docs/cache.md). It is not saved.
        rules: what is stated of tools (`keep_last`, `never_yield`, `yield_first`), beside those
            that the projector's reach has.
        clock: where timestamps come from.
        listeners: objects that the live machine (see `session.machine`) calls, in the way of
            python-statemachine.
        machine: a subclass of `ContextMachine` that adds states, events or guards
            (docs/machine.md).
        store, session_id: where the session is kept, by default in memory; one that is there
            already goes on.

    Safe under threads, tasks and event loops: one writer at a time. A write that names the
    `expected_revision` gets a `ConflictError` if that is stale; one with an `idempotency_key`
    happens once, however often it is asked for. Each write has a twin for tasks, with an a before
    its name.

    Raises:
        InvalidOptionError: an option is out of its range. UnknownNameError: no such model or
            provider.
        ContextOverflowError: reserve and tools leave no room.

    >>> session = ContextSession(max_tokens=8000)
    >>> _ = session.add_system("You are a travel assistant.")
    >>> _ = session.add_user_turn("Book me a night train to Vienna.")
    >>> session.state
    <ContextState.ACCUMULATING: 'ACCUMULATING'>
    >>> session.messages()[1]
    {'role': 'user', 'content': 'Book me a night train to Vienna.'}
    """

    _writer: Writer
    _provider: Provider
    _clock: Clock
    _asking: Asking
    _opened: SessionStore | None = None
    _place: tuple[Place, float] | None = None
    _parent: "ContextSession | None" = None
    """Who has asked for this child."""
    _answer: "subjects.answer.Answer | None" = None
    """What is being streamed in."""
    _background: "subjects.background.Background | None" = None
    _delivery: "subjects.delivery.Delivery | None" = None
    """Made for the first request."""
    _billing: "subjects.usage.Billing | None" = None
    """Made for the first request, or for whoever asks what they cost."""
    _log_index: "subjects.lookup.LogIndex | None" = None
    """Made at the first search of what no store searches; without it the next search makes another.
    """
    _handles: "Mapping[str, subjects.synchronisation.Pair] | None" = None
    """By the id of each turn: the turn as it came, and the object that it came as. They are not
    kept with the session."""

    def __init__(
        self,
        model: Model = None,
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
        clock: Clock = commands.utc_now,
        listeners: Sequence[object] = (),
        store: Place | None = None,
        session_id: str = "session",
        provider: Format | None = None,
        prices: "Prices | None" = None,
        machine: type[ContextMachine] = ContextMachine,
    ) -> None:
        room = construction.room_for(model, max_tokens, reserve, counter, provider)
        options.check_arguments(clock=clock, machine=machine)
        asking = construction.asking_of(room, tools)
        self._provider, self._clock, self._asking = room.provider, clock, asking
        self._reports: Mapping[str, Any] = {}
        policy = construction.policy_of(
            projector, rules, threshold, cooldown, auto=auto, prices=prices
        )
        window = construction.window_of(room, asking, policy.projector, classifier, preserved_share)
        empty = Conversation(window, machine=machine)
        construction.attach_writer(self, empty, policy, store, session_id, listeners=listeners)

    @classmethod
    def open(
        cls,
        url: Place,
        session_id: str = "session",
        model: Model = None,
        *,
        timeout: float = 5.0,
        **options: Unpack[OpenOptions],
    ) -> Self:
        """Return the session of that id, as its last writer left it, or a new one.

        Options are those of a session.

        `url` is the path of a SQLite file, or ``sqlite:///`` with a path behind it (a fourth slash
        begins an absolute one), or a store. The budget is that of `model` or ``max_tokens=``. It is
        stored with the next commit, and taken from there when neither is given. Close the session,
        or use it in a `with`; sessions of one file share it within a process. See `open_calls` for
        what a writer that is gone has left in the middle.

        Raises:
            StoreBusyError: another process has the file open for longer than `timeout` seconds;
                names it.
            StoreError: the store cannot be opened, or is damaged; says what to do.
            InvalidOptionError: no store can be at `url`, or an option is out of its range.

        >>> from tempfile import mkdtemp
        >>> from pathlib import Path
        >>> from polycontext import ContextSession
        >>> file = Path(mkdtemp()) / "sessions.db"
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     _ = session.add_user_turn("Where is my parcel?")
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     [turn.text for turn in session.log()]
        ['Where is my parcel?']
        >>> ContextSession.history.list_sessions(file), ContextSession.history.delete(file, "customer-17")
        (('customer-17',), True)
        """
        return construction.open_session(
            cls, url, session_id, model, timeout=timeout, options=options
        )

    aopen = ClassTwin(open)  # noqa: A003 - the method above

    @classmethod
    def from_messages(
        cls,
        messages: commands.Messages,
        model: Model = None,
        *,
        provider: Format = AUTO,
        oversize: Oversize = "truncate",
        **options: Unpack[NewOptions],
    ) -> Self:
        """Return a new session that has taken a provider's message list in.

        Options are those of a session, `provider` that of the list.

        Raises:
            Whatever a session or `extend` raises; of what the user says and does not fit, nothing
            unless ``oversize="error"``.

        >>> ContextSession.from_messages([{"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Hi"}])
        ContextSession('session', ACCUMULATING, 3 turns, 21 of 8000 tokens, 3 in the log)
        """
        session = cls(model, **options)
        session.extend(messages, provider, oversize=oversize)
        return session

    # --- what is said --------------------------------------------------------------

    @verb
    def add_system(self, content: str, **options: Unpack[AddOptions]) -> Command:
        """Add a system turn; options are those of `add`."""
        return commands.build_add(self._turn(Role.SYSTEM, content), **options)

    aadd_system = twin(add_system)

    @verb
    def add_user_turn(
        self, content: str, *, name: str | None = None, **options: Unpack[AddOptions]
    ) -> Command:
        """Add what the user says; options are those of `add`."""
        return commands.build_add(self._turn(Role.USER, content, name=name), **options)

    aadd_user_turn = twin(add_user_turn)

    @verb
    def add_assistant_turn(
        self,
        content: str | None = None,
        tool_calls: Iterable[Any] | None = None,
        **options: Unpack[AddOptions],
    ) -> Command:
        """Add what the model says and calls.

        Calls are `ToolCall`s or a provider's own objects; options are those of `add`.
        """
        return commands.build_add(
            self._turn(Role.ASSISTANT, content, tool_calls=as_tool_calls(tool_calls)), **options
        )

    aadd_assistant_turn = twin(add_assistant_turn)

    @verb
    def add_tool_turn(
        self,
        content: str,
        *,
        tool_call_id: str,
        name: str | None = None,
        **options: Unpack[AddOptions],
    ) -> Command:
        """Add the result of an open call; options are those of `add`."""
        return commands.build_add(
            self._turn(Role.TOOL, content, tool_call_id=tool_call_id, name=name), **options
        )

    aadd_tool_turn = twin(add_tool_turn)

    @verb
    def add(
        self,
        turn: Turn,
        resource_class: ResourceClass | str | None = None,
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Command:
        """Take any turn through the machine; with `auto`, make room first where needed.

        `resource_class` overrules the classifier. What the user says and does not fit is truncated
        in the view and whole in the log; with ``oversize="error"`` it is refused. What the model
        said or a tool answered always gets in.

        Raises:
            IllegalDirectionError: not legal in this state (ContextPressureError in PRESSURED
                without `auto`).
            OrderError: the wrong moment of a tool call.
            ContextOverflowError: what the system says, what you pin, or a user turn with
                ``oversize="error"`` could not fit even after compressing everything that may yield.
            ConflictError: `expected_revision` is not the current one.
        """
        return commands.build_add(turn, resource_class, oversize)

    aadd = twin(add)

    @verb
    def extend(
        self,
        messages: commands.Messages,
        provider: Format = AUTO,
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Command:
        """Take several turns, or a provider's messages, in as one commit: all or none.

        They may go on with what is there: results of open calls come first. `oversize` is as in
        `add`. Whose format they are in is noticed. Where the assistant speaks first in a new
        conversation, a marked line of the user opens it; the output names it as repaired.

        Raises:
            InvalidMessagesError: the messages break a rule of the provider, or are in another one's
                format; names index and rule.
            Whatever `add` raises for one of them.

        >>> session = ContextSession(max_tokens=1000)
        >>> len(session.extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]).window)
        2
        """
        return commands.build_extend(self.conversation, messages, provider, oversize)

    aextend = twin(extend)

    @verb
    def add_message(
        self,
        message: object,
        provider: Format = AUTO,
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Command:
        """Take one message in as a provider's response or request has it: JSON data, or an object of the SDK; see `extend`."""
        return commands.build_extend(self.conversation, [message], provider, oversize)

    aadd_message = twin(add_message)

    @verb
    def attach(
        self,
        item: ContextItem,
        resource_class: ResourceClass | str | None = None,
        *,
        source: str | None = None,
        **when: Unpack[WriteOptions],
    ) -> Command:
        """Add a context item as one user turn, REQUIRED by default.

        It yields to its outline and can be recalled.

        `source` says where it comes from, its file name and lines by default: attaching another
        text of the same source supersedes the earlier one, which then yields first. An item that
        stands in the view already is not added again; a higher class raises that of its turn. An
        item whose id named another item in this conversation goes in under a fresh one.

        Raises:
            PluginError: the registered formatter of a custom kind failed.
            Whatever `add` raises for a user turn.
        """
        return commands.build_attach(item, source, resource_class)

    aattach = twin(attach)

    @verb
    def send_message(
        self, content: str, items: commands.Items = (), **when: Unpack[WriteOptions]
    ) -> Command:
        """Attach items, each alone or with its source, and add what the user says of them, as one commit."""
        return commands.Together(
            (*commands.build_attaches(items), commands.Add(self._turn(Role.USER, content)))
        )

    asend_message = twin(send_message)

    @procedure
    def send(self, event: str | ContextInput, /, *args: Any, **kwargs: Any) -> Steps[ContextOutput]:
        """Send an event of the machine by its name, with what the verb of it takes, or an input (docs/machine.md).

        An event that your own machine adds takes any JSON data.

        Raises:
            UnknownNameError: the machine has no such event. Whatever the verb raises.

        >>> session = ContextSession(max_tokens=8000)
        >>> session.send("user_turn", "Where is my parcel?").state
        <ContextState.ACCUMULATING: 'ACCUMULATING'>
        """
        return subjects.live_machine.send_event(self, event, args, kwargs)

    asend = twin(send)

    def answer(self) -> "subjects.answer.Answer":
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
        return subjects.answer.open_answer(self)

    @verb
    def close_open_calls(self, reason: str, **when: Unpack[WriteOptions]) -> Command:
        """End every call that waits for its result with a marked one that says why there is none.

        The output names them as repaired.

        For whoever opens a conversation that its last writer left in the middle of a call; without
        open calls nothing happens.
        """
        return commands.build_results(self.conversation, reason)

    aclose_open_calls = twin(close_open_calls)

    # --- what yields, and what stays --------------------------------------------------

    @verb
    def compress(
        self, target: float | None = None, *, query: str | None = None, **when: Unpack[WriteOptions]
    ) -> Command:
        """Compress to a target pressure (default: 40 % of the free room, or the low mark where that is lower); the output reports what it did.

        Raises:
            FloorError: the projector's fulfilment would take an atom below the floor of its class.
            InvalidOptionError: `target` is no number from 0 to 1, `query` no text.
        """
        return commands.build_compress(target, query)

    acompress = twin(compress)

    @verb
    def clear(self, *, keep_system: bool = False, **when: Unpack[WriteOptions]) -> Command:
        """Forget the view; log and ledger keep all.

        With `keep_system` the system turns are taken in again in the same commit.

        >>> session = ContextSession(max_tokens=1000)
        >>> _ = session.add_system("Be brief."), session.add_user_turn("hello")
        >>> [turn.text for turn in session.clear(keep_system=True).window.all_turns()]
        ['Be brief.']
        """
        turns = self.window.all_turns() if keep_system else ()
        system = [self._turn(turn.role, turn.text) for turn in turns if turn.role is Role.SYSTEM]
        return commands.Together((commands.Take(ContextInput.clear()), *map(commands.Add, system)))

    aclear = twin(clear)

    @verb
    def recall(self, resource_ids: str | Iterable[str], **when: Unpack[WriteOptions]) -> Command:
        """Raise atoms back to VERBATIM from the log.

        Ids are those of any of their turns, or of a gist.

        Raises:
            UnknownResourceError: an id the log does not know.
            ContextOverflowError: the window would be pressured again at once.
            IllegalDirectionError: there is no view (EMPTY), or it is PRESSURED.
        """
        return commands.Recall(commands.check_ids(resource_ids))

    arecall = twin(recall)

    @verb
    def promote(
        self,
        resource_id: str,
        resource_class: ResourceClass | str,
        *,
        rationale: str = "",
        **when: Unpack[WriteOptions],
    ) -> Command:
        """Raise the class of a turn; classes are never lowered.

        Raises:
            UnknownResourceError: no such id. DemotionError: the class is not higher.
            IllegalDirectionError: there is no view (EMPTY).
        """
        return commands.build_promotion(resource_id, resource_class, rationale)

    apromote = twin(promote)

    @verb
    def pin(self, resource_id: str, why: str = "", **when: Unpack[WriteOptions]) -> Command | None:
        """Keep a turn word for word from now on, its pictures included.

        What is PRESERVED already stays as it is.

        Raises:
            UnknownResourceError: no such id. IllegalDirectionError: there is no view (EMPTY).
        """
        return commands.build_pin(self.window, resource_id, why)

    apin = twin(pin)

    # --- what a model is handed ---------------------------------------------------------

    def messages(
        self, provider: Format | None = None, *, allow_open: bool = False
    ) -> list[dict[str, Any]]:
        """Return the view as a message list that the provider accepts, within budget.

        Without one, the session's own.

        For Anthropic the system turns travel outside of the list: see `request`.

        Raises:
            InvalidMessagesError: nothing to say, or calls are open (unless `allow_open`).
            ContextOverflowError: the view is over its budget, and the session does not compress by
                itself, or nothing can yield.
            Whatever `compress` raises, where a view went over its budget since the last commit: it
            is compressed first.
        """
        return self.request(provider, allow_open=allow_open).messages

    def request(
        self,
        provider: Format | None = None,
        *,
        allow_open: bool = False,
        cache: "bool | CachePlan" = False,
        options: Mapping[str, Any] | None = None,
    ) -> Rendered:
        """Return messages, and the system blocks apart where the provider wants them so.

        Without a provider, for the session's own.

        `options` are your own fields of the request, such as `thinking`: they are merged into the
        result's `options`, and win over what the session sets under the same key (docs/cache.md).
        With `cache` the request has breakpoints and a key for the provider's prompt cache
        (docs/cache.md).

        Raises:
            SpendingError: with the request the `limit` would be crossed. Whatever `messages`
                raises.
        """
        return self.usage.request(provider, allow_open=allow_open, cache=cache, options=options)

    def build_prompt(
        self,
        agent_type: str = "default",
        eigenvectors: Mapping[str, float] | None = None,
        constraints: Sequence[str] = (),
        *,
        task: str | None = None,
        system_only: bool = False,
        prompts: "subjects.plugins.PromptMaker | None" = None,
        **values: str | float,
    ) -> str:
        """Return the one text that a model completes: system prompt, the view as a transcript, the task (docs/nodes.md).

        It goes to the model and never to a browser; within budget as `messages` is, and
        without a word on classes. `system_only` leaves the conversation out, for use beside
        `messages`. `prompts` brings templates of your own; `values` are what templates name.

        Raises:
            InvalidMessagesError: calls are open.
            ContextOverflowError: over budget even after everything yielded that may.
            InvalidOptionError: an argument cannot be what it has to be.
            PluginError: no prompt builder is announced, and none was given.
        """
        maker = subjects.plugins.maker_for(agent_type, eigenvectors, constraints, task, prompts)
        return maker.build_prompt(
            self.output,
            agent_type,
            eigenvectors,
            constraints,
            task=task,
            system_only=system_only,
            **values,
        )

    def tools(self, provider: Format | None = None) -> list[dict[str, Any]]:
        """Return tools for the model itself, to search, read and describe what has left its view.

        In the session's own format without a provider.

        Send them with a request, and give each call of them to `call_tool` (docs/agents.md).

        Raises:
            UnknownNameError: no such provider.
        """
        return subjects.context_tools.context_tools(
            self._provider if provider is None else provider
        )

    def call_tool(
        self,
        name: str,
        arguments: str | bytes | Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
    ) -> str:
        """Return what a call of one of `tools` answers, to be added as its result.

        The view stays as it is.

        `arguments` are JSON text or a mapping, as the model gave them. The answer has at most
        `max_tokens` by the session's counter: 2,000 where nothing is said, and no more than a
        quarter of the window. What the model got wrong is answered too, beginning with ``"Error:
        "``.

        Raises:
            InvalidOptionError: `name` is no text, `arguments` neither, `max_tokens` no whole number
                of at least 50.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("The code of the east door is 4711.")
        >>> _ = session.clear()
        >>> print(session.call_tool("context_search", '{"query": "east door"}'))
        Turns that say it and that you do not see whole, best first (context_recall reads them):
        t1 user: The code of the east door is 4711.
        """
        return subjects.context_tools.answer_call(
            self.conversation, self.history.search, name, arguments, max_tokens
        )

    acall_tool = twin(call_tool)

    @procedure
    def sync(
        self,
        turns: Iterable[Turn],
        handles: Iterable[object] | None = None,
        *,
        repair: bool = True,
        rewind: bool = True,
    ) -> Steps[ContextOutput]:
        """Make the conversation that of `turns`, all of them, from the first on.

        `handles` are the objects that they came as, one for each.

        What follows the longest common beginning is added as one commit. Where the conversation has
        gone on otherwise (an edited message, an answer taken back), it is rewound to there first:
        the journal keeps both. Given the same turns again, nothing happens. Turns are compared by
        what they say and carry; ids, times and metadata are their keeper's own.

        With `repair`, calls without results are closed by marked ones, results of no call are left
        out, and where the assistant is first, the user opens; without, they are refused. What the
        user says and does not fit is cut in the view. Without `rewind`, a conversation that has
        gone on otherwise is another one, and left as it is.

        Raises:
            ConflictError: it would have to be rewound, and `rewind` is False.
            InvalidOptionError: not as many handles as turns. InvalidTurnError: no turn.
            OrderError: without `repair`, the wrong moment of a call. ContextOverflowError: system
                turns that leave no room.

        >>> from polycontext import ContextSession, Turn
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.sync([Turn("user", "Red or blue?"), Turn("assistant", "Red.")])
        >>> _ = session.sync([Turn("user", "Red or blue?"), Turn("assistant", "Blue.")])
        >>> [turn.text for turn in session.log()]
        ['Red or blue?', 'Blue.']
        """
        return subjects.synchronisation.sync(self, turns, handles, repair=repair, rewind=rewind)

    asynced = twin(sync)

    @procedure
    def view(
        self,
        *,
        reserve: int = 0,
        tools: Sequence[Mapping[str, Any]] | None = (),
        system: str | None = None,
    ) -> "Steps[tuple[subjects.synchronisation.Seen, ...]]":
        """Return what a model is to see: the turns that stand, as the objects that they came as, and gists in the place of the others.

        It is valid and fits beside what this request needs besides: `reserve` tokens for the reply,
        `tools`, and a `system` prompt that is no turn. What the session keeps free for the reply
        and its tools anyway counts once. Where it does not fit, it is compressed first. Asked
        again, it is the same. What is handed out is a request, as that of `messages`:
        `usage.reported` learns from what the provider says of it.

        Raises:
            ContextOverflowError: not even with everything yielded that may. InvalidOptionError:
                what cannot be.
        """
        return subjects.synchronisation.view(self, reserve, tools, system)

    aview = twin(view)

    # --- other agents, and callers that hold names ----------------------------------------

    def child(
        self,
        task: str,
        child_id: str,
        *,
        max_tokens: int | None = None,
        tells: str | Sequence[str] = (),
        call: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = (),
    ) -> "ContextSession":
        r"""Return a session of its own for a sub-agent, in the same store and with the same options, told its task and what it needs (docs/agents.md).

        It is told what the system says here (or `system` instead), the standing demands of the
        user, and of the conversation what `tells` names: ids of turns, or a text of which turns are
        to speak; that takes at most a quarter of its room. `max_tokens` is its budget, by default
        what this session has; `tools` are its own. `call` is the id of the open call that it
        answers. `hand_back` gives its result to this session. Asked for again, after a restart too,
        it is the same child as it stands by then.

        Raises:
            ConflictError: there is a session of that id that is no such child.
                UnknownResourceError: `tells` names a turn that is none.
            InvalidOptionError: no task, no open call of that id. ContextOverflowError: what it has
                to be told does not fit.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Plan a trip to Vienna. From now on, never suggest a flight.")
        >>> child = session.child("Find a train.", "trains", max_tokens=2000)
        >>> [turn.text for turn in child.log()]
        ['This holds throughout:\n- From now on, never suggest a flight.', 'Find a train.']
        >>> _ = child.add_assistant_turn("NJ 457 leaves at 22:10.")
        >>> _ = child.hand_back()
        >>> "NJ 457 leaves at 22:10." in session.log()[-1].text
        True
        """
        return subjects.children.open_child(
            self,
            task,
            child_id,
            max_tokens=max_tokens,
            tells=tells,
            call=call,
            system=system,
            tools=tools,
        )

    achild = twin(child)

    @procedure
    def hand_back(self, text: str | None = None) -> Steps[ContextOutput]:
        """Give the result of this child to its parent, as one turn, and return the parent's output.

        Without a text, what the model said last.

        It is the result of the call that the child was made for, or else an attached text. Handed
        back again, it is there once.

        Raises:
            InvalidOptionError: this session is no child that its parent has asked for, or it has
                said nothing yet.
            OrderError: the parent waits for the results of other calls.
        """
        return subjects.children.hand_back(self, text)

    ahand_back = twin(hand_back)

    @procedure
    def invoke(self, path: str, /, *arguments: Any, **options: Any) -> Steps[Any]:
        """Do what stands at a path of a session, and return what it gives (docs/paths.md).

        Raises:
            UnknownPathError: nothing stands there; names paths like it.
            InvalidDataError: an argument is missing, unknown, given twice or one too many; names
                it.
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
        return subjects.paths.invoke(self, path, arguments, options)

    ainvoke = twin(invoke)

    # --- what it is now ---------------------------------------------------------------------

    def __repr__(self) -> str:
        conversation, window = self.conversation, self.window
        told = f"{len(window)} turns, {window.total_tokens} of {window.max_tokens} tokens, {len(conversation.log)} in the log"
        past = f"revision {conversation.revision} of " if self._writer.is_past else ""
        return f"ContextSession({past}{self._writer.session_id!r}, {conversation.state}, {told})"

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
    def pressure(self) -> float:
        """Return tokens used / max tokens of the window."""
        return pressure_of(self.conversation.window)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls of the last atom that have no result yet, in their order: what a writer left that is gone.

        Make them again, or end them by `close_open_calls`.
        """
        return commands.find_open_calls(self.window)

    @property
    def output(self) -> ContextOutput:
        """Return what readers consume: window and state now."""
        conversation = self.conversation
        answering = None if self._answer is None else self._answer.text
        return ContextOutput(conversation.window, conversation.state, answering=answering)

    @property
    def policy(self) -> ContextPolicy:
        """Return what guards and actions call."""
        return self._writer.policy

    @property
    def machine(self) -> ContextMachine:
        """Return the live machine: it is always where the session is, and an event sent to it is sent to the session (docs/machine.md).

        Listeners of python-statemachine may be added to it; one that fails is logged and changes
        nothing.
        """
        return subjects.live_machine.machine_of(self)

    def log(self) -> tuple[Turn, ...]:
        """Return every turn ever accepted, in order, whatever became of it in the view."""
        return tuple(self.conversation.log)

    def explain(self, resource_id: str) -> "subjects.lookup.Explained":
        """Return what became of a turn: its class, who gave it, why and when.

        Where it is, and what stands for it. O(journal).

        Raises:
            UnknownResourceError: no turn of this conversation has the id.
        """
        return subjects.lookup.explain(self.conversation, self.history.events(), resource_id)

    def render(self) -> dict[str, Any]:
        """Return the props of a chat component, JSON-ready: no system text, no strategy (docs/server.md)."""
        return subjects.plugins.load_renderer()().render_chat(self)

    # --- its parts ----------------------------------------------------------------------------

    history = HistoryPart()
    """How it once stood, and going back (`History`); asked of the class, what is kept of all
    sessions (`Archive`)."""

    @property
    def usage(self) -> "subjects.usage.Usage":
        """Return what requests cost, what they may cost, and what a provider counts."""
        return subjects.usage.Usage(self)

    @property
    def background(self) -> "subjects.background.Background":
        """Return what is written in the background, and compressing in three steps."""
        self._background = self._background or subjects.background.Background(self)
        return self._background

    @property
    def documents(self) -> "subjects.documents.Documents":
        """Return the JSON data that are kept beside the conversation."""
        return subjects.documents.Documents(self)

    # --- letting go of it -----------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the store if this session has opened it, and of what is written in the background; twice is once. What was read stays readable."""
        if self._background is not None:
            self._background.cancel()
        if self._opened is not None:
            self._opened.close()

    aclose = twin(close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    # A copy goes on by itself, without listeners; what has been written for a provider is written
    # anew there.
    def __getstate__(self) -> dict[str, Any]:
        own = ("_answer", "_delivery", "_background", "_billing", "_handles", "_log_index")
        return {name: value for name, value in vars(self).items() if name not in own}

    # --- inside -----------------------------------------------------------------------------------

    def _turn(self, role: Role, content: str | None, **fields: Any) -> Turn:
        return Turn(role, content, timestamp=self._clock(), **fields)

    def _write_request(
        self, command: Command, when: WriteOptions
    ) -> tuple[commands.WriteRequest, int | None]:
        if when:
            options.check_arguments(**when)
        sent = None if self._delivery is None else self._delivery.epoch
        ready = None if self._background is None else self._background.ready
        request = commands.WriteRequest(
            command, self._clock(), when.get("idempotency_key"), sent, ready
        )
        return request, when.get("expected_revision")

    def _write(self, command: Command, **when: Unpack[WriteOptions]) -> ContextOutput:
        output = self._writer.write(*self._write_request(command, when))
        return self.background.after(output) if self.policy.background else output

    async def _awrite(self, command: Command, **when: Unpack[WriteOptions]) -> ContextOutput:
        output = await self._writer.awrite(*self._write_request(command, when))
        return await self.background.aafter(output) if self.policy.background else output
