"""Sessions from seeds, and what becomes of them: the same commands on any version of the code, told in facts that every version has.

A fact is what a caller can see: states, ids, classes, texts, tokens, errors. How the
inside keeps them (events, revisions, times) is not recorded.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from attrs import define

from polycontext.linearity import InvalidOptionError, PolycontextError, ResourceClass
from polycontext.polynomial import ContextSession, ContextState, IllegalDirectionError
from polycontext.pressure import ConflictError, ContextProjector, FixedThreshold, Signals
from polycontext.window import ContextItem, ContextWindow, ToolCall, Turn
from tests.golden.commands import Command, Memory, draw_command, draw_options
from tests.golden.material import Dice

Record = list[dict[str, Any]]

SEEDS = 10_000
ASYNC_TWINS = {"add", "add_system", "add_user_turn", "add_assistant_turn", "add_tool_turn", "attach", "compress", "clear", "recall"}

CHANGED: dict[tuple[ContextState, str], str] = {
    (ContextState.COMPRESSED, "compress"): "becomes legal: a summary written in the background may land while it cools",
    (ContextState.EMPTY, "promote"): "becomes illegal: promote is an input of the machine, and there is no view",
}
"""What will answer otherwise on purpose; these commands are left out, so that everything else compares exactly."""


class Ticking:
    """Tell a time that is a second later whenever somebody asks."""

    def __init__(self) -> None:
        self._now = datetime(2031, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        self._now += timedelta(seconds=1)
        return self._now


DIFFERENT: dict[int, str] = {}
"""Seeds whose session goes otherwise on purpose, each with its reason."""

RENAMED = {"target": "TargetError: target pressure {error.value!r}; legal: a number from 0.0 to 1.0 (tokens / max tokens)"}
"""How the record tells of options that are refused by the one error for all options now: nobody caught these leaves alone."""


def new_session(**options: Any) -> ContextSession:
    """Make a session as quick as there is one."""
    return ContextSession(**options)


def digest(data: object, length: int = 16) -> str:
    """Return the first characters of the SHA-256 of JSON data."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def trail(record: Record) -> str:
    """Return one hexadecimal digit a step, of all steps up to it: where two records part, their trails do, or shortly after."""
    digits, before = [], ""
    for step in record:
        before = digest([before, step])
        digits.append(before[0])
    return "".join(digits)


def play(seed: int) -> Record:
    """Return what every command of the session of `seed` led to."""
    dice = Dice(seed)
    options = draw_options(dice)
    count = dice.number(10, 60)
    made = {"command": {"do": "new_session", **{name: said(value) for name, value in options.items()}}}
    try:
        session = new_session(**options, clock=Ticking())
    except PolycontextError as error:
        return [{**made, "error": told(error)}]
    twins = dice.weighted({0: 7, 100: 2, 50: 1})
    with asyncio.Runner() as runner:
        player = _Player(session, dice, runner, twins, Memory(options["max_tokens"]))
        return [{**made, "error": None, **facts(session)}, *(player.step() for _ in range(count))]


