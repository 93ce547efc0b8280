"""The message formats on recorded conversations and requests that nobody here wrote.

The folder `shared/data` beside the project's root holds them; without it these
tests are skipped.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from polycontext.window.errors import InvalidMessagesError
from polycontext.window.providers import Provider, get_format
from polycontext.window.turn import Role, Turn
from tests.house import DATA
from tests.window.providers.wire_conversations import digested, named, words

KINDS = {"openai_chat": Provider.OPENAI, "anthropic_messages": Provider.ANTHROPIC}
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded conversations (shared/data) are not beside the project")


def rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of one recording."""
    with (DATA / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def accepted(kind: str) -> list[list[dict[str, Any]]]:
    """Return the message lists of every recorded request of `kind` that the provider answered with 200."""
    requests = [row["request"] for row in rows("wire_pydantic_ai_tools.jsonl") if (row["kind"], row["status"]) == (kind, 200)]
    return [request["messages"] for request in requests]


def views(turns: list[Turn]) -> Iterator[list[Turn]]:
    """Yield all turns, results cut to digests (all and every second), and the oldest atoms replaced by a gist."""
    yield turns
    yield digested(turns)
    yield digested(turns, 2)
    starts = [index for index, turn in enumerate(turns) if turn.role is not Role.TOOL and index > 1]
    first_user = next(index for index, turn in enumerate(turns) if turn.role is Role.USER)
    for start in starts[:: max(1, len(starts) // 3)]:
        if start > first_user + 1:
            gist = Turn("user", "[summary]", resource_id="g", sources=tuple(turn.resource_id for turn in turns[first_user + 1 : start]))
            yield [*turns[: first_user + 1], gist, *turns[start:]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_accepted_request_passes_and_is_written_back_identically(kind: str) -> None:
    """What a provider accepted passes its check, and its turns alone give the very request."""
    wire = get_format(KINDS[kind])
    requests = accepted(kind)
    assert len(requests) > 50
    for messages in requests:
        before = copy.deepcopy(messages)
        wire.check(messages)
        parsed = wire.parse(messages)
        assert wire.render(parsed.turns).inline() == before
        assert messages == before


@pytest.mark.parametrize("kind", KINDS)
def test_views_of_accepted_requests_are_valid_and_stable(kind: str) -> None:
    """Digests and gists leave a list that passes, reads back to the same words and is then written back unchanged."""
    wire = get_format(KINDS[kind])
    for messages in accepted(kind):
        parsed = wire.parse(messages)
        for view in views(named(parsed)):
            written = wire.render(view, readable=True).inline()
            wire.check(written)
            again = wire.parse(written)
            assert words(again.turns) == words(view)
            assert wire.render(again.turns, readable=True).inline() == written


@pytest.mark.parametrize("name", ["tau_airline_gpt4o.jsonl", "swebench_mini.jsonl", "bfcl_memory.jsonl", "qmsum.jsonl"])
def test_recorded_conversations_read_back_and_render_for_every_provider(name: str) -> None:
    """Recorded chat histories pass, are written back identically, render from their turns alone, and convert."""
    openai, anthropic = get_format("openai"), get_format("anthropic")
    for row in rows(name):
        messages = row["messages"]
        openai.check(messages)
        parsed = openai.parse(messages)
        assert openai.render(parsed.turns).messages == messages
        converted = anthropic.render(parsed.turns).inline()
        anthropic.check(converted)
        assert [turn.tool_call_id for turn in anthropic.parse(converted).turns if turn.tool_call_id] == [
            turn.tool_call_id for turn in parsed.turns if turn.tool_call_id
        ]


def test_every_cut_of_a_recording_is_valid_or_refused_for_its_reason() -> None:
    """A list cut at the end is an open history; one cut at the start is refused exactly when it starts on a result."""
    wire = get_format("openai")
    for row in list(rows("tau_airline_gpt4o.jsonl"))[:20]:
        messages = row["messages"]
        for cut in range(1, len(messages)):
            wire.check(messages[:cut], allow_open_tail=True)
            if messages[cut]["role"] == "tool":
                with pytest.raises(InvalidMessagesError, match="orphan-result"):
                    wire.check(messages[cut:])
            else:
                wire.check(messages[cut:])


def test_accepted_requests_cross_from_one_provider_to_the_other() -> None:
    """Turns of one provider's request make a valid request of the other's, calls and results in place."""
    for kind, provider in KINDS.items():
        other = get_format(Provider.ANTHROPIC if provider is Provider.OPENAI else Provider.OPENAI)
        for messages in accepted(kind):
            turns = get_format(provider).parse(messages).turns
            crossed = other.render(turns).inline()
            other.check(crossed)
            assert sum(len(turn.tool_calls) for turn in other.parse(crossed).turns) == sum(len(turn.tool_calls) for turn in turns)
