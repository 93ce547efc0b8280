"""The laws of sessions and schedules."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import cycle
from typing import Any

from polycontext.base import PolycontextError
from polycontext.base.law import agree, holds, law
from polycontext.linearity import UNIX_EPOCH
from polycontext.polynomial.context_session import ContextSession
from polycontext.polynomial.inputs import ContextInput, InputKind, Promotion
from polycontext.polynomial.laws.machines import Inputs
from polycontext.polynomial.machine.step import ContextPolicy
from polycontext.pressure import FixedThreshold
from polycontext.window import ContextWindow
from polycontext.window.providers import Provider
from tests.laws.internal.formats import blocks_of, trimmed
from tests.laws.outcomes import add_turns

_SESSION = "docs/session.md"


@law('docs/cache.md, "Idle time and boundaries"')
def schedules_wait_for_idle_time(
    window: ContextWindow,
    policy: ContextPolicy,
    schedule: Any,
    inputs: Inputs,
    choices: Sequence[int],
) -> None:
    """A tick compresses once the cache's lifetime has passed since the last turn, not before.

    No calls are open then, and the view is smaller afterwards.
    """
    now, gaps = UNIX_EPOCH + timedelta(days=20_000), cycle(choices or [0])
    session = ContextSession(
        window.max_tokens,
        counter=window.counter,
        threshold=FixedThreshold(1.0, 0.2),
        cooldown=policy.cooldown,
        schedule=schedule,
        clock=lambda: now,
    )
    for context_input, minutes in zip(inputs, gaps, strict=False):
        with suppress(PolycontextError):
            _apply(session, context_input)
        now += timedelta(minutes=minutes)
        before = session.conversation
        if session.tick():
            silence, after = now - before.log[-1].timestamp, session.window
            wanted = timedelta(seconds=schedule.lifetime)
            holds(silence >= wanted, f"at least {wanted}", silence, before=before.window)
            agree(before.window.open_calls, ())
            most = before.window.total_tokens
            holds(after.total_tokens < most, f"fewer than {most}", after.total_tokens)


@law(_SESSION)
def the_live_machine_stands_where_the_session_stands(
    session: ContextSession, inputs: Inputs
) -> None:
    """After each turn, accepted or refused, the live machine has the session's state and window."""
    for number in range(len(inputs) + 1):
        add_turns(session, inputs[:number][-1:])
        live = session.machine
        agree((live.context_state, live.window), (session.state, session.window))


@law(_SESSION)
def json_keeps_the_session(session: ContextSession) -> None:
    """A session exported as JSON and loaded again has the same state, window, log and journal.

    Its settings are the same too, if the counter and the marks are passed in again.
    """
    saved, policy = "".join(session.history.export()), session.policy
    again = type(session).history.load(
        saved, counter=session.window.counter, threshold=policy.threshold
    )
    agree(_facts(again), _facts(session))
    agree("".join(again.history.export()), saved)


def _facts(session: ContextSession) -> tuple[object, ...]:
    policy = session.policy
    settings = (
        policy.auto,
        policy.cooldown,
        policy.signals,
        policy.threshold,
        policy.projector.reach,
    )
    return session.conversation, session.history.events(), settings


# --- epochs ----------------------------------------------------------------------------

_EPOCHS = (
    "docs/providers.md; "
    "platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"
)


@law(_EPOCHS)
def requests_only_grow_within_an_epoch(session: ContextSession, inputs: Inputs) -> None:
    """Within an epoch, the content blocks of each request are a prefix of the next one's.

    This holds for every provider, and after any commands. Cache marks, the division of blocks into
    messages, and white space at the end of the assistant's final text do not count as content.
    """
    sent: dict[Provider, tuple[int, list[Any]]] = {}
    for context_input in [None, *inputs]:
        if context_input is not None:
            with suppress(PolycontextError):
                _apply(session, context_input)
        number = session.window.epoch.number
        for provider in Provider:
            blocks = _requested(session, provider)
            epoch, before = sent.get(provider, (0, []))
            told = {"before": before, "provider": provider}
            if epoch == number and blocks:
                begins = trimmed(blocks[: len(before)]) == trimmed(before)
                holds(begins, "the last request as its prefix", blocks, **told)
            if blocks:
                sent[provider] = number, blocks


def _requested(session: ContextSession, provider: Provider) -> list[Any]:
    """Return the content blocks of a request, or none if no request can be made."""
    with suppress(PolycontextError):
        messages = session.request(provider, allow_open=True).inline()
        return [(role, _unmarked(block)) for role, block in blocks_of(messages)]
    return []


def _apply(session: ContextSession, context_input: ContextInput) -> None:
    """Apply an input to a session."""
    payload = context_input.payload
    match context_input.kind:
        case InputKind.COMPRESS:
            session.compress(payload if isinstance(payload, float) else None)
        case InputKind.CLEAR:
            session.clear()
        case InputKind.PROMOTE:
            assert isinstance(payload, Promotion)
            session.promote(payload.resource_id, payload.resource_class)
        case InputKind.RECALL:
            session.recall(turn.resource_id for turn in session.log()[:3])
        case _:
            session.add(context_input.turn, context_input.resource_class)


def _unmarked(block: Any) -> Any:
    return (
        {name: value for name, value in block.items() if name != "cache_control"}
        if isinstance(block, dict)
        else block
    )
