"""The message formats on recorded conversations and requests that nobody here wrote.

The folder `shared/data` beside the project's root holds them; without it these
tests are skipped.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest

from polycontext.polynomial import ContextSession, project
from polycontext.testing import FAST
from polycontext.window.errors import InvalidMessagesError
from polycontext.window.filler import OPENING
from polycontext.window.providers import Provider, get_format
from polycontext.window.turn import Role, Turn
from tests.house import DATA, sizes
from tests.laws.internal.formats import answered
from tests.window.providers.wire_conversations import digested, named, words

KINDS = {
    "openai_chat": Provider.OPENAI,
    "anthropic_messages": Provider.ANTHROPIC,
    "openai_responses": Provider.RESPONSES,
}
CHATS = ("tau_airline_gpt4o.jsonl", "swebench_mini.jsonl", "bfcl_memory.jsonl", "qmsum.jsonl")
pytestmark = [
    pytest.mark.gate,
    pytest.mark.no_cover,
    pytest.mark.skipif(
        not DATA.is_dir(),
        reason="the recorded conversations (shared/data) are not beside the project",
    ),
]


def rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of one recording."""
    with (DATA / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def accepted(kind: str) -> list[list[dict[str, Any]]]:
    """Return the messages of every recorded request of `kind` that got status 200."""
    requests = [
        row["request"]
        for row in rows("wire_pydantic_ai_tools.jsonl")
        if (row["kind"], row["status"]) == (kind, 200)
    ]
    lists = [request.get("messages", request.get("input")) for request in requests]
    return [
        [{"role": "user", "content": each}] if isinstance(each, str) else each for each in lists
    ]


def views(turns: list[Turn]) -> Iterator[list[Turn]]:
    """Yield all turns, views with results cut to digests, and views that begin with a gist."""
    yield turns
    yield digested(turns)
    yield digested(turns, 2)
    starts = [index for index, turn in enumerate(turns) if turn.role is not Role.TOOL and index > 1]
    first_user = next(index for index, turn in enumerate(turns) if turn.role is Role.USER)
    for start in starts[:: max(1, len(starts) // 3)]:
        if start > first_user + 1:
            gist = Turn(
                "user",
                "[summary]",
                resource_id="g",
                sources=tuple(turn.resource_id for turn in turns[first_user + 1 : start]),
            )
            yield [*turns[: first_user + 1], gist, *turns[start:]]


REFUSED = {
    Provider.RESPONSES: {"orphan-result": 3},
    Provider.ANTHROPIC: {"duplicate-call-id": 2},
}
"""Exchanges that answer calls held by the provider, which are not in the list, and two in which an
id recurs: they were accepted, but others were refused for it, so the id is sent once.
"""

BEGUN = {Provider.RESPONSES: 4}
"""Exchanges that begin with the assistant: a session inserts an opening user line."""


@pytest.mark.parametrize(
    ("kind", "least"), [("openai_chat", 61), ("anthropic_messages", 77), ("openai_responses", 78)]
)
def test_every_accepted_request_is_written_back_identically(kind: str, least: int) -> None:
    """Every accepted request is written back unchanged from turns, a projection and a session."""
    provider, kept, begun = KINDS[kind], 0, 0
    wire, refused = get_format(provider), Counter[str]()
    for messages in accepted(kind):
        before = copy.deepcopy(messages)
        try:
            wire.check(messages)
        except InvalidMessagesError as error:
            refused[error.rule] += 1
            continue
        assert wire.render(wire.parse(messages).turns).inline() == before
        projection = project(messages, 10**9, provider=provider)
        assert (projection.messages, projection.first_changed) == (before, None)
        session = ContextSession(10**9, auto=False)
        opened = session.extend(messages, provider).repaired
        begun += len(opened)
        written = session.request(provider).inline()
        assert [
            message for message in written if not (opened and OPENING in str(message))
        ] == before
        assert messages == before
        kept += 1
    print(  # noqa: T201 - a figure to be told
        f"{kind}: {kept} accepted and equal, of these {begun} begun by the assistant; "
        f"refused {dict(refused)}"
    )
    assert (kept, begun, dict(refused)) == (
        least,
        BEGUN.get(provider, 0),
        REFUSED.get(provider, {}),
    )


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("one_of", "every"), [(40, 101), pytest.param(1, 1, marks=pytest.mark.deep)]
)
def test_the_provider_can_be_switched_at_every_turn_of_every_recording(
    one_of: int, every: int
) -> None:
    """After every answered turn a session's list is valid for each provider."""
    places = switches = 0
    for provider, messages in islice(recorded(), 0, None, one_of):
        session = ContextSession(10**9, auto=False, counter=FAST)
        for turn in get_format(provider).parse(messages).turns:
            session.add(turn)
            places += 1
            if session.window.open_calls or all(
                each.role is Role.SYSTEM for each in session.window.all_turns()
            ):
                continue
            for other in Provider:
                # What leaves is judged on its way out, each message once.
                leaving = session.request(other).messages
                switches += 1
                if places % every == 0:
                    get_format(other).check(leaving)
    print(  # noqa: T201 - as above
        f"{switches} lists for every provider at {places} turns, "
        f"at every {every}th judged from nothing"
    )
    assert switches > places


def recorded() -> Iterator[tuple[Provider, list[dict[str, Any]]]]:
    """Yield every recorded list of every provider that a session takes in."""
    for kind, provider in KINDS.items():
        yield from ((provider, messages) for messages in taken_in(kind))
    for name in CHATS:
        yield from ((Provider.OPENAI, row["messages"]) for row in rows(name))


def taken_in(kind: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the accepted lists of `kind` that are whole, and that the user begins."""
    for messages in accepted(kind):
        try:
            turns = get_format(KINDS[kind]).parse(messages).turns
        except InvalidMessagesError:
            continue
        if next((turn.role for turn in turns if turn.role is not Role.SYSTEM), None) is Role.USER:
            yield messages


@pytest.mark.parametrize("kind", KINDS)
def test_views_of_accepted_requests_are_valid_and_stable(kind: str) -> None:
    """Views with digests and gists are valid and survive a round trip unchanged."""
    wire = get_format(KINDS[kind])
    for messages in taken_in(kind):
        parsed = wire.parse(messages)
        if has_recurring_ids(parsed.turns) and wire.provider is Provider.ANTHROPIC:
            continue
        for view in views(named(parsed)):
            written = wire.render(view, readable=True).inline()
            wire.check(written)
            again = wire.parse(written)
            assert words(again.turns) == words(view)
            assert wire.render(again.turns, readable=True).inline() == written


@pytest.mark.parametrize("one_of", sizes(5, 1))
@pytest.mark.parametrize("name", CHATS)
def test_recorded_conversations_read_back_and_render_for_every_provider(
    name: str, one_of: int
) -> None:
    """Recorded chat histories pass, are written back unchanged and convert."""
    openai, anthropic = get_format("openai"), get_format("anthropic")
    for row in islice(rows(name), 0, None, one_of):
        messages = row["messages"]
        openai.check(messages)
        parsed = openai.parse(messages)
        assert openai.render(parsed.turns, readable=True).messages == messages
        # OpenAI takes no white space in the name of who speaks, and 64 characters of it.
        spelled = [
            {**message, "name": "_".join(message["name"].split())[:64]}
            if "name" in message
            else message
            for message in messages
        ]
        assert openai.render(parsed.turns).messages == spelled
        converted = anthropic.render(parsed.turns).inline()
        anthropic.check(converted)
        again = anthropic.parse(converted).turns
        assert not has_recurring_ids(again)
        assert answered(again) == answered(parsed.turns)


def has_recurring_ids(turns: Sequence[Turn]) -> bool:
    """Return whether two calls have one id."""
    ids = [call.id for turn in turns for call in turn.tool_calls]
    return len({*ids}) < len(ids)


def test_every_cut_of_a_recording_is_valid_or_refused_for_its_reason() -> None:
    """A list cut at its end passes; cut at its start it fails only if it begins on a result."""
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", Provider)
def test_accepted_requests_cross_from_one_provider_to_the_others(
    kind: str, other: Provider
) -> None:
    """Requests of one provider convert to valid requests of every other, with all calls."""
    target = get_format(other)
    for messages in taken_in(kind):
        turns = get_format(KINDS[kind]).parse(messages).turns
        crossed = target.render(turns).inline()
        target.check(crossed)
        assert sum(len(turn.tool_calls) for turn in target.parse(crossed).turns) == sum(
            len(turn.tool_calls) for turn in turns
        )
