"""Recorded exchanges of many vendors and servers: each is taken by every door, and stays valid.

The folder `shared/data` beside the project's root holds them; without it these tests are skipped.
docs/providers.md has the figures that they print.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from polycontext.adapters import Bridge
from polycontext.adapters.wire_dialect import WireDialect
from polycontext.cli.app import main
from polycontext.polynomial import ContextOverflowError, ContextSession, Projection, project
from polycontext.testing import FAST
from polycontext.window.filler import OPENING
from polycontext.window.providers import Provider, get_format
from tests.house import DATA
from tests.vendors import findings

PROVIDERS = {
    "openai": "openai",
    "openai_chat": "openai",
    "openai-responses": "openai-responses",
    "openai_responses": "openai-responses",
    "anthropic": "anthropic",
    "anthropic_messages": "anthropic",
}
"""The format of each kind of exchange."""
FILES = ("wire_recorded.jsonl", "wire_pydantic_ai_tools.jsonl")
WIDE = 10**9
pytestmark = [
    pytest.mark.gate,
    pytest.mark.no_cover,
    pytest.mark.skipif(
        not DATA.is_dir(),
        reason="the recorded exchanges (shared/data) are not beside the project",
    ),
    pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"]),
]


@cache
def exchanges(provider: str) -> list[tuple[dict[str, Any], Any]]:
    """Return the requests that vendors accepted, each with its answer."""
    rows: list[dict[str, Any]] = []
    for name in FILES:
        with (DATA / name).open(encoding="utf-8") as lines:
            rows += map(json.loads, lines)
    return [
        (row["request"], row["response"])
        for row in rows
        if row["status"] == 200 and PROVIDERS.get(row["kind"]) == provider
    ]


def is_continued(request: dict[str, Any]) -> bool:
    """Return whether a request continues a conversation of the vendor's: it is sent unchanged."""
    return bool(request.get("previous_response_id") or request.get("conversation"))


def messages_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a request."""
    messages = request.get("messages", request.get("input"))
    is_text = isinstance(messages, str)
    return [{"role": "user", "content": messages}] if is_text else list(messages or ())


def requests(provider: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the messages of each request that has the whole conversation."""
    for request, _ in exchanges(provider):
        if not is_continued(request):
            yield messages_of(request)


def events_of(answer: Any) -> Any:
    """Return an answer as JSON data: a streamed one is a list of events, up to where it was cut."""
    text = answer.get("_raw_sse", answer) if isinstance(answer, dict) else answer
    if not isinstance(text, str):
        return answer
    events: list[Any] = []
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data and data != "[DONE]":
            try:
                events.append(json.loads(data))
            except ValueError:
                break
    return events


def is_answer(answer: Any) -> bool:
    """Return whether this is a model's answer, and no count of tokens or an echo."""
    return bool(answer) and (
        isinstance(answer, list) or any(name in answer for name in ("choices", "output", "content"))
    )


def test_every_request_is_taken_and_stays_as_it_is(provider: str, tmp_path: Path) -> None:
    """By `project`, a session, a wrapped client's bridge and the command line."""
    wire, bridge = get_format(provider), Bridge(WireDialect(provider), model=WIDE)
    given_all = [*requests(provider)]
    taken = [messages for messages in given_all if not has_recurring_ids(messages, provider)]
    for messages in taken:
        assert project(messages, WIDE, provider=provider, counter=FAST).messages == messages
        session = ContextSession(WIDE, auto=False, counter=FAST)
        session.extend(messages, provider)
        written = session.request(provider).inline()
        assert [message for message in written if OPENING not in str(message)] == messages
        sent = bridge.fit(messages)
        wire.check(sent, allow_open_tail=True)
        assert sent == messages
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    given.write_text("".join(f"{json.dumps(messages)}\n" for messages in taken), encoding="utf-8")
    options = ["--max-tokens", str(WIDE), "--format", provider, "-q", "-o", str(out)]
    assert main(["project", str(given), *options]) == 0
    with out.open(encoding="utf-8") as lines:
        assert [json.loads(line) for line in lines] == taken
    print(f"{provider}: {len(taken)} of {len(given_all)} taken")  # noqa: T201 - of the docs


def has_recurring_ids(messages: list[dict[str, Any]], provider: str) -> bool:
    """Return whether two of Anthropic's calls have one id, of which one is sent with another."""
    return any(found.rule == "duplicate-call-id" for found in findings(messages, provider))


def test_an_id_that_anthropic_took_twice_is_sent_once(provider: str) -> None:
    """Two recorded requests have such an id: they are taken, and sent with another one."""
    again = [each for each in requests(provider) if has_recurring_ids(each, provider)]
    assert len(again) == (2 if provider == "anthropic" else 0)
    for messages in again:
        sent = project(messages, WIDE, provider=provider).messages
        assert findings(sent, provider) == []
        assert len(sent) == len(messages)


def shortened(messages: list[dict[str, Any]], provider: str, tokens: int) -> Projection:
    """Return a projection to `tokens`, or to the least that the list can be cut to."""
    try:
        return project(messages, tokens, provider=provider)
    except ContextOverflowError as error:
        return project(messages, error.tokens, provider=provider)


def test_every_request_is_valid_at_a_quarter_and_at_60_percent(provider: str) -> None:
    """And each turn is kept, summarised or reported as dropped."""
    wire, cut = get_format(provider), Counter[str]()
    for messages in requests(provider):
        whole = project(messages, WIDE, provider=provider)
        for percent in (25, 60):
            sent = shortened(messages, provider, whole.tokens_before * percent // 100)
            wire.check(sent.messages, allow_open_tail=True)
            assert {*sent.kept, *sent.gisted, *sent.dropped} == {*whole.kept}
            cut[f"{percent} %"] += sent.changed
    print(f"{provider}: changed {dict(cut)}")  # noqa: T201 - as above


def test_every_answer_is_stored_and_the_conversation_goes_on(provider: str) -> None:
    """Streamed answers as the list of their events."""
    stored = 0
    for request, answer in exchanges(provider):
        given = events_of(answer)
        if not is_answer(given):
            continue
        session = ContextSession(WIDE, auto=False, counter=FAST, provider=provider)
        asked = [{"role": "user", "content": "Go on."}] * is_continued(request)
        session.extend(asked or messages_of(request), provider)
        before = len(session.log())
        session.add_message(given, provider)
        assert len(session.log()) > before
        session.close_open_calls("the recording ends here")
        session.add_user_turn("Go on.")
        get_format(provider).check(session.request(provider).inline())
        stored += 1
    print(f"{provider}: {stored} answers stored")  # noqa: T201 - as above


def test_every_exchange_goes_on_with_any_vendor(provider: str) -> None:
    """The session of an exchange, its answer included, is sent to two vendors at random."""
    drawn, asked = random.Random(0), 0  # noqa: S311 - no secret
    for request, answer in exchanges(provider):
        session = ContextSession(WIDE, auto=False, counter=FAST)
        if not is_continued(request):
            session.extend(messages_of(request), provider)
            if is_answer(given := events_of(answer)):
                session.add_message(given)
            session.close_open_calls("stopped")
        session.add_user_turn("Go on.")
        for other in drawn.sample([*Provider], 2):
            assert findings(session.request(other).messages, other, foreign=True) == []
            asked += 1
    assert asked == 2 * len(exchanges(provider))
