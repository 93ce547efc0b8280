"""The laws of the readers: valid requests, private text kept out of the props, bounded cost.

Private is what a browser must never see: system turns, tool calls with their arguments, tool
results, the contents of attachments, and the texts of gists. Public are the texts of user and
assistant, and the names of attachments.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from polycontext.base.law import agree, holds, law
from polycontext.nodes.waffles import waffle
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.machine.step import is_over_budget
from polycontext.polynomial.session.plugins import Renderer
from polycontext.window import (
    REQUEST_OVERHEAD,
    ContextWindow,
    InvalidMessagesError,
    Role,
    Turn,
    count_turn,
)
from polycontext.window.items import attachment_of
from polycontext.window.providers import Rendered, WireFormat
from tests.laws.internal.formats import answered, called, fault_of

_OUTSIDE = 'docs/session.md, "Build a request"'
_PROPS = "docs/server.md"
_WAFFLE = 'docs/terminal.md, "What fills the window"'
_CELLS = 200
_ROOMY = 1_000_000

_SHOWN = frozenset({Role.USER, Role.ASSISTANT})
_BY_OTHERS = frozenset({Role.USER, Role.SYSTEM})
"""The roles whose text does not come from a model or a tool."""
_WORD = re.compile(r"\w{6,}")
"""A word that is long enough to identify its source."""
_OWN_WORDS = "assistant summary ready thinking pressured compressed earlier message messages"
"""The words that props and filler messages use of their own."""


def _request(
    session: ContextSession, wire: WireFormat
) -> Rendered | InvalidMessagesError | ContextOverflowError:
    try:
        return session.request(wire.provider)
    except (InvalidMessagesError, ContextOverflowError) as refusal:
        return refusal


@law(_OUTSIDE)
def what_leaves_is_valid(session: ContextSession, wire: WireFormat) -> None:
    """Every message list that a session returns passes its provider's rules.

    A session refuses a request only if there is nothing to send, calls are open, or the view as the
    provider takes it is over its budget. System turns alone are nothing to send for providers that
    take them apart from the messages.
    """
    request = _request(session, wire)
    if isinstance(request, Rendered):
        fault = fault_of(wire, request.messages)
        agree(fault, None, provider=wire.provider, request=request)
        return
    window = session.window
    says_nothing = not len(window) or not wire.render(window.all_turns()).messages
    excused = says_nothing or bool(window.open_calls) or _tokens(window, wire) > window.max_tokens
    holds(excused, "refused for a reason", request, window=window)


def _tokens(window: ContextWindow, wire: WireFormat) -> int:
    """Return the tokens of a request, counted before or after rendering, whichever is more."""
    turns = window.all_turns()
    return max(
        _count_turns(window, turns),
        _count_turns(window, wire.parse(wire.render(turns).inline()).turns),
    )


def _count_turns(window: ContextWindow, turns: Iterable[Turn]) -> int:
    return REQUEST_OVERHEAD + sum(count_turn(window.counter, turn) for turn in turns)


@law(_OUTSIDE)
def what_leaves_is_within_budget(session: ContextSession, wire: WireFormat) -> None:
    """Every returned request, counted from its messages alone, fits the window's budget."""
    request = _request(session, wire)
    if isinstance(request, Rendered):
        tokens = _count_turns(session.window, wire.parse(request.inline()).turns)
        most = session.window.max_tokens
        holds(tokens <= most, f"at most {most} tokens", tokens, request=request)


@law(_OUTSIDE)
def what_leaves_says_what_the_view_says(session: ContextSession, wire: WireFormat) -> None:
    """A request holds every text of the view, and every call and its result in order.

    White space at the end of a text may be missing, because some providers refuse it.
    """
    request = _request(session, wire)
    if isinstance(request, Rendered):
        again = wire.parse(request.inline()).turns
        turns = session.window.all_turns()
        agree((called(again), answered(again)), (called(turns), answered(turns)))
        said = "\n".join(
            turn.text for turn in sorted(again, key=lambda turn: turn.role is not Role.SYSTEM)
        )
        agree([turn.text for turn in turns if turn.text.rstrip() not in said], [], request=request)


