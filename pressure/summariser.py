"""What stands between turns and their gist: anything that can say the same in fewer tokens."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from polycontext.window import TokenCounter, Turn


@runtime_checkable
class Summariser(Protocol):
    """Summarise turns within a number of tokens; any class with this method will do (design §6).

    What it returns is an offer: whoever commits a plan checks that it is not
    empty and keeps to its allowance. What it reads is data, never instructions.

    >>> class FirstWords:
    ...     def summarise(self, turns, max_tokens, *, counter, query=None):
    ...         return " ".join(turns[0].text.split()[:max_tokens])
    >>> isinstance(FirstWords(), Summariser)
    True
    """

    def summarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return a text of at most `max_tokens` as `counter` counts them; `query` says what the reader will ask next."""
        ...


@runtime_checkable
class AsyncSummariser(Protocol):
    """Summarise turns without blocking: the twin of `Summariser` for models behind a network."""

    async def asummarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return what `Summariser.summarise` returns."""
        ...
