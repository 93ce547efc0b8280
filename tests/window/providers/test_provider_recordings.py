"""The message formats on recorded conversations and requests that nobody here wrote.

The folder `shared/data` beside the project's root holds them; without it these
tests are skipped.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from polycontext.polynomial import ContextSession, project
from polycontext.testing import FAST
from polycontext.window.errors import InvalidMessagesError
from polycontext.window.filler import OPENING
from polycontext.window.providers import Provider, get_format
from polycontext.window.turn import Role
from tests.house import DATA

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