@law(_OUTSIDE)
def what_leaves_is_the_readers_own(session: ContextSession, wire: WireFormat) -> None:
    """A caller that changes a returned request does not change the next one."""
    request = _request(session, wire)
    if isinstance(request, Rendered):
        before = json.dumps(request.inline())
        _spoil(request.inline())
        again = _request(session, wire)
        agree(json.dumps(again.inline()) if isinstance(again, Rendered) else again, before)


def _spoil(value: Any) -> None:
    if isinstance(value, dict | list):
        for inner in list(value.values() if isinstance(value, dict) else value):
            _spoil(inner)
        value.clear()


@law(_PROPS)
def nothing_private_reaches_props(session: ContextSession, renderer: Renderer) -> None:
    """No word in the props comes from private text, unless a public text also has it."""
    props = renderer.render_chat(session)
    public = _public_words(session, session.window.all_turns())
    leaked = _words(_strings(props)) & _words(_private(session)) - public
    holds(not leaked, "no private word", sorted(leaked), props=props)


def _public_words(session: ContextSession, shown: Iterable[Turn]) -> set[str]:
    """Return the words allowed in props of the `shown` turns: public texts, own words and times."""
    times = (turn.timestamp.isoformat() for turn in shown)
    return _words([*_public(session), _OWN_WORDS, *times])


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _is_public(turn: Turn) -> bool:
    return turn.role in _SHOWN and not turn.is_gist and attachment_of(turn) is None


def _public(session: ContextSession) -> Iterator[str]:
    for turn in session.log():
        if _is_public(turn):
            yield turn.text
        elif attachment := attachment_of(turn):
            yield attachment.mention
        yield turn.resource_id


def _private(session: ContextSession) -> Iterator[str]:
    for turn in (*session.log(), *session.window.all_turns()):
        if not _is_public(turn):
            yield turn.text
        for call in turn.tool_calls:
            yield from (call.name, call.arguments)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


@law(_PROPS)
def props_say_what_was_said(session: ContextSession, renderer: Renderer) -> None:
    """The messages of the props are the user and assistant texts of the view, in order.

    An attachment is shown by its name, a gist by the number of messages it stands for.
    """
    shown = [
        (message["id"], message["content"]) for message in renderer.render_chat(session)["messages"]
    ]
    turns = [
        turn
        for turn in session.window.all_turns()
        if turn.role in _SHOWN and (turn.text or turn.is_gist)
    ]
    expected = [(turn.resource_id, _expected_text(turn)) for turn in turns]
    agree(shown, expected, window=session.window)


def _expected_text(turn: Turn) -> str:
    if turn.is_gist and not turn.sources:
        return "earlier messages"
    if turn.is_gist:
        return f"{len(turn.sources)} earlier message" + "s" * (len(turn.sources) != 1)
    attachment = attachment_of(turn)
    return turn.text if attachment is None else f"[@{attachment.name}]"


@law(_WAFFLE)
def a_waffle_is_what_the_guard_weighs(session: ContextSession) -> None:
    """The usage shown is the sum of its parts and equals the number that the guard compares.

    No part is counted twice.
    """
    found, window = waffle(session), session.output.window
    agree(found.used, sum(turn.tokens or 0 for turn in window.all_turns()), window=window)
    agree(found.used, window.total_tokens, window=window)
    agree(found.used / found.max_tokens, session.pressure, window=window)
    pressured = session.policy.is_above(window) or is_over_budget(window)
    agree(found.is_pressured, pressured, window=window)
    agree(sum(portion.turns for portion in found.portions), len(window))
    agree(found.total, max(found.max_tokens, found.used) + found.reserve + found.tools)
    agree(sum(found.cells(_CELLS)), _CELLS, found=found)