@define
class _Player:
    """Run one command after the other on a session."""

    session: ContextSession
    dice: Dice
    runner: asyncio.Runner
    twins: int
    memory: Memory

    def step(self) -> dict[str, Any]:
        """Draw a command, run it, and tell what it led to."""
        before = self.session.state
        command = draw_command(self.dice, self.memory, before, self.session.window, _log_ids(self.session))
        awaited = self.dice.number(1, 100) <= self.twins and command.name in ASYNC_TWINS
        step: dict[str, Any] = {"command": {"do": f"{'a' * awaited}{command.name}", **{k: said(v) for k, v in command.arguments.items()}}}
        if (reason := CHANGED.get((before, command.name))) is not None:
            return {**step, "skipped": reason}
        step["error"] = _error_of(lambda: self._run(command, awaited=awaited))
        step |= facts(self.session)
        if self.dice.chance(0.12):
            step["messages"] = self._messages(self.dice.pick(("openai", "anthropic")), allow_open=self.dice.chance(0.5))
        return step

    def _run(self, command: Command, *, awaited: bool) -> None:
        match command.name:
            case "round_trip":
                counter = self.session.window.counter
                self.session = ContextSession.from_json(self.session.to_json(), counter=counter, clock=Ticking())
            case name if awaited:
                self.runner.run(getattr(self.session, f"a{name}")(**self._resolved(command)))
            case name:
                getattr(self.session, name)(**self._resolved(command))

    def _resolved(self, command: Command) -> dict[str, Any]:
        """Return the arguments with the session's own number for the revision that the command names."""
        revisions = {"current": self.session.revision, "stale": self.session.revision - 1}
        return {name: revisions[value] if name == "expected_revision" else value for name, value in command.arguments.items()}

    def _messages(self, provider: str, *, allow_open: bool) -> dict[str, Any]:
        told_of: dict[str, Any] = {"provider": provider, "allow_open": allow_open}
        try:
            messages = self.session.messages(provider, allow_open=allow_open)
        except PolycontextError as error:
            return {**told_of, "error": told(error)}
        return {**told_of, "roles": " ".join(message["role"] for message in messages), "digest": digest(messages)}


def facts(session: ContextSession) -> dict[str, Any]:
    """Return where a session stands."""
    window = session.window
    return {
        "state": str(session.state),
        "window": [_line(window, turn) for turn in window.all_turns()],
        "tokens": window.tokens,
        "log": len(session.log()),
    }


def _line(window: ContextWindow, turn: Turn) -> str:
    """Return id, class, role and digest of a turn, and of a gist its sources."""
    calls = [[call.id, call.name, call.arguments] for call in turn.tool_calls]
    parts = [[part.provider, part.data] for part in turn.parts]
    words = digest([turn.content, turn.name, calls, turn.tool_call_id, parts, turn.level], 8)
    line = f"{turn.resource_id} {window.class_of(turn).name} {turn.role} {words}"
    return f"{line} <- {' '.join(turn.sources)}" if turn.sources else line


def _log_ids(session: ContextSession) -> tuple[str, ...]:
    return tuple(turn.resource_id for turn in session.log())


def _error_of(act: Callable[[], object]) -> str | None:
    try:
        act()
    except PolycontextError as error:
        return told(error)
    return None


def told(error: PolycontextError) -> str:
    """Return type and words of an error, without what is going to change: the list of legal inputs, the number of a revision."""
    words = str(error)
    if isinstance(error, InvalidOptionError) and error.option in RENAMED:
        return RENAMED[error.option].format(error=error)
    if isinstance(error, IllegalDirectionError):
        words = words.partition("; legal:")[0]
    if isinstance(error, ConflictError):
        words = words.partition(": made for")[0]
    return f"{type(error).__name__}: {words}"


def said(value: object) -> Any:  # noqa: C901, PLR0911 - one case a kind of argument
    """Return an argument as short JSON data, by what is known of it today: a field that a class gets later changes no record."""
    match value:
        case ResourceClass():
            return value.name
        case None | bool() | int() | float():
            return value
        case str():
            return value if len(value) <= 40 else f"{value[:24]}… {len(value)} characters, {digest(value, 8)}"
        case Mapping():
            return {str(key): said(item) for key, item in value.items()}
        case ToolCall():
            return {"call": value.id, "of": value.name, "with": said(value.arguments)}
        case Turn():
            return {"role": str(value.role), "content": said(value.content), "id": value.resource_id, "parts": len(value.parts)}
        case ContextItem():
            return {"item": value.id, "type": str(value.type), "content": said(value.content), "metadata": said(value.metadata)}
        case Signals():
            return [value.progress, value.error_rate, value.looping]
        case FixedThreshold():
            return [type(value).__name__, value.base, value.low]
        case ContextProjector(reach=reach):
            return [reach.keep_recent, reach.keep_recent_tokens, reach.recent_share, reach.newest_share]
        case Iterable():
            return [said(item) for item in value]
        case _:
            return type(value).__name__
