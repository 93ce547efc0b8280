"""The props of a chat component: only what a browser may see.

The frontend never sees a prompt (docs/server.md). Props are built from a closed list of fields, so
that anything added to a turn later stays private by default.
"""

from collections.abc import Collection
from importlib.resources import files
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    VALID_DIRECTIONS,
    ContextOutput,
    ContextSession,
    ContextState,
    InputKind,
)
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.items import attachment_of
from polycontext.window.items.attachment import shown_text

from ..endings import kept_ending

Status = Literal["ready", "thinking", "compressed"]


class MessageProps(TypedDict):
    """One message to show."""

    id: Annotated[str, "the id of the turn or of the summary"]
    role: Annotated[
        Literal["user", "assistant", "summary"],
        "the speaker; a summary replaces earlier messages",
    ]
    content: Annotated[
        str,
        (
            "the text; for an attachment its name, as [@name]; "
            "for a summary, the number of messages it replaces"
        ),
    ]
    timestamp: Annotated[str, "the time, as ISO 8601 with an offset"]
    isPreserved: Annotated[bool, "whether it is kept verbatim"]


class ActionProps(TypedDict):
    """The actions that the session accepts now; none while a streamed answer is open.

    A session that compresses automatically makes room for a message.
    """

    send: Annotated[bool, "whether a user turn is accepted"]
    compress: Annotated[bool, "whether a compression is accepted"]
    clear: Annotated[bool, "whether the conversation may be cleared"]


class EndingProps(TypedDict):
    """How the last answer ended."""

    kind: Annotated[
        Literal[
            "done",
            "stopped",
            "cut_off",
            "refused",
            "empty",
            "too_long",
            "failed",
            "timed_out",
            "died",
        ],
        "how it ended",
    ]
    messageId: Annotated[str, "the id of the answer, or of the last message before it"]
    text: Annotated[str, "what to tell the user"]
    retryAt: Annotated[str | None, "when to ask again, if the service says so"]


class ChatProps(TypedDict):
    """The props of a chat component."""

    messages: Annotated[list[MessageProps], "the messages of user and assistant, oldest first"]
    pressure: Annotated[float, "tokens used / max tokens; above 1 if a turn exceeded the budget"]
    status: Annotated[Status, "the status of the conversation"]
    phase: Annotated[
        str,
        "more than the status: the step of an agent, such as acting, pressured, or another state",
    ]
    answering: Annotated[bool, "whether an answer is being written"]
    ending: Annotated[EndingProps | None, "how the last answer ended, if it is known"]
    canSend: Annotated[bool, "false while pressured, calls are open or an answer streams in"]
    actions: Annotated[ActionProps, "the actions to offer"]


