"""Conversations, logs and summarisers that the tests of this room share."""

from collections.abc import Sequence

from polycontext.pressure import ContextProjector, Plan
from polycontext.pressure.plan import plan_at
from polycontext.testing import FAST
from polycontext.testing.strategies import Head
from polycontext.window import ContextWindow, Role, TokenCounter, ToolCall, Turn


class Says:
    """Return the same thing whatever it reads, even what is no text."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked = 0

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return or raise the answer."""
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[return-value]


HEAD = ContextProjector(Head())


def user(text: str) -> Turn:
    """Return a user turn."""
    return Turn(Role.USER, text)


def assistant(text: str) -> Turn:
    """Return an assistant turn."""
    return Turn(Role.ASSISTANT, text)


def calls(*names: str, arguments: str = "{}") -> Turn:
    """Return an assistant turn that calls each tool once; ids are reused from turn to turn."""
    return Turn(
        Role.ASSISTANT,
        None,
        tool_calls=tuple(ToolCall(f"c{n}", name, arguments) for n, name in enumerate(names)),
    )


def result(number: int, text: str, name: str | None = None) -> Turn:
    """Return the result of call number `number` of the last turn."""
    return Turn(Role.TOOL, text, tool_call_id=f"c{number}", name=name)


def words(number: int, count: int = 30) -> str:
    """Return a text of about 2 x `count` tokens, different for every number."""
    return " ".join(f"fact{number}x{each}" for each in range(count))


def talk(turns: int, *, first: int = 0, count: int = 30) -> list[Turn]:
    """Return `turns` long REQUIRED turns of user and assistant in turn."""
    return [
        (user if n % 2 == 0 else assistant)(words(n, count)) for n in range(first, first + turns)
    ]


def opened(max_tokens: int = 2_000, *, counter: TokenCounter = FAST) -> ContextWindow:
    """Return a window that holds a system turn and the task."""
    return extended(
        ContextWindow(max_tokens, counter=counter),
        [Turn(Role.SYSTEM, "You are careful."), user("Write the report.")],
    )


def extended(window: ContextWindow, turns: Sequence[Turn]) -> ContextWindow:
    """Return the window with all `turns` appended."""
    for turn in turns:
        window = window.append(turn)
    return window


def ids(turns: Sequence[Turn]) -> list[str]:
    """Return the resource ids of the turns."""
    return [turn.resource_id for turn in turns]


def hard_plan(projector: ContextProjector, window: ContextWindow, room: int = 0) -> Plan:
    """Return the plan that gists older turns and cuts the newest results, plus `room` tokens."""
    ladder = projector.ladder(window)
    return plan_at(ladder, ladder.cut_newest, ladder.tokens[ladder.cut_newest] + room)
