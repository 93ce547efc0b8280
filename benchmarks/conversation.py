"""Generated conversations of any length, and helpers that exclude the tokenizer's time."""

from collections.abc import Iterator, Sequence

from polycontext.window import TiktokenCounter, TokenCounter, ToolCall, Turn

_TOPICS = ("invoice", "parcel", "booking", "refund", "schedule", "contract", "sensor", "recipe")


def turns(count: int) -> Iterator[Turn]:
    """Yield `count` turns of an agent's conversation: question, call, result, answer, repeated."""
    for number in range(count):
        topic = _TOPICS[number // 4 % len(_TOPICS)]
        call = f"call_{number // 4}"
        match number % 4:
            case 0:
                yield Turn(
                    "user",
                    f"Please look into {topic} number {number} and tell me what you find there.",
                )
            case 1:
                yield Turn(
                    "assistant",
                    None,
                    tool_calls=(ToolCall(call, "look_up", f'{{"{topic}": {number}}}'),),
                )
            case 2:
                result = (
                    f'{{"{topic}": {number - 1}, "status": "open", "owner": "desk {number % 7}", '
                    f'"total": {number * 13 % 997}}}'
                )
                yield Turn("tool", result, tool_call_id=f"call_{number // 4}")
            case _:
                yield Turn(
                    "assistant",
                    (
                        f"The {topic} is still open; desk {number % 7} owns it. Shall I send a "
                        "reminder?"
                    ),
                )


class RememberingCounter:
    """A counter that tokenizes each text once and then answers from a cache.

    A second run therefore measures everything but tokenizing.
    """

    exact = True

    def __init__(self) -> None:
        self._counter = TiktokenCounter()
        self._counts: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        found = self._counts.get(text)
        if found is None:
            found = self._counts[text] = self._counter.count(text)
        return found


class InstantSummariser:
    """A summariser that answers at once, so that a model's time is excluded."""

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return a short summary at once."""
        return f"{len(turns)} messages about open cases."
