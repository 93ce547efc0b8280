"""Numbered commands for a session, each of which is found in the log: once, twice, or in part."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from attrs import define, evolve

from polycontext.polynomial import ContextSession, Conversation, replay
from polycontext.window import ContextWindow
from tests.polynomial.conversations import WORDS

BUDGET = 400
SESSION = "s"
COUNTED = ("rounds", "acknowledged", "lost", "duplicated", "half", "told", "silent")


@define
class Tally:
    """The outcome of a fault: acknowledged commands, and those lost, doubled or torn.

    `told` counts the errors that said what to do, `silent` those that did not.
    """

    fault: str
    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    duplicated: int = 0
    half: int = 0
    told: int = 0
    silent: int = 0

    @property
    def ok(self) -> bool:
        """Tell whether nothing went wrong."""
        return not (self.lost or self.duplicated or self.half or self.silent)


def opened(place: Path | str, timeout: float = 60) -> ContextSession:
    """Open the session."""
    return ContextSession.open(place, SESSION, max_tokens=BUDGET, counter=WORDS, timeout=timeout)


def say(session: ContextSession, number: int) -> None:
    """Run command `number`: one turn, three turns, a call with its result, or a compression.

    A repeated command takes effect once.
    """
    key = f"command-{number}"
    told = [
        {"role": "user", "content": f"<{number}.{part}> is said"}
        for part in range(parts_of(number))
    ]
    match number % 7:
        case 3:
            answered = [told[0], {"role": "assistant", "content": told[1]["content"]}, told[2]]
            session.extend(answered, idempotency_key=key)
        case 5:
            call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            asked = {"role": "assistant", "content": told[0]["content"], "tool_calls": [call]}
            session.extend(
                [asked, {"role": "tool", "tool_call_id": "c", "content": told[1]["content"]}],
                idempotency_key=key,
            )
        case 6:
            session.compress(0.2, idempotency_key=f"{key}-first")
            session.add_user_turn(told[0]["content"], idempotency_key=key)
        case _:
            session.add_user_turn(told[0]["content"], idempotency_key=key)


def parts_of(number: int) -> int:
    """Return how many turns command `number` makes."""
    return {3: 3, 5: 2}.get(number % 7, 1)


def judge(session: ContextSession, last: int, tally: Tally) -> int:
    """Count the defects of a log in which all commands up to `last` were acknowledged.

    Return the last command in the log. That may be the one after `last`: a writer killed between a
    commit and its answer has acknowledged nothing.
    """
    parts = Counter(_marks(turn.text for turn in session.log()))
    numbers = {number for number, _ in parts}
    tally.lost += len(set(range(last + 1)) - numbers)
    tally.duplicated += sum(count - 1 for count in parts.values())
    tally.half += sum(
        sum((number, part) in parts for part in range(parts_of(number))) != parts_of(number)
        for number in numbers
    )
    tally.half += sum(number > last + 1 for number in numbers)
    replayed = replay(session.history.events(), Conversation(ContextWindow(BUDGET, counter=WORDS)))
    # What is saved beside a conversation is no event of it.
    tally.half += replayed != evolve(session.conversation, companions={})
    return max(numbers, default=-1)


def _marks(texts: Iterable[str]) -> Iterable[tuple[int, int]]:
    for text in texts:
        number, _, part = text.partition(">")[0].removeprefix("<").partition(".")
        yield int(number), int(part)
