"""What vendors, servers and clients really send is taken by every door, and sent on validly."""

import copy
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from polycontext import ContextSession, project
from polycontext.adapters.anthropic import wrap as wrap_anthropic
from polycontext.adapters.openai import wrap as wrap_openai
from polycontext.cli.app import main
from polycontext.testing.strict import (
    StrictAnthropic,
    StrictChat,
    StrictResponses,
    StrictServer,
)
from polycontext.window.providers import check, get_format
from tests.window.providers.vendor_shapes import (
    ANTHROPIC,
    CHAT,
    RESPONSES,
    UNCHANGED,
    Message,
    Shape,
)

ROOM = 50_000
Door = Callable[[Sequence[Message], str, Path], list[Message]]


def by_project(messages: Sequence[Message], provider: str, _: Path) -> list[Message]:
    """Return what `project` makes of a list."""
    return project(messages, ROOM, provider=provider).messages


def by_repair(messages: Sequence[Message], provider: str, _: Path) -> list[Message]:
    """Return what `project` makes of a list that it may repair."""
    return project(messages, ROOM, provider=provider, repair=True).messages


def by_session(messages: Sequence[Message], provider: str, _: Path) -> list[Message]:
    """Return what a session sends that was handed a list."""
    session = ContextSession(ROOM, provider=provider)
    session.extend(messages, provider)
    return session.request(provider).inline()


def by_command(messages: Sequence[Message], provider: str, folder: Path) -> list[Message]:
    """Return what the command line makes of a list."""
    given, out = folder / "given.json", folder / "out.json"
    given.write_text(json.dumps(messages), encoding="utf-8")
    options = ["--max-tokens", str(ROOM), "--format", provider, "-o", str(out)]
    assert main(["project", str(given), *options]) == 0
    sent: list[Message] = json.loads(out.read_text(encoding="utf-8"))
    return sent


def by_client(messages: Sequence[Message], provider: str, _: Path) -> list[Message]:
    """Return what a wrapped client sends to a strict provider."""
    seen: list[Any] = []

    def reply(request: Any) -> str:
        seen.append(request)
        return "Fine."

    kinds: Any = {CHAT: StrictChat, ANTHROPIC: StrictAnthropic, RESPONSES: StrictResponses}
    with StrictServer(kinds[provider](reply)) as server:
        options = {"api_key": "none", "max_retries": 0}
        if provider == ANTHROPIC:
            plain: Any = anthropic.Anthropic(base_url=server.url, **options)
            ask = wrap_anthropic(plain, ROOM).messages.create
            ask(model="claude-sonnet-4-5", max_tokens=9, messages=messages)
            return [*seen[0]["messages"]]
        plain = openai.OpenAI(base_url=f"{server.url}/v1", **options)
        client = wrap_openai(plain, ROOM)
        if provider == CHAT:
            client.chat.completions.create(model="gpt-5", messages=messages)
            return [*seen[0]["messages"]]
        client.responses.create(model="gpt-5", input=messages)
        return [*seen[0]["input"]]


DOORS: list[Door] = [by_project, by_repair, by_session, by_command, by_client]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("shape", UNCHANGED, ids=str)
def test_every_door_takes_what_a_vendor_accepts(shape: Shape, door: Door, tmp_path: Path) -> None:
    """The list goes on to the model, valid and with its words."""
    before = copy.deepcopy(shape.value)
    sent = door(shape.value, shape.provider, tmp_path)
    assert shape.value == before
    get_format(shape.provider).check(sent)
    assert [word for word in shape.words if word not in json.dumps(sent)] == []


@pytest.mark.parametrize("shape", UNCHANGED, ids=str)
def test_a_list_that_a_vendor_accepts_and_that_fits_is_unchanged(shape: Shape) -> None:
    """The provider accepts it as it is, and so does `check`."""
    check(shape.value, shape.provider)
    projection = project(shape.value, ROOM, provider=shape.provider)
    assert projection.messages == shape.value
    assert not projection.changed


@pytest.mark.parametrize("shape", UNCHANGED, ids=str)
def test_a_list_that_a_vendor_accepts_is_valid_at_every_length(shape: Shape) -> None:
    """Repeated and shortened, it stays valid for its vendor."""
    given = [*shape.value, *(message for _ in range(4) for message in shape.value)]
    whole = project(given, 10**6, provider=shape.provider)
    for percent in (85, 60, 40):
        room = max(whole.tokens_before * percent // 100, whole.floor + 30)
        sent = project(given, room, provider=shape.provider)
        assert sent.reached
        get_format(shape.provider).check(sent.messages)
