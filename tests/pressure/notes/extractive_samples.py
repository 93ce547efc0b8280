"""Turns, counters and small talk that the tests of the extractive summariser share."""

from collections.abc import Sequence

from polycontext.pressure import ExtractiveSummariser
from polycontext.pressure.gist import summary_text
from polycontext.testing import FAST
from polycontext.window import TiktokenCounter, TokenCounter, ToolCall, Turn

EXACT = TiktokenCounter("o200k_base")


class Letters:
    """Count characters: the finest counter there is."""

    exact = True

    def count(self, text: str) -> int:
        """Return the characters of `text`."""
        return len(text)


class Words:
    """Count words: a giant line may cost a single token."""

    exact = True

    def count(self, text: str) -> int:
        """Return the words of `text`."""
        return len(text.split())


class Pairs:
    """Count begun pairs of characters, and eight for every start of a line but the first.

    A text takes more than its lines.
    """

    exact = True

    def count(self, text: str) -> int:
        """Return the pairs of characters, and eight for each inner line break."""
        return (len(text) + 1) // 2 + 8 * text.removesuffix("\n").count("\n")


class Noting:
    """Count with the estimator and note how often, and how much text, was counted."""

    exact = False

    def __init__(self) -> None:
        self.times = 0
        self.characters = 0

    def count(self, text: str) -> int:
        """Return the estimate for `text`."""
        self.times += 1
        self.characters += len(text)
        return FAST.count(text)


LETTERS = Letters()
COUNTERS: tuple[TokenCounter, ...] = (FAST, LETTERS, Words(), Pairs(), EXACT)


def user(text: str) -> Turn:
    """Return a user turn."""
    return Turn("user", text)


def assistant(text: str) -> Turn:
    """Return an assistant turn."""
    return Turn("assistant", text)


def called(name: str, arguments: str, result: str, call_id: str = "call_1") -> list[Turn]:
    """Return a call and its result."""
    return [
        Turn("assistant", None, tool_calls=[ToolCall(call_id, name, arguments)]),
        Turn("tool", result, tool_call_id=call_id),
    ]


def gist(body: str) -> Turn:
    """Return the turn that a summary `body` of two others ends up in."""
    return Turn("user", summary_text(body), sources=("a", "b"))


def summarise(
    turns: Sequence[Turn],
    max_tokens: int,
    *,
    counter: TokenCounter = EXACT,
    query: str | None = None,
) -> str:
    """Summarise with the default options."""
    return ExtractiveSummariser().summarise(turns, max_tokens, counter=counter, query=query)


SMALL_TALK = [
    user(f"The weather in town number {n} was mild and rather pleasant all day long.")
    for n in range(30)
]
BUSY_TALK = [user(f"There is booking QX{n:02}KZ somewhere in the list of them.") for n in range(30)]
