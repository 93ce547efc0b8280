"""The session: one conversation, changed by commands and read as an immutable value.

Every write is a command: it is decided against the machine's table, stored, and only then published
as the session's new value. Reading never changes anything and never waits. The one exception is a
request, which first compresses a view that has gone over its budget.
This class is a table of contents: each method delegates to the module for its subject.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial, update_wrapper
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from polycontext.base import guided, require, with_usage
from polycontext.base.calls import Guided
from polycontext.base.effects import Steps, procedure, twin
from polycontext.linearity import Classifier, ResourceClass, ToolRule, default_classifier
from polycontext.pressure import ContextProjector, Threshold, pressure_of
from polycontext.window import (
    ContextItem,
    OrderError,
    Role,
    TokenCounter,
    ToolCall,
    Turn,
)
from polycontext.window.providers import AUTO, Rendered

from .inputs import ContextInput, ContextOutput
from .machine.context_machine import ContextMachine
from .session import construction, parts
from .session.commands import (
    Add,
    AddOptions,
    Attach,
    Compress,
    Items,
    Messages,
    Oversize,
    Recall,
    Take,
    Together,
    WriteOptions,
    as_tool_calls,
    build_attaches,
    build_extend,
    build_results,
    find_open_calls,
    utc_now,
)
from .session.options import (
    Auto,
    Clock,
    Format,
    Model,
    NewOptions,
    OpenOptions,
    Place,
    SessionOptions,
    is_list,
    room_of,
)
from .session.writer import Session
from .state import State

if TYPE_CHECKING:
    from polycontext.pressure import Summariser
    from polycontext.pressure.cache import CachePlan
    from polycontext.pressure.schedule import Prices, Schedule

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
S = TypeVar("S", bound="ContextSession")
T = TypeVar("T")

_DEFAULT_TOKENS = 8000
"""The budget of a session without a model or `max_tokens`."""


_NO_LISTENERS = (type, FunctionType, BuiltinFunctionType, MethodType)


@guided
class ListMethod(partial[Sequence[Any]]):
    """A method of a session that returns a list; used as a list, it says that it is called."""


def _listed(method: F) -> F:
    """Return a method as a descriptor that makes a `ListMethod`."""
    return cast("F", _Listed(with_usage(method)))


class _Listed:
    def __init__(self, method: Callable[..., Sequence[Any]]) -> None:
        update_wrapper(cast("Any", self), method)
        self._method = method

    def __get__(self, session: object, owner: object) -> object:
        return self._method if session is None else ListMethod(self._method, session)


class _ClassTwin(Generic[P]):
    """The async twin of a class method that creates an object: it runs in a thread."""

    def __init__(self, method: Callable[Concatenate[Any, P], object]) -> None:
        self._twin = twin(method)
        self.__doc__ = self._twin.__doc__

    def __get__(self, instance: object, owner: type[T]) -> Callable[P, Coroutine[Any, Any, T]]:
        return partial(cast("Any", self._twin), owner)


class HistoryPart:
    """The `history` attribute: the history of a session, or the archive of a session class."""

    @overload
    def __get__(self, session: None, owner: type[S]) -> "parts.Archive[S]": ...
    @overload
    def __get__(self, session: S, owner: type[S]) -> "parts.History[S]": ...
    def __get__(self, session: Any, owner: Any) -> Any:
        """Return the history or the archive, loaded on first access."""
        return parts.Archive(owner) if session is None else parts.History(session)


@guided
class ContextSession(Session, metaclass=Guided):
    """One conversation: its machine, its log, and every read of it.

    See docs/session.md.

    Args:
        model: the model to prepare requests for, by name (``"claude-sonnet-4-5"``) or as a
            `ModelProfile`. Its profile sets the window, reserve, counter and provider
            (docs/models.md). A number is read as `max_tokens`.
        max_tokens: the budget in tokens for request and reply together. Defaults to 8000 unless you
            name a model.
        auto: whether to compress automatically: before the next turn while PRESSURED, and at once
            when a single turn puts the window over its budget. ``"background"`` also starts a
            summary early and writes it while the conversation continues (docs/summarisers.md).
            ``False`` leaves compression to you.
        reserve: tokens kept free for the reply. Defaults to 0 unless you name a model.
        tools: tool definitions sent with every request. Their tokens are subtracted from the
            window.
        projector: how the view is compressed, and with which summariser.
        summariser: what writes the summaries, in short for ``ContextProjector(summariser)``
            (docs/summarisers.md); `summarizer` is another spelling.
        threshold: the high mark above which the window is pressured, and the low mark that
            compression aims at. A number is the high mark; the low mark is four fifths of it.
        cooldown: how many turns after a compression the state stays COMPRESSED.
        counter: counts the tokens of a text.
        classifier: assigns a resource class to each turn.
        preserved_share: the largest share of the window that standing instructions may pin.
        provider: the default format of requests. Defaults to ``"openai"`` unless you name a model.
        prices: token prices. With them, the session also compresses when that is cheaper than
            sending the view again (docs/cache.md). Prices are not saved.
        schedule: also compresses in idle time, once the provider's cache expires, and at boundaries
            that you name (docs/cache.md). It is not saved.
        rules: rules about tools (`keep_last`, `never_yield`, `yield_first`), added to those of the
            projector's reach.
        clock: returns the current time, for timestamps.
        listeners: objects that the live machine (see `session.machine`) calls, as
            python-statemachine listeners.
        machine: a subclass of `ContextMachine` that adds states, events or guards
            (docs/machine.md).
        embedder: finds turns of similar meaning beside those with the words of a search
            (docs/history.md).
        store: where the session is kept. Defaults to memory.
        session_id: the id in the store. If the store already has this session, it is continued.

    A session is safe to share between threads, tasks and event loops: one writer runs at a time. A
    write with a stale `expected_revision` raises `ConflictError`. A write with an `idempotency_key`
    happens once, however often you repeat it. Each write has an async variant with the prefix
    ``a``, such as `aadd`.

    Raises:
        InvalidOptionError: an option is out of range.
        UnknownNameError: the model or provider is unknown.
        ContextOverflowError: reserve and tools leave no room for turns.

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
        model: Model = None,
        *,
        max_tokens: int | None = None,
        auto: Auto = True,
        reserve: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = (),
        projector: ContextProjector | None = None,
        threshold: Threshold | float | None = None,
        cooldown: int = 2,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        preserved_share: float = 0.2,
        rules: Sequence[ToolRule] = (),
        clock: Clock = utc_now,
        listeners: Sequence[object] = (),
        store: Place | None = None,
        session_id: str = "session",
        provider: Format | None = None,
        prices: "Prices | None" = None,
        schedule: "Schedule | None" = None,
        machine: type[ContextMachine] = ContextMachine,
        embedder: "parts.Embedder | None" = None,
        summariser: "Summariser | None" = None,
        summarizer: "Summariser | None" = None,
    ) -> None:
        require("clock", clock, callable(clock), "a function that returns an aware datetime")
        legal = "a list of objects with methods such as on_compress, such as [Watcher()], and no "
        fits = is_list(listeners) and not any(isinstance(each, _NO_LISTENERS) for each in listeners)
        require("listeners", listeners, fits, f"{legal}classes or functions")
        methods = [getattr(embedder, name, None) for name in ("embed", "compare")]
        embeds = embedder is None or all(map(callable, methods))
        require("embedder", embedder, embeds, "an object with embed(texts) and compare(vectors, q)")
        self._embeddings = None if embedder is None else parts.Embeddings(embedder)
        budget = _DEFAULT_TOKENS if model is None and max_tokens is None else max_tokens
        self._room = room_of(model, budget, reserve, counter, provider=provider, tools=tools)
        self._clock = clock
        self._reports: Mapping[str, Any] = {}
        policy = construction.policy_of(
            construction.projector_of(projector, summariser or summarizer),
            rules,
            threshold,
            cooldown,
            auto=auto,
            prices=prices,
            schedule=schedule,
        )
        empty = construction.empty_conversation(
            self._room,
            policy.projector,
            classifier=classifier,
            preserved_share=preserved_share,
            machine=machine,
        )
        construction.attach_writer(self, empty, policy, store, session_id, listeners=listeners)

    @classmethod
    @with_usage
    def open(
        cls,
        url: Place,
        session_id: str = "session",
        model: Model = None,
        *,
        timeout: float = 5.0,
        **options: Unpack[OpenOptions],
    ) -> Self:
        """Return the session with this id as its last writer left it, or a new one.

        Args:
            url: the path of a SQLite file, a URL such as ``sqlite:///path`` (a fourth slash starts
                an absolute path), or a store.
            session_id: the id in the store.
            model: as for the constructor.
            timeout: how many seconds to wait while other processes write.
            options: the keyword options of the constructor.

        The budget comes from `model` or ``max_tokens=`` and is stored with the next commit. If you
        give neither, the stored budget is used. Close the session, or use it in a `with` block.
        Sessions of the same file share it within a process. If the last writer stopped in the
        middle of a tool call, see `open_calls`.

        Raises:
            StoreBusyError: other processes wrote for longer than `timeout` seconds, or another
                machine has the file open.
            StoreError: the store cannot be opened or is damaged. The message says what to do.
            InvalidOptionError: `url` cannot be a store, or an option is out of range.

        >>> from tempfile import mkdtemp
        >>> from pathlib import Path
        >>> from polycontext import ContextSession
        >>> file = Path(mkdtemp()) / "sessions.db"
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     _ = session.add_user_turn("Where is my parcel?")
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     [turn.text for turn in session.log()]
        ['Where is my parcel?']
        >>> (
        ...     ContextSession.history.list_sessions(file),
        ...     ContextSession.history.delete(file, "customer-17"),
        ... )
        (('customer-17',), True)
        """
        return construction.open_session(
            cls, url, session_id, model, timeout=timeout, options=options
        )

    aopen = _ClassTwin(open)  # noqa: A003 - the method above

    @classmethod
    def from_messages(
        cls,
        messages: Messages,
        model: Model = None,
        *,
        provider: Format = AUTO,
        oversize: Oversize = "truncate",
        **options: Unpack[NewOptions],
    ) -> Self:
        """Return a new session that contains a provider's message list.

        Args:
            messages: the messages, in order.
            model: as for the constructor.
            provider: the format of the list. It is detected by default.
            oversize: as in `add`.
            options: the keyword options of the constructor, except its `provider`.

        Raises:
            Any error that the constructor or `extend` raises. A user turn that does not fit raises
            only with ``oversize="error"``.

        >>> ContextSession.from_messages(
        ...     [{"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Hi"}]
        ... )
        ContextSession('session', ACCUMULATING, 3 turns, 21 of 8000 tokens, 3 in the log)
        """
        session = cls(model, **options)  # pyright: ignore[reportArgumentType] - no key is unknown
        session.extend(messages, provider, oversize=oversize)
        return session

    # --- adding turns --------------------------------------------------------------

    @procedure
    def add_system(self, content: str, **options: Unpack[AddOptions]) -> Steps[ContextOutput]:
        """Add a system turn; the options are those of `add`."""
        return self._add(self._turn(Role.SYSTEM, content), **options)

    aadd_system = twin(add_system)

    @procedure
    def add_user_turn(
        self, content: str, *, name: str | None = None, **options: Unpack[AddOptions]
    ) -> Steps[ContextOutput]:
        """Add a user turn; the options are those of `add`."""
        return self._add(self._turn(Role.USER, content, name=name), **options)

    aadd_user_turn = twin(add_user_turn)

    @procedure
    def add_assistant_turn(
        self,
        content: str | None = None,
        tool_calls: Iterable[Any] | None = None,
        **options: Unpack[AddOptions],
    ) -> Steps[ContextOutput]:
        """Add an assistant turn: its text, its tool calls, or both.

        Tool calls are `ToolCall` objects or the provider's own. The options are those of `add`.
        """
        calls = as_tool_calls(tool_calls)
        return self._add(self._turn(Role.ASSISTANT, content, tool_calls=calls), **options)

    aadd_assistant_turn = twin(add_assistant_turn)

    @procedure
    def add_tool_turn(
        self,
        content: str,
        *,
        tool_call_id: str,
        name: str | None = None,
        **options: Unpack[AddOptions],
    ) -> Steps[ContextOutput]:
        """Add the result of an open call; the options are those of `add`."""
        turn = self._turn(Role.TOOL, content, tool_call_id=tool_call_id, name=name)
        return self._add(turn, **options)

    aadd_tool_turn = twin(add_tool_turn)

    @procedure
    def add(
        self,
        turn: Turn,
        resource_class: ResourceClass | str | None = None,
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Add a turn; with `auto`, compress first if room is needed.

        Args:
            turn: a turn of any role.
            resource_class: overrides the classifier.
            oversize: what to do with a user turn that does not fit: truncate it in the view and
                keep it whole in the log, or raise with ``"error"``. Assistant turns and tool
                results are always accepted.
            when: `expected_revision` and `idempotency_key`; see the class.

        Raises:
            IllegalDirectionError: the turn is illegal in this state (ContextPressureError in
                PRESSURED without `auto`).
            OrderError: the turn breaks the order of tool calls and results.
            ContextOverflowError: a system turn, a pinned turn, or a user turn with
                ``oversize="error"`` does not fit even after compressing everything that may yield.
            ConflictError: `expected_revision` is not the current revision.
        """
        return self._write(Add(turn, resource_class, oversize), **when)

    aadd = twin(add)

    @procedure
    def extend(
        self,
        messages: Messages,
        provider: Format = AUTO,
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Add several turns, or a provider's messages, as one commit: all or none.

        The messages may continue the conversation: results of open calls come first. The format is
        detected unless you name a provider, and `oversize` is as in `add`. If a new conversation
        starts with the assistant, a marked user turn is inserted before it, and the output lists it
        as repaired.

        Raises:
            InvalidMessagesError: the messages break a rule of the provider, or are in another
                provider's format. The message names the index and the rule.
            Any error that `add` raises for one of the turns.

        >>> session = ContextSession(max_tokens=1000)
        >>> len(
        ...     session.extend(
        ...         [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        ...     ).window
        ... )
        2
        """
        return self._write(
            lambda: build_extend(self.conversation, messages, provider, oversize), **when
        )

    aextend = twin(extend)

    @procedure
    def add_message(
        self,
        message: object,
        provider: Format = AUTO,
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Add one message in a provider's format: JSON data or an SDK object; see `extend`.

        Raises:
            OrderError: an SDK object that was the last to be added is added again.
        """
        added, revision = self._added
        is_again = message is added and revision == self.conversation.revision
        if is_again and not isinstance(message, Mapping) and not when.get("idempotency_key"):
            raise OrderError("assistant", "it was just added", "each answer once")
        if isinstance(message, str):
            provider = AUTO  # as in add_message("user", "Hello"), whose first mistake is the text
        output = yield from self._write(
            lambda: build_extend(self.conversation, [message], provider, oversize), **when
        )
        self._added = message, self.conversation.revision
        return output

    aadd_message = twin(add_message)

    @procedure
    def attach(
        self,
        item: ContextItem,
        resource_class: ResourceClass | str | None = None,
        *,
        source: str | None = None,
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Add a context item as one user turn, REQUIRED by default.

        Under pressure the item is reduced to its outline, and it can be recalled.

        An item that is already in the view is not added again; a higher `resource_class` raises the
        class of its turn. If another item of this conversation has the same id, the new one gets a
        fresh id.

        Args:
            item: the item to attach.
            resource_class: overrides REQUIRED.
            source: names the origin. Defaults to the file name and lines of the item. A different
                text from the same source supersedes the earlier one, which then yields first.
            when: as in `add`.

        Raises:
            PluginError: the registered formatter of a custom kind failed.
            Any error that `add` raises for a user turn.
        """
        return self._write(Attach(item, source, resource_class), **when)

    aattach = twin(attach)

    @procedure
    def send_message(
        self,
        content: str,
        items: Items = (),
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Attach items, each alone or with its source, and add a user turn, all as one commit.

        `oversize` is as in `add`.
        """
        turn = Add(self._turn(Role.USER, content), oversize=oversize)
        return self._write(Together((*build_attaches(items), turn)), **when)

    asend_message = twin(send_message)

    @procedure
    def send(self, event: str | ContextInput, /, *args: Any, **kwargs: Any) -> Steps[ContextOutput]:
        """Send an event to the machine, by name with its arguments or as a `ContextInput`.

        An event takes the arguments of the method it stands for. An event that your own machine
        adds takes any JSON data. See docs/machine.md.

        Raises:
            UnknownNameError: the machine has no such event.
            Any error that the method raises.

        >>> session = ContextSession(max_tokens=8000)
        >>> session.send("user_turn", "Where is my parcel?").state
        <ContextState.ACCUMULATING: 'ACCUMULATING'>
        """
        return parts.dispatch.send_event(self, event, args, kwargs)

    asend = twin(send)

    @procedure
    def tick(self, now: datetime | None = None) -> Steps[tuple[str, ...]]:
        """Send the events of timers that have run out by `now`, and return their names.

        A session with a `schedule` also compresses if it is idle, which counts as ``compress``.

        A timer is a guard of your machine, `after(seconds)`, on an event that takes no arguments.
        It counts from the event that entered the state, so it goes on after a restart. Call this
        when the session is opened, and from time to time. See docs/machine.md.

        Raises:
            InvalidOptionError: `now` has no time zone.
        """
        return parts.dispatch.fire_timers(self, self._clock() if now is None else now)

    atick = twin(tick)

    def answer(self) -> "parts.Answer":
        """Open a streamed answer, which becomes one assistant turn when it is closed.

        While it is open, `output.answering` holds the text so far.

        Raises:
            SessionWriteError: an answer is already open.

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
        return parts.open_answer(self)

    @procedure
    def close_open_calls(self, reason: str, **when: Unpack[WriteOptions]) -> Steps[ContextOutput]:
        """Close every open call with a marked result that states the reason.

        Use it when the last writer stopped in the middle of a tool call. The output lists the
        results as repaired. Without open calls, nothing happens.
        """
        return (yield from self._write(build_results(self.conversation, reason), **when))

    aclose_open_calls = twin(close_open_calls)

    # --- compression and classes ------------------------------------------------------

    @procedure
    def compress(
        self, target: float | None = None, *, query: str | None = None, **when: Unpack[WriteOptions]
    ) -> Steps[ContextOutput]:
        """Compress the view to a target pressure; the output reports the result.

        Args:
            target: the pressure to compress to, from 0 to 1. Defaults to 40 % of the free budget,
                or to the low mark if that is lower.
            query: keeps turns that match this text verbatim where possible.
            when: as in `add`.

        Raises:
            FloorError: the projector's fulfilment would take an atom below the floor of its class.
            InvalidOptionError: `target` is not a number from 0 to 1, or `query` is not a string.
        """
        return self._write(Compress(target, query), **when)

    acompress = twin(compress)

    @procedure
    def clear(
        self, *, keep_system: bool = False, **when: Unpack[WriteOptions]
    ) -> Steps[ContextOutput]:
        """Clear the view; the log and the ledger keep everything.

        With `keep_system`, the system turns are added again in the same commit.

        >>> session = ContextSession(max_tokens=1000)
        >>> _ = session.add_system("Be brief."), session.add_user_turn("hello")
        >>> [turn.text for turn in session.clear(keep_system=True).window.all_turns()]
        ['Be brief.']
        """
        turns = self.window.all_turns() if keep_system else ()
        system = [self._turn(turn.role, turn.text) for turn in turns if turn.role is Role.SYSTEM]
        command = Together((Take(ContextInput.clear()), *map(Add, system)))
        return (yield from self._write(command, **when))

    aclear = twin(clear)

    @procedure
    def recall(
        self, resource_ids: str | Iterable[str], **when: Unpack[WriteOptions]
    ) -> Steps[ContextOutput]:
        """Restore atoms to VERBATIM from the log.

        Each id names any turn of an atom, or a gist.

        Raises:
            UnknownResourceError: the log does not know an id.
            ContextOverflowError: the window would immediately be pressured again.
            IllegalDirectionError: the session is EMPTY or PRESSURED.
        """
        return self._write(Recall(resource_ids), **when)

    arecall = twin(recall)

    @procedure
    def promote(
        self,
        resource_id: str,
        resource_class: ResourceClass | str,
        *,
        rationale: str = "",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Raise the class of a turn; classes are never lowered.

        A turn that becomes PRESERVED and that the view lacks is recalled.

        Raises:
            UnknownResourceError: there is no such id.
            DemotionError: the class is not higher.
            IllegalDirectionError: there is no view (EMPTY).
            ContextOverflowError: it leaves no room for a summary and the results of open calls.
        """
        promotion = ContextInput.promote(resource_id, resource_class, rationale)
        return self._write(Take(promotion), **when)

    apromote = twin(promote)

    @procedure
    def pin(
        self, resource_id: str, why: str = "", **when: Unpack[WriteOptions]
    ) -> Steps[ContextOutput]:
        """Keep a turn verbatim from now on, including its images.

        A turn that is already PRESERVED stays as it is. One that the view lacks is recalled.

        Raises:
            UnknownResourceError: there is no such id.
            IllegalDirectionError: there is no view (EMPTY).
            ContextOverflowError: it leaves no room for a summary and the results of open calls.
        """
        promotion = ContextInput.promote(resource_id, ResourceClass.PRESERVED, why)
        if self.window.linearity.get(resource_id) is ResourceClass.PRESERVED:
            return self.output
        return (yield from self._write(Take(promotion), **when))

    apin = twin(pin)

    # --- requests -----------------------------------------------------------------------

    @_listed
    def messages(
        self, provider: Format | None = None, *, allow_open: bool = False
    ) -> list[dict[str, Any]]:
        """Return the view as a valid message list for the provider, within budget.

        If the view has gone over its budget since the last commit, it is compressed first.

        Args:
            provider: the format. Defaults to the session's own.
            allow_open: return a list that ends on open calls, for inspection.

        Raises:
            InvalidMessagesError: the view is empty, or calls are open and `allow_open` is false; or
                it has system turns, which Anthropic takes outside the list: use `request`.
            ContextOverflowError: the view is over its budget, and either `auto` is off or nothing
                can yield.
            Any error that `compress` raises, if the view is compressed first.
        """
        return self.request(provider, allow_open=allow_open).alone()

    def request(
        self,
        provider: Format | None = None,
        *,
        allow_open: bool = False,
        cache: "bool | CachePlan" = False,
        options: Mapping[str, Any] | None = None,
    ) -> Rendered:
        """Return the view as a request: messages, options, and any separate system blocks.

        Args:
            provider: the format. Defaults to the session's own.
            allow_open: as in `messages`.
            cache: add breakpoints and a key for the provider's prompt cache (docs/cache.md).
            options: your own request fields, such as `thinking`. They are merged into the result's
                `options` and override the session's values (docs/cache.md).

        Raises:
            Any error that `messages` raises.
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
        prompts: "parts.PromptMaker | None" = None,
        **values: str | float,
    ) -> str:
        """Return one prompt text: the system prompt, the view as a transcript, and the task.

        The text is for the model only: never show it to a browser. It is within budget, as
        `messages` is, and does not mention resource classes. See docs/nodes.md.

        Args:
            agent_type: the name of the template.
            eigenvectors: names with shares from 0 to 1, or None.
            constraints: texts that the prompt states as constraints.
            task: the task, or None.
            system_only: leave the conversation out, for use beside `messages`.
            prompts: a prompt builder with your own templates.
            values: values for the names in the templates.

        Raises:
            InvalidMessagesError: calls are open.
            ContextOverflowError: the view is over its budget even after everything that may yield
                has.
            InvalidOptionError: an argument has the wrong type or value.
            PluginError: no prompt builder is installed, and you passed none.
        """
        maker = parts.plugins.maker_for(agent_type, eigenvectors, constraints, task, prompts)
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
        """Return tool definitions that let the model search, read and describe evicted turns.

        Send them with a request, and pass each call of them to `call_tool` (docs/agents.md). The
        format defaults to the session's own.

        Raises:
            UnknownNameError: there is no such provider.
        """
        return parts.context_tools.context_tools(
            self._room.provider if provider is None else provider
        )

    def call_tool(
        self,
        name: str,
        arguments: str | bytes | Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
    ) -> str:
        """Return the result of a call to one of `tools`, for you to add as its tool turn.

        The view does not change. If the model's call is wrong, the result says so and begins with
        ``"Error: "``.

        Args:
            name: the name of the tool.
            arguments: JSON text or a mapping, as the model gave them.
            max_tokens: the limit for the result, by the session's counter. Defaults to 2,000, or a
                quarter of the window if that is less.

        Raises:
            InvalidOptionError: `name` is not a string, `arguments` are neither JSON text nor a
                mapping, or `max_tokens` is not a whole number of at least 50.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("The code of the east door is 4711.")
        >>> _ = session.clear()
        >>> print(session.call_tool("context_search", '{"query": "east door"}'))
        Turns that say it and that you do not see whole, best first (context_recall reads them):
        t1 user: The code of the east door is 4711.
        """
        return parts.context_tools.answer_call(
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
        """Make the conversation equal to `turns`, its complete list of turns.

        The turns after the longest common prefix are added as one commit. If the conversation
        differs after that prefix (an edited message, a withdrawn answer), it is first rewound to
        it; the journal keeps both versions. Syncing the same turns again changes nothing. Turns are
        compared by role, content, calls and parts, not by id, time or metadata. A user turn that
        does not fit is truncated in the view.

        Args:
            turns: every turn, from the first one.
            handles: your own objects for the turns, one for each. `view` returns them.
            repair: add marked results to calls that have none, omit results without a call (with a
                warning in the log), and insert a user turn if the assistant comes first. Without
                it, such turns raise.
            rewind: without it, a conversation that differs raises `ConflictError` and is not
                changed.

        Raises:
            ConflictError: a rewind is needed, and `rewind` is False.
            InvalidOptionError: the number of handles is not the number of turns.
            InvalidTurnError: an element is not a turn.
            OrderError: without `repair`, a turn breaks the order of calls and results.
            ContextOverflowError: the system turns leave no room.

        >>> from polycontext import ContextSession, Turn
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.sync([Turn("user", "Red or blue?"), Turn("assistant", "Red.")])
        >>> _ = session.sync([Turn("user", "Red or blue?"), Turn("assistant", "Blue.")])
        >>> [turn.text for turn in session.log()]
        ['Red or blue?', 'Blue.']
        """
        return parts.sync(self, turns, handles, repair=repair, rewind=rewind)

    asynced = twin(sync)

    @procedure
    def view(
        self,
        *,
        reserve: int = 0,
        tools: Sequence[Mapping[str, Any]] | None = (),
        system: str | None = None,
    ) -> "Steps[tuple[parts.Seen, ...]]":
        """Return the view: your own objects for whole turns, and gists in place of the others.

        The result is a tuple of `Kept` and `Gist` entries. It is valid, and fits beside what this
        request adds; if necessary, the view is compressed first. Calling `view` again returns the
        same result. It counts as a request, as `messages` does, so `usage.reported` learns from the
        provider's usage.

        Args:
            reserve: tokens kept free for the reply.
            tools: tool definitions of the request. Reserve and tools that the session already
                subtracts count once.
            system: a system prompt that is not a turn.

        Raises:
            ContextOverflowError: the view does not fit even after everything that may yield has.
            InvalidOptionError: an argument has the wrong type or value.
        """
        return parts.view(self, reserve, tools, system)

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
        r"""Return the session of a sub-agent, in the same store and with the same options.

        The child starts with the parent's system turns (or `system`), the user's standing
        instructions, the turns that `tells` selects, and the task. `hand_back` gives its result to
        this session. Calling `child` again with the same arguments, even after a restart, returns
        the same child in its current state. See docs/agents.md.

        Args:
            task: the task of the sub-agent.
            child_id: the session id of the child.
            max_tokens: the child's budget. Defaults to this session's budget.
            tells: ids of turns, or a text to search turns by. The turns take at most a quarter of
                the child's window.
            call: the id of the open call that the child's result answers.
            system: replaces the parent's system turns.
            tools: the child's own tool definitions.

        Raises:
            ConflictError: a session with that id exists and is not this child.
            UnknownResourceError: `tells` names an unknown turn.
            InvalidOptionError: there is no task, or no open call with that id.
            ContextOverflowError: the child's first turns do not fit.

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
        return parts.children.open_child(
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
        """Add this child's result to its parent as one turn, and return the parent's output.

        The text defaults to the child's last assistant text. It becomes the result of the call that
        the child was opened for, or otherwise an attached text. Handing back the result again
        adds nothing, which a warning says. A child without a call that went on may hand back
        another result.

        Raises:
            InvalidOptionError: this session was not returned by `child`, or it has no assistant
                text yet.
            OrderError: the parent waits for the results of other calls.
        """
        return parts.children.hand_back(self, text)

    ahand_back = twin(hand_back)

    @procedure
    def invoke(self, path: str, /, *arguments: Any, **options: Any) -> Steps[Any]:
        """Call a path of the session by name and return its result (docs/paths.md).

        Raises:
            UnknownPathError: there is no such path. The message names similar ones.
            InvalidDataError: an argument is missing, unknown, given twice or superfluous. The
                message names it.
            InvalidOptionError: an argument has an illegal value. The message names it and the legal
                values.
            Any error that the called method raises.

        Warns:
            DeprecationWarning: the path is deprecated. The message names its replacement.

        >>> from polycontext.polynomial import ContextSession
        >>> session = ContextSession(max_tokens=100)
        >>> _ = session.add_user_turn("Paint the house.")
        >>> session.invoke("self.context.window.focus").text
        'Paint the house.'
        """
        return parts.invoke(self, path, arguments, options)

    ainvoke = twin(invoke)

    # --- current state ----------------------------------------------------------------------

    def __repr__(self) -> str:
        now, view, writer = self.conversation, self.window, self._writer
        told = f"{now.state}, {len(view)} turns, {view.total_tokens} of {view.max_tokens} tokens"
        past = f"revision {now.revision} of " if writer.is_past else ""
        return f"ContextSession({past}{writer.session_id!r}, {told}, {len(now.log)} in the log)"

    @property
    def session_id(self) -> str:
        """Return the id of the session in its store."""
        return self._writer.session_id

    @property
    def state(self) -> State:
        """Return the machine's state."""
        return self.conversation.state

    @property
    def regions(self) -> Mapping[str, State]:
        """Return the states of the machine's other regions, by name (docs/machine.md)."""
        return self.conversation.regions

    @property
    def pressure(self) -> float:
        """Return the tokens used, divided by the max tokens of the window."""
        return pressure_of(self.conversation.window)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls of the last atom that have no result yet, in order.

        A writer that stopped in the middle of a tool call leaves them. Execute them again, or close
        them with `close_open_calls`.
        """
        return find_open_calls(self.window)

    @property
    def machine(self) -> ContextMachine:
        """Return the live machine, which follows the session and sends its events to it.

        You can add python-statemachine listeners to it. An exception in a listener is logged and
        changes nothing. See docs/machine.md.
        """
        return parts.dispatch.machine_of(self)

    @_listed
    def log(self) -> tuple[Turn, ...]:
        """Return every turn ever accepted, in order, including those that left the view."""
        return tuple(self.conversation.log)

    def explain(self, resource_id: str) -> "parts.Explained":
        """Return the history of a turn: its class, who set it, why and when, and where it is now.

        If the turn left the view, the result also says which gist stands for it. O(journal).

        Raises:
            UnknownResourceError: no turn of this conversation has the id.
        """
        return parts.explain(self.conversation, self.history.events(), resource_id)

    def render(self) -> dict[str, Any]:
        """Return the JSON-ready props of a chat component (docs/server.md).

        They contain no system text and nothing about compression strategy.
        """
        renderer: parts.Renderer = parts.plugins.load(parts.plugins.RENDERERS, "chat")()
        return renderer.render_chat(self)

    # --- parts --------------------------------------------------------------------------------

    history = HistoryPart()
    """On a session, its `History`; on the class, the `Archive` of a store."""

    @property
    def usage(self) -> "parts.Usage":
        """Return what every request contains, and how a provider counts it."""
        return parts.Usage(self)

    @property
    def background(self) -> "parts.Background":
        """Return the background summaries, and compression in three steps."""
        background: parts.Background = self._background or parts.Background(self)
        self._background = background
        return background

    @property
    def rules(self) -> "parts.Rules":
        """Return the rules that the user stated, with methods to add and to end one."""
        return parts.Rules(self)

    @property
    def documents(self) -> "parts.Documents":
        """Return the JSON data kept beside the conversation."""
        return parts.Documents(self)

    # --- closing --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the store if this session opened it, and cancel a background summary.

        Closing twice does nothing more. Values that you have read stay readable.
        """
        if self._background is not None:
            self._background.cancel()
        if self._opened is not None:
            self._opened.close()

    aclose = twin(close)

    if not TYPE_CHECKING:
        # The reference lists what the class itself has.
        conversation, window = Session.conversation, Session.window
        output, policy = Session.output, Session.policy

        def __setattr__(self, name: str, value: object) -> None:
            is_option = name in SessionOptions.__annotations__
            if is_option or isinstance(getattr(type(self), name, None), property):
                opening = f"ContextSession.open(store, id, {name}=...)"
                legal = opening if is_option else "an event that changes it: session.send(event)"
                raise AttributeError(f"{name} cannot be set. Use {legal}.")
            super().__setattr__(name, value)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    # --- internals --------------------------------------------------------------------------------

    def _add(
        self,
        turn: Turn,
        resource_class: ResourceClass | str | None = None,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        return self._write(Add(turn, resource_class, oversize), **when)