@frozen
class ComponentRenderer:
    """Render a session as the props of a React component (docs/server.md).

    Props show the texts of user and assistant, the names of attachments, and how many messages a
    gist stands for. They never show system turns, tool calls and results, the contents of
    attachments, the texts of summaries, classes or the strategy. Law: no private text reaches the
    props.

    >>> session = ContextSession(max_tokens=1000)
    >>> _ = session.add_system("Secret instructions."), session.add_user_turn("hello")
    >>> props = ComponentRenderer().render_chat(session)
    >>> [message["content"] for message in props["messages"]], props["status"], props["canSend"]
    (['hello'], 'thinking', True)
    """

    shown: ClassVar[frozenset[Role]] = frozenset({Role.USER, Role.ASSISTANT})

    def render_chat(
        self, session: ContextSession, *, answering: bool | None = None
    ) -> dict[str, Any]:
        """Return the props of `session` as JSON-ready data; see `render_output`."""
        output, places = session.output, session.conversation.machine.places
        regions = output.regions.values()
        # A session under pressure compresses before it accepts a message, if the others do.
        makes_room = places.legal(places.place((ContextState.COMPRESSED, *regions)))
        props = self.render_output(
            output,
            auto=session.policy.auto and InputKind.USER_TURN in makes_room,
            answering=answering,
            legal=places.legal(places.place((output.state, *regions))),
        )
        is_over = not props["answering"] or answering is False
        return {**props, "ending": kept_ending(session) if is_over else None}

    def render_output(
        self,
        output: ContextOutput,
        *,
        auto: bool = True,
        answering: bool | None = None,
        legal: Collection[str] | None = None,
    ) -> ChatProps:
        """Return the props of a machine's output.

        Args:
            output: The output of the machine.
            auto: Whether the session compresses before it accepts a message.
            answering: Whether an answer is being written. By default it is true while an answer is
                open, or while the last turn is not the assistant's. If it is False, calls that are
                open were left by a crash: `actions` offers to send, since `Agent.send` and the
                server close them.
            legal: The events that are allowed in this state, for a custom machine.
        """
        is_idle = answering is False
        answering = (
            output.answering is not None or _awaits_assistant(output.window)
            if answering is None
            else answering
        )
        # Read from the table, so that a button cannot offer an event that the machine would refuse.
        legal = VALID_DIRECTIONS.get(output.state, ()) if legal is None else legal
        legal = () if output.answering is not None else legal
        waits = bool(output.window.open_calls)
        can_send = InputKind.USER_TURN in legal and not waits
        is_deferred = auto and output.state is ContextState.PRESSURED and not waits and legal
        is_left = waits and is_idle and InputKind.USER_TURN in legal
        turns = (
            turn
            for turn in output.window.all_turns()
            if turn.role in self.shown and (turn.text or turn.is_gist)
        )
        return {
            "messages": [self._message(output.window, turn) for turn in turns],
            "pressure": output.pressure,
            "status": _status(output, answering=answering),
            "phase": _phase(output, answering=answering),
            "answering": answering,
            "ending": None,
            "canSend": can_send,
            "actions": {
                "send": bool(can_send or is_deferred or is_left),
                "compress": InputKind.COMPRESS in legal,
                "clear": InputKind.CLEAR in legal,
            },
        }

    def render_history(
        self, session: ContextSession, before: str | None = None, limit: int = 100
    ) -> tuple[list[MessageProps], str | None]:
        """Return up to `limit` messages of the log, oldest first, and the id to page on from.

        Without `before` they are the newest messages; otherwise those before the message of that
        id.
        The second value is the `before` of the next page, or None on the last page.

        Raises:
            UnknownResourceError: No message of the log has the id.
        """
        log = session.conversation.log
        place = len(log) if before is None else log.place(before)
        shown: list[MessageProps] = []
        while place and len(shown) < limit:
            place -= 1
            turn = log[place]
            if turn.role in self.shown and turn.text:
                shown.append(self._message(session.window, turn))
        return shown[::-1], shown[-1]["id"] if place and shown else None

    def _message(self, window: ContextWindow, turn: Turn) -> MessageProps:
        return {
            "id": turn.resource_id,
            # A gist is stored under a provider's role, although nobody said it.
            "role": "summary"
            if turn.is_gist
            else "user"
            if turn.role is Role.USER
            else "assistant",
            "content": shown_text(turn),
            "timestamp": turn.timestamp.isoformat(),
            "isPreserved": window.class_of(turn) is ResourceClass.PRESERVED,
        }


def _status(output: ContextOutput, *, answering: bool) -> Status:
    if output.state is ContextState.COMPRESSED:
        return "compressed"
    return "thinking" if answering else "ready"


def _phase(output: ContextOutput, *, answering: bool) -> str:
    node = output.regions.get("node", "READY")
    if answering and node != "READY":
        return node.lower()
    if output.state is ContextState.PRESSURED or not isinstance(output.state, ContextState):
        return str(output.state).lower()
    return _status(output, answering=answering)


def _awaits_assistant(window: ContextWindow) -> bool:
    for turn in reversed(window.all_turns()):
        if turn.role is not Role.SYSTEM and not attachment_of(turn):
            return turn.role is not Role.ASSISTANT or bool(window.open_calls)
    return False


DECLARATION, SCHEMA = "props.d.ts", "props.schema.json"
"""The contract of the props as files of this package: TypeScript, and JSON Schema."""


def read_contract(name: str) -> str:
    """Return the text of an installed contract file, `DECLARATION` or `SCHEMA`."""
    return files("polycontext.nodes.props").joinpath(name).read_text(encoding="utf-8")
