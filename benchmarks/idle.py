"""Price recorded agents whose users pause, with idle compression and by pressure alone.

Recordings are joined to conversations that outgrow their budget. A user returns after 1 to 90
minutes. Each request goes through Anthropic's published cache rules (breakpoints, five minutes,
1,024 tokens, writing at 1.25 and reading at 0.1 of the input price), and is priced at the list
prices of one model. Both ways see the same pauses.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from typing import Any

from attrs import define
from rich.console import Console
from rich.table import Table

from benchmarks.conversation import RememberingCounter
from benchmarks.retention.recordings import AGENTS, Message, recorded
from polycontext.cost import Meter, prices_of
from polycontext.polynomial import ContextSession
from polycontext.pressure import FixedThreshold
from polycontext.pressure.schedule import LIFETIMES, Schedule
from tests.vendors import StrictAnthropic

MODEL = "claude-sonnet-5"
MARKS = ((0.95, 0.5), (0.97, 0.8))
BUDGETS = (8_000, 32_000)
JOINED = {"tau": 6, "swe": 3}
"""How many recordings make one conversation."""
STEPS = {"tau": 1, "swe": 8}
"""After how many of their messages users pause; those of swe are results of commands."""
PAUSES = 60.0, 90 * 60.0
TICK = 60.0
_START = datetime(2026, 1, 1, tzinfo=UTC)


@define
class Clock:
    """The time of one run, in seconds since its start."""

    seconds: float = 0.0

    def __call__(self) -> datetime:
        """Return the time."""
        return _START + timedelta(seconds=self.seconds)


def joined(name: str) -> Iterator[list[Message]]:
    """Yield conversations of several recordings; one system message begins each."""
    recordings = recorded(name, "all")
    while several := [*islice(recordings, JOINED[name])]:
        messages = [each for one in several for each in one.messages]
        system = [each for each in messages if each["role"] == "system"][:1]
        yield [*system, *(each for each in messages if each["role"] != "system")]


def cost(
    messages: Sequence[Message],
    every: int,
    seed: int,
    max_tokens: int,
    marks: tuple[float, float],
    *,
    is_idle: bool,
) -> float:
    """Return the price of a conversation in US dollars."""
    clock, random = Clock(), Random(seed)  # noqa: S311 - nothing here is a secret
    provider = StrictAnthropic(
        lambda _: "Go on.", clock=lambda: clock.seconds, counter=RememberingCounter()
    )
    session = ContextSession(
        max_tokens,
        counter=RememberingCounter(),
        threshold=FixedThreshold(*marks),
        schedule=Schedule(LIFETIMES["anthropic"]) if is_idle else None,
        clock=clock,
    )
    meter, said = Meter(session, prices_of(MODEL)), 0
    for message in messages:
        clock.seconds += 2.0
        if message["role"] == "user":
            said += 1
            if said > 1 and said % every == 0:
                pause(session, clock, random.uniform(*PAUSES))
        if message["role"] == "assistant":
            request = session.request("anthropic", cache=True)
            body: dict[str, Any] = {"model": MODEL, "max_tokens": 1_000}
            body |= {"system": list(request.system), "messages": request.messages}
            meter.add(provider.create({**body, **request.options}))
        session.extend([message], "openai")
    assert meter.cost.money is not None
    return meter.cost.money


def pause(session: ContextSession, clock: Clock, seconds: float) -> None:
    """Let the user be away while a host ticks every minute."""
    end = clock.seconds + seconds
    while clock.seconds + TICK < end:
        clock.seconds += TICK
        session.tick(clock())
    clock.seconds = end


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the cost with idle compression as a share of that by pressure alone."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many series of pauses to draw")
    parser.add_argument("--most", type=int, default=12, help="conversations of each set")
    options = parser.parse_args(arguments)
    table = Table("set", "budget", "marks", "runs", "cost", "highest of a run", "lowest")
    for name in AGENTS:
        conversations = [*islice(joined(name), options.most)]
        for max_tokens in BUDGETS:
            for marks in MARKS:
                runs = [
                    [
                        cost(each, STEPS[name], seed, max_tokens, marks, is_idle=is_idle)
                        for is_idle in (False, True)
                    ]
                    for each in conversations
                    for seed in range(options.seeds)
                ]
                shares = [idle / plain for plain, idle in runs]
                whole = sum(idle for _, idle in runs) / sum(plain for plain, _ in runs)
                values = whole, max(shares), min(shares)
                table.add_row(
                    name,
                    f"{max_tokens // 1_000}k",
                    f"{marks[0]:.2f} / {marks[1]:.2f}",
                    str(len(runs)),
                    *(f"{value:.3f}" for value in values),
                )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
