"""The runner: it asks the node of the machine's state, and commits what the node answered."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from time import monotonic
from typing import Any, Never, cast

from attrs import define, field, frozen

from polycontext.agent_context import ArtifactExternalizer
from polycontext.base import CallerError, InvalidDataError, UnknownNameError, guided, require
from polycontext.base.calls import misused
from polycontext.base.effects import (
    Effect,
    Steps,
    adrive,
    call,
    in_thread,
    procedure,
    running,
    twin,
)
from polycontext.base.json_data import thaw
from polycontext.nodes import Now, PromptBuilder
from polycontext.nodes.builders import Node
from polycontext.pills import PillDocument, resolve_document
from polycontext.pills.message import items_of
from polycontext.pills.resolver import Resolver
from polycontext.polynomial import ContextSession, ContextState, InputKind
from polycontext.polynomial.journal import SPENT, Spent, is_erased
from polycontext.pressure import ConflictError
from polycontext.pressure.schedule import Prices
from polycontext.window import Role, ToolCall, Turn

from .answers import SUMMARIZE, Blocked, Deed, ToolUse, Written
from .forms import AnswerError, Form, Ref, data_of, read_answer
from .machine import AgentMachine
from .memory import AgentMemory
from .requests import Model, ModelRequest, as_model, request_of
from .shared import SharedContext
from .tools import Tool, ToolError, as_data, by_name, result_turn

_log = logging.getLogger("polycontext.agents")
_MOST_STEPS = 40
_NO_TEXT = "the reply has no text."
_BEGUN = "[no result: the call began and was stopped; the tool may have run, or not]"


@frozen
class Pieces:
    """The pieces of a reply, for ``async for`` or, where no event loop runs, for ``for``."""

    _pieces: AsyncGenerator[str]

    def __aiter__(self) -> AsyncGenerator[str]:
        return self._pieces

    async def aclose(self) -> None:
        """Store what was yielded, and end."""
        await self._pieces.aclose()

    def __iter__(self) -> Generator[str]:
        with asyncio.Runner() as runner:
            try:
                while (piece := runner.run(self._next())) is not None:
                    yield piece
            finally:
                runner.run(self.aclose())

    async def _next(self) -> str | None:
        return await anext(self._pieces, None)


@guided
@define
class Agent:
    """The nodes of a session's machine, run with a model and tools.

    Each answer of a node is one event of the session. After a crash or a cancellation, `run` goes
    on where the journal ends, and asks nothing again that is stored.

    Args:
        session: a session whose machine is `AgentMachine`, or a subclass.
        model: what answers: a function of the request, or a `Model`.
        tools: what Act may call: functions, or each a `Tool`.
        summarizes: whether Summarize is asked after each reply. If it fails, a log record says so.
        persona: traits from 0 to 1 that Reply shows, such as ``{"warmth": 0.9}`` (docs/nodes.md).
        artifacts, prices: see `SharedContext`.
        prompts: the templates of the nodes' prompts, the package's by default (docs/nodes.md).

    Raises:
        InvalidOptionError: the machine of the session has no nodes, the model or a tool is none,
            two tools have one name, or a trait of the persona is not a number from 0 to 1.
    """

    session: ContextSession
    model: Model = field(converter=as_model)
    tools: Mapping[str, Tool] = field(converter=by_name, factory=dict[str, Tool])
    summarizes: bool = field(default=False, kw_only=True)
    persona: Mapping[str, float] = field(factory=dict[str, float], kw_only=True)
    prompts: PromptBuilder = field(factory=PromptBuilder, kw_only=True)
    artifacts: ArtifactExternalizer | None = field(default=None, kw_only=True, repr=False)
    prices: Prices | None = field(default=None, kw_only=True, repr=False)
    shared: SharedContext = field(init=False, repr=False)
    """The context that the agent shares with others."""
    _spent: dict[str, Spent] = field(init=False, repr=False, factory=dict[str, Spent])
    """The calls of each node that are not stored yet."""
    _untried: set[str] = field(init=False, repr=False, factory=set[str])
    """The ids of the calls that were stored here, and whose tools have not begun."""

    def __attrs_post_init__(self) -> None:
        machine = self.session.conversation.machine
        legal = "a session with machine=AgentMachine, or a subclass of it"
        require("session", machine.__name__, issubclass(machine, AgentMachine), legal)
        self.shared = SharedContext(self.session, artifacts=self.artifacts, prices=self.prices)
        self.prompts.describe(self.persona)  # refuses it now, not when Reply is asked

    @property
    def memory(self) -> AgentMemory:
        """Return what the agent remembers at the session's revision."""
        return self.shared.memory

    @property
    def now(self) -> Now:
        """Return what nodes read at the session's revision; see `build_context`."""
        return self.memory.now(self.session.output)

    @property
    def _offered(self) -> Mapping[str, Tool]:
        """The tools of Act, with one that reads the archive once there is something in it."""
        if not self.memory.conversation.content_archive:
            return self.tools
        told = "Returns what is archived under a key."
        return {"retrieve": Tool("retrieve", self._retrieve, told), **self.tools}

    def _retrieve(self, key: str, **_: str) -> Any:
        try:
            return self.memory.conversation.retrieve(key)
        except UnknownNameError as error:
            raise ToolError(str(error)) from None

    @property
    def _node(self) -> Node | None:
        nodes = self.session.conversation.machine.regions["node"].nodes
        return cast("Node | None", nodes.get(self.session.regions["node"]))

    __call__ = misused

    # --- what users call -----------------------------------------------------------------

    @procedure
    def send(
        self,
        text: str,
        resolvers: Iterable[Resolver] = (),
        *,
        idempotency_key: str | None = None,
    ) -> Steps[str]:
        """Add the user's message with what its pills name, and return the reply.

        A message that is sent again under its key is added once. Calls that are still open are
        closed with a marked result, as the user did not wait for them.

        Raises:
            AnswerError: a node gave no usable answer, twice. The steps before it are stored.
            NodeBudgetError: what a node must read takes more than its budget; see `build_context`.
            Any exception of the model, of a tool and of `ContextSession.send_message`.
        """
        yield from self._hear(text, resolvers, idempotency_key)
        yield call(self, "run")
        return self._reply

    asend = twin(send)

    @procedure
    def run(self, *message: Never) -> Steps[str]:
        """Take the steps that are left, and return the reply.

        Raises:
            Any exception of `send`.
            TypeError: a message is given, which `send` takes.
        """
        if message:
            raise TypeError("run takes no message. Use agent.send(text).")
        yield from self._prepare()
        yield call(self, "step")
        return self._reply

    arun = twin(run)

    @procedure
    def step(self) -> Steps[None]:
        """Run the oldest open call, or ask the node of the machine's state; store what it answers.

        Use it where another framework runs the nodes. Without a node, nothing happens.

        Raises:
            Any exception of `send`.
        """
        node, place = self._node, self.memory.place
        if node is None:
            return
        self._check_room(node)
        if calls := self.session.open_calls:
            yield from self._use(calls[0])
        elif node.answers is not None:
            yield from self._answer(node)
        else:
            yield from self._commit(node, (yield from self._text(node)), place)
            yield call(self, "summarize")

    astep = twin(step)

    def stream(
        self,
        text: str,
        resolvers: Iterable[Resolver] = (),
        *,
        idempotency_key: str | None = None,
    ) -> "Pieces":
        """Send a message, and iterate over the reply in pieces; it is stored when it ends.

        Use ``async for`` where an event loop runs, and ``for`` where none does. If the iteration is
        closed early, what was yielded is stored.
        """
        return Pieces(self._stream(text, resolvers, idempotency_key))

    async def _stream(
        self, text: str, resolvers: Iterable[Resolver], idempotency_key: str | None
    ) -> AsyncGenerator[str]:
        await adrive(self._hear(text, resolvers, idempotency_key))
        if self._node is None:  # a message that was answered already
            yield self._reply
            return
        async with self.session.answer() as answer, aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                answer.add(piece)
                yield piece
        await self.asummarize()

    async def pieces(self) -> AsyncGenerator[str]:
        """Take the steps before the reply, and yield the reply.

        The caller stores it, and then calls `asummarize`.
        """
        await adrive(self._prepare())
        node = self._node
        if node is None or node.answers is not None:
            return
        self._check_room(node)
        request = self._request(node, self._voice)
        stream = getattr(self.model, "stream", None)
        if stream is None:
            yield await adrive(self._text(node))
            return
        is_blank, report, began = True, dict[str, Any](), monotonic()
        async with aclosing(stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Mapping):
                    report.update(piece)
                    continue
                is_blank = is_blank and not piece.strip()
                yield piece
        self._note(node, report, began)
        if is_blank:
            raise AnswerError(node.name, _NO_TEXT)
        spent = self._spent.pop(node.name).to_data()
        await self.session.asend(Written.event, data_of(Written(Ref(node.name))), spent=spent)

    @procedure
    def summarize(self) -> Steps[None]:
        """Ask Summarize about the stored reply if the agent `summarizes`, as `send` does."""
        if self.summarizes and self.memory.is_answered and self._node is None:
            try:
                yield from self._answer(SUMMARIZE)
            except Exception as error:  # noqa: BLE001 - a model may raise anything
                _log.warning("nothing was summarized: %s: %s", type(error).__name__, error)

    asummarize = twin(summarize)

    @procedure
    def write(
        self,
        agent: str,
        changes: Mapping[str, Any] | None = None,
        *,
        append: Mapping[str, Any] | None = None,
        usage: object = None,
    ) -> Steps[None]:
        """Write keys of the shared context as another agent; see `SharedContext.write`."""
        yield call(self.shared, "write", agent, changes, append=append, usage=usage)

    awrite = twin(write)

    # --- the steps --------------------------------------------------------------------------

    def _hear(
        self, text: str, resolvers: Iterable[Resolver], idempotency_key: str | None
    ) -> Steps[None]:
        key = idempotency_key
        if key and (yield in_thread(self.session.history.has_taken, key)):
            return
        message = yield in_thread(resolve_document, PillDocument.parse(text), resolvers)
        if self.session.open_calls:
            yield call(self.session, "close_open_calls", "the user went on")
        yield call(
            self.session, "send_message", message.text, items_of(message), idempotency_key=key
        )

    @property
    def _reply(self) -> str:
        """The last text of the assistant."""
        turns = reversed(self.session.log())
        return next((turn.text for turn in turns if turn.role is Role.ASSISTANT), "")

    @property
    def _is_prepared(self) -> bool:
        """Whether nothing is left to do before the reply."""
        node = self._node
        return node is None or (node.answers is None and not self.session.open_calls)

    def _prepare(self) -> Steps[None]:
        """Take the steps before the reply."""
        for _ in range(_MOST_STEPS):
            if self._is_prepared:
                return
            yield call(self, "step")
        if not self._is_prepared:
            why = f"there was no reply after {_MOST_STEPS} steps"
            yield call(self.session, "close_open_calls", why)
            yield call(self.session, "send", Blocked.event, data_of(Blocked(why)))

    def _check_room(self, node: Node) -> None:
        """Raise before a model or tool is asked if its turn would be refused: it would be lost."""
        kind = InputKind.TOOL_TURN if self.session.open_calls else InputKind.ASSISTANT_TURN
        # With `auto`, the session makes room by itself; other regions may refuse all the same.
        makes_room = self.session.policy.auto and self.session.state is ContextState.PRESSURED
        if not makes_room and (kind is InputKind.TOOL_TURN or node.answers in (None, Deed)):
            now = self.session.conversation
            now.machine.places.check(now.place, kind)

    def _text(self, node: Node) -> Steps[str]:
        """Ask a node for text; ask once more if it says nothing."""
        request = self._request(node, self._voice)
        for _ in range(2):
            text = yield from self._ask(node, request)
            if isinstance(text, str) and text.strip():
                return text
        raise AnswerError(node.name, _NO_TEXT)

    def _answer(self, node: Node) -> Steps[None]:
        """Ask a node for its form, and commit it; a broken answer is sent back once.

        It is dropped if the exchange has moved on meanwhile.
        """
        why, place = "", self.memory.place
        for _ in range(2):
            task = self.prompts.section("refusal", refusal=why)
            said = yield from self._ask(node, self._request(node, task))
            if self.memory.place != place:
                return
            try:
                answer = self._read(node, said)
            except (CallerError, ValueError, LookupError) as error:
                why = str(error)
            else:
                yield from self._commit(node, answer, place)
                return
        raise AnswerError(node.name, why)

    def _read(self, node: Node, said: object) -> Form:
        assert node.answers is not None
        answer: Form = read_answer(node.answers, said)
        if isinstance(answer, Deed) and answer.calls:
            for use in answer.calls:
                self._check_use(use)
        else:
            answer.after(self.memory)
        return answer

    def _check_use(self, use: ToolUse) -> None:
        if use.tool not in self._offered:
            legal = ", ".join(self._offered) or "no tool: there are none"
            raise InvalidDataError("$.calls", f"there is no tool {use.tool!r}", legal)
        registry = self.memory.conversation.id_registry
        self._offered[use.tool].arguments(thaw(use.arguments), registry)

    def _commit(self, node: Node, answer: str | Form, place: object) -> Steps[None]:
        """Commit an answer; if another writer was first, check it again without asking again.

        It is dropped if the exchange has moved on.
        """
        session, state = self.session, self.session.regions
        while (seen := session.conversation).regions == state and not session.open_calls:
            memory = self.memory
            if memory.place != place:
                return
            try:
                yield self._commit_of(node, answer, memory, seen.revision)
            except ConflictError:
                yield call(session.history, "refresh")
            else:
                self._spent.pop(node.name, None)
                return

    def _commit_of(
        self, node: Node, answer: str | Form, memory: AgentMemory, revision: int
    ) -> Effect:
        session, when = self.session, {"expected_revision": revision}
        spent = {SPENT: self._spent[node.name].to_data()} if node.name in self._spent else {}
        if isinstance(answer, str):
            return call(session, "add", Turn(Role.ASSISTANT, answer, metadata=spent), **when)
        if isinstance(answer, Deed) and answer.calls:
            # A revision never comes again, so no id does, whatever is rewound.
            calls = [
                ToolCall(f"r{revision}_{number}", use.tool, json.dumps(thaw(use.arguments)))
                for number, use in enumerate(answer.calls)
            ]
            self._untried.update(each.id for each in calls)
            made = Turn(Role.ASSISTANT, answer.outcome or None, tool_calls=calls, metadata=spent)
            return call(session, "add", made, **when)
        answer.after(memory)
        left = {"left": len(memory.plan) - 1} if isinstance(answer, Deed) else {}
        return call(session, "send", answer.event, data_of(answer), **left, **spent, **when)

    def _use(self, made: ToolCall) -> Steps[None]:
        """Run a call that is stored, and store its result, unless the call was closed meanwhile."""
        key = f"{self.session.session_id}/{made.id}"
        turn = yield from self._result(made, key)
        if made in self.session.open_calls:
            yield call(self.session, "add", turn, idempotency_key=key)

    def _result(self, made: ToolCall, key: str) -> Steps[Turn]:
        """Run a call, and return its result, or why there is none."""
        tool = self._offered.get(made.name)
        if tool is None:
            return result_turn(made, f"[no result: there is no tool {made.name}]")
        if self._is_forgotten(made):
            return result_turn(made, "[no result: the call was forgotten]")
        try:
            registry = self.memory.conversation.id_registry
            arguments = tool.arguments(json.loads(made.arguments), registry)
        except CallerError as error:  # the tool has changed since the call was stored
            return result_turn(made, f"[no result: {error}]")
        if not tool.repeats and made.id not in self._untried:
            return result_turn(made, _BEGUN)
        self._untried.discard(made.id)
        try:
            ran = running(f"tool {tool.name}", tool.run, **{**arguments, **tool.keyed(key)})
            result = as_data((yield ran))
        except ToolError as error:
            return result_turn(made, str(error))
        return tool.turn_of(made, arguments, result, self.memory)

    def _is_forgotten(self, made: ToolCall) -> bool:
        turns = (turn for turn in reversed(self.session.log()) if made in turn.tool_calls)
        return any(map(is_erased, turns))

    # --- asking the model -------------------------------------------------------------------

    def _request(self, node: Node, task: str) -> ModelRequest:
        return request_of(
            node,
            self.memory,
            self.session.output,
            self._offered,
            prompts=self.prompts,
            task=task,
        )

    @property
    def _voice(self) -> str:
        return self.prompts.describe(self.persona)

    def _ask(self, node: Node, request: ModelRequest) -> Steps[Any]:
        """Ask the model, in a thread if it has no `acomplete`, and return what it says."""
        began, asked = monotonic(), running("model", self.model.complete, request)
        own = getattr(self.model, "acomplete", None)
        said = yield asked if own is None else asked._replace(ado=partial(own, request))
        is_message = isinstance(said, Mapping) and said.get("role") == Role.ASSISTANT
        self._note(node, said if is_message else {}, began)
        return said.get("content") if is_message else said

    def _note(self, node: Node, report: Mapping[str, Any], began: float) -> None:
        """Note a call of a node, to be stored with what it answers."""
        took = round(1000 * (monotonic() - began))
        spent = self.shared.spent(node.name, report, took)
        before = self._spent.get(node.name)
        self._spent[node.name] = spent if before is None else before + spent
