"""What a session took never stops it: what a vendor does not accept is left out of its requests."""

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from anthropic import Anthropic

from polycontext.adapters import Bridge
from polycontext.adapters.anthropic import wrap
from polycontext.adapters.wire_dialect import WireDialect
from polycontext.polynomial import ContextSession, project
from polycontext.testing import FAST
from polycontext.testing.strict import StrictAnthropic, StrictServer
from polycontext.window.providers import Provider, get_format
from polycontext.window.request_limits import request_limits
from tests.house import gated
from tests.vendors import findings
from tests.window.media_files import b64, pdf, png
from tests.window.providers.vendor_shapes import shapes

Message = dict[str, Any]
MARK: Message = {"cache_control": {"type": "ephemeral"}}
LONG: Message = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
WIDE = 10**8
ASK = "What did you see?"


def text(said: str, **fields: Any) -> Message:
    """Return a block of text."""
    return {"type": "text", "text": said, **fields}


def picture(width: int = 90, height: int = 60, padding: int = 0) -> Message:
    """Return a picture of Anthropic's."""
    data = b64(png(width, height) + bytes(padding))
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def said(*blocks: Message, role: str = "user") -> list[Message]:
    """Return one message of these blocks."""
    return [{"role": role, "content": [*blocks]}]


def looked(*pictures: Message) -> Iterator[list[Message]]:
    """Yield calls for a picture, each with its result."""
    for number, each in enumerate(pictures):
        name = f"toolu_{number}"
        yield [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": name, "name": "look", "input": {}}],
            },
            *said({"type": "tool_result", "tool_use_id": name, "content": [each, text("page")]}),
        ]


def file_of(pages: int, padding: int = 0) -> Message:
    """Return a document of Anthropic's."""
    data = b64(pdf(pages) + bytes(padding))
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return {"type": "document", "source": source}


def sheet(*blocks: Message) -> Message:
    """Return a document of Anthropic's that is made of these blocks."""
    return {"type": "document", "source": {"type": "content", "content": [*blocks]}}


def inline(kind: str, data: bytes) -> list[Message]:
    """Return a content with data, as Google's contents hold it."""
    return [{"role": "user", "parts": [{"inlineData": {"mimeType": kind, "data": b64(data)}}]}]


Situation = tuple[str, Callable[[], Sequence[list[Message]]], str]
"""The format of the lists that are added, the lists, and what has to be sent of them."""

SITUATIONS: dict[str, Situation] = {
    "a side of 9,000 pixels": ("anthropic", lambda: [*looked(picture(9_000, 300))], "9000 x 300"),
    "five megabytes": ("anthropic", lambda: [*looked(picture(padding=4_000_000))], "left out"),
    "one of two pictures": ("anthropic", lambda: [said(picture(9_000), picture(77))], "left out"),
    "too many pictures": ("anthropic", lambda: [*looked(*[picture()] * 130)], "90 x 60, left out"),
    "a wide one among many": (
        "anthropic",
        lambda: [*looked(*[picture()] * 21, picture(2_600))],
        "90 x 60, left out",
    ),
    "a sheet with a side of 9,000 pixels": (
        "anthropic",
        lambda: [said(sheet(text("page"), picture(9_000, 300))), *looked(sheet(picture(9_000)))],
        "9000 x 300, left out",
    ),
    "a sheet of too many pictures": (
        "anthropic",
        lambda: [said(sheet(text("page"), *[picture()] * 130))],
        "90 x 60, left out",
    ),
    "a sheet with a wide one among many": (
        "anthropic",
        lambda: [*looked(*[picture()] * 20, sheet(picture(), picture(2_600)))],
        "90 x 60, left out",
    ),
    "a sheet of what is no block": (
        "anthropic",
        lambda: [said(sheet({"text": "page"})), *looked(sheet("page"))],  # type: ignore[arg-type]
        "text/plain, left out",
    ),
    "a file of 700 pages": ("anthropic", lambda: [said(file_of(700))], "700 pages, left out"),
    "a file of 30 megabytes": ("anthropic", lambda: [said(file_of(1, 30_000_000))], "left out"),
    "a picture of the system": (
        "anthropic",
        lambda: [said(picture(), text("Be brief."), role="system")],
        "Be brief.",
    ),
    "data that are no picture": ("anthropic", lambda: [said({**picture(), "source": {}})], "image"),
    "ten marks": ("anthropic", lambda: [said(text(f"{n}", **MARK)) for n in range(10)], "9"),
    "a film of 26 megabytes": ("gemini", lambda: [inline("video/mp4", bytes(26_000_000))], ""),
    "pictures of 24 megabytes": (
        "gemini",
        lambda: [inline("image/png", png(90, 60) + bytes(3_000_000)) for _ in range(8)],
        "",
    ),
}


TAKEN: dict[str, Situation] = SITUATIONS | {
    shape.name: (shape.provider, lambda value=shape.value: deepcopy(value), shape.words[0])
    for shape in shapes("mendable")
}
QUICK = [name for name in TAKEN if "megabytes" not in name]


@pytest.mark.parametrize("name", gated(TAKEN, *QUICK))
def test_what_was_taken_never_stops_a_session(name: str) -> None:
    """Every vendor's request is valid and has the question, also rewound and compressed."""
    provider, lists, kept = TAKEN[name]
    session = ContextSession(WIDE, counter=FAST)
    session.add_user_turn("Look.")
    for messages in lists():
        session.extend(messages, provider)
    session.add_user_turn(ASK)
    assert kept in json.dumps(session.request(provider).messages)
    check_requests(session)
    session.add_assistant_turn("Nothing.")
    session.add_user_turn("And?")
    session.history.rewind(session.log()[-3].resource_id)
    check_requests(session)
    session.compress(0.0)
    check_requests(session)


def check_requests(session: ContextSession) -> None:
    """Check that each vendor accepts the session's request."""
    for provider in Provider:
        messages = session.request(provider).messages
        assert findings(messages, provider) == []
        assert ASK in json.dumps(messages)


@pytest.mark.parametrize(
    "name",
    [
        "too many pictures",
        "a wide one among many",
        "a sheet with a side of 9,000 pixels",
        "a sheet of too many pictures",
        "ten marks",
        "messages of one id",
    ],
)
def test_what_was_taken_never_stops_a_wrapped_client(name: str) -> None:
    """A list that fits is written anew if the vendor would refuse it."""
    provider, lists, kept = TAKEN[name]
    given = [
        {"role": "user", "content": "Look."},
        *(message for messages in lists() for message in messages),
    ]
    out = Bridge(WireDialect(provider), model=WIDE, counter=FAST).fit(given)
    assert findings(out, provider) == []
    assert kept in json.dumps(out)


def test_a_batch_of_the_oldest_pictures_is_left_out_at_once() -> None:
    """Within an epoch, requests begin as the one before; only a full batch changes the start."""
    session = ContextSession(WIDE, counter=FAST)
    session.add_user_turn("Look.")
    before, breaks = list[Message](), 0
    for messages in looked(*(picture(90 + number) for number in range(160))):
        session.extend(messages, "anthropic")
        sent = session.request("anthropic").messages
        breaks += sent[: len(before)] != before
        before = sent
    assert before == get_format("anthropic").render(session.window.all_turns()).messages
    assert breaks == (160 - 75) // 26
    assert "left out" not in json.dumps(before[-150:])


def test_thinking_behind_a_picture_that_is_left_out_may_be_dropped() -> None:
    """Thinking is bound to the pictures before it, so the request lets the vendor drop it."""
    session = ContextSession(WIDE, counter=FAST)
    session.add_user_turn("Look.")
    thinking = {"type": "thinking", "thinking": "A page.", "signature": "c2ln"}
    pairs = [*looked(*[picture()] * 101)]
    pairs[50][0]["content"].insert(0, thinking)
    for messages in pairs[:-1]:
        session.extend(messages, "anthropic")
    assert session.request("anthropic").options == {}
    session.extend(pairs[-1], "anthropic")
    binding = session.request("anthropic").options["thinking"]["block_binding"]
    assert binding == {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize("ttl", [MARK, LONG])
@pytest.mark.parametrize("own", [MARK, LONG])
def test_the_newest_marks_stay_beside_those_of_tools(ttl: Message, own: Message) -> None:
    """Tools, system and messages together have four, in the order that the vendor demands."""
    schema = {"description": "", "input_schema": {"type": "object"}}
    tools = [{"name": f"look_{number}", **schema, **ttl} for number in range(2)]
    session = ContextSession(WIDE, counter=FAST, tools=tools)
    session.extend(said(text("Be brief.", **own), role="system"), "anthropic")
    for number in range(6):
        session.extend(said(text(f"{number}", **own)), "anthropic")
        for cache in (False, True):
            sent = session.request("anthropic", cache=cache)
            body = {"model": "m", "max_tokens": 9, "tools": tools, "messages": sent.messages}
            assert findings({**body, "system": [*sent.system]}, "anthropic") == []
    is_late = own is LONG and ttl is MARK
    assert json.dumps(session.request("anthropic").messages).count("ephemeral") == 2 * (not is_late)


def test_marks_in_a_sheet_count() -> None:
    """Cache breakpoints inside documents, also inside those of results, are among the four."""
    given = [text(f"{number}", **MARK) for number in range(6)]
    call, answer = next(looked(sheet(*given[:3])))
    session = ContextSession(WIDE, counter=FAST)
    session.add_user_turn("Look.")
    session.extend([call, answer, *said(sheet(*given[3:]))], "anthropic")
    assert json.dumps(session.request("anthropic").messages).count("ephemeral") == 4


SYSTEM = [text("Be brief.", **MARK)]
TOOLS = [{"name": "look", "input_schema": {"type": "object"}, **MARK}]


@pytest.mark.parametrize("fields", [{"tools": TOOLS}, {"system": SYSTEM, "tools": TOOLS}, MARK])
def test_every_door_counts_the_marks_of_the_request(fields: Message) -> None:
    """Marks of tools, of the system and of automatic caching leave less room for the others."""
    given = [*said(text("0", **MARK)), *said(text("1", **MARK), text("2", **MARK))]
    given += said(text("3", **MARK), text("4", **MARK))
    head: dict[str, Any] = {"model": "claude-sonnet-5", "max_tokens": 9}
    with (
        StrictServer((StrictAnthropic(lambda _: "Noted."),)) as server,
        Anthropic(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        create: Any = wrap(client, WIDE).messages.create
        create(**head, messages=given, extra_body=fields)
    session = ContextSession(WIDE, counter=FAST)
    session.extend(given, "anthropic")
    options = {name: value for name, value in fields.items() if name != "system"}
    sent = session.request("anthropic", options=options)
    assert findings({**head, "messages": sent.messages, **options}, "anthropic") == []
    assert json.dumps(given).count("ephemeral") == 5
    out = project(given, WIDE, provider="anthropic", tools=fields.get("tools")).messages
    assert findings({**head, "messages": out, "tools": fields.get("tools", [])}, "anthropic") == []


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "gemini"])
def test_a_list_with_too_many_pictures_is_found(provider: str) -> None:
    """The findings know the limits that the writers keep."""
    most = request_limits(provider)["images"]
    part = {
        "openai": {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
        "openai-responses": {"type": "input_image", "image_url": "https://a.example/b.png"},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
    }[provider]
    name = "parts" if provider == "gemini" else "content"
    for count, rules in ((most, []), (most + 1, ["too-much-media"])):
        given = [{"role": "user", name: [part] * count}]
        assert [found.rule for found in findings(given, provider)] == rules


def test_pictures_in_a_sheet_are_found() -> None:
    """The findings count pictures inside documents, also inside those of results."""
    call, answer = next(looked(sheet(picture(9_000))))
    wide = said(sheet(*[picture()] * 20, picture(2_600)))
    for given, rules in (
        (said(sheet(text("page"), picture())), []),
        (said(sheet(*[picture()] * 101)), ["too-much-media"]),
        (wide, ["image-size"]),
        (said(sheet(picture(9_000))), ["image-size"]),
        ([*said(text("Look.")), call, answer], ["image-size"]),
    ):
        assert [found.rule for found in findings(given, "anthropic")] == rules


@pytest.mark.parametrize(
    ("provider", "role"),
    [
        ("openai", "user"),
        ("openai-responses", "user"),
        ("gemini", "user"),
        ("anthropic", "assistant"),
    ],
)
def test_a_sheet_names_its_pictures_where_they_cannot_be_sent(provider: str, role: str) -> None:
    """A document that is sent as text has a line for each picture in it."""
    session = ContextSession(WIDE, counter=FAST)
    session.add_user_turn("Look.")
    session.extend(said(sheet(text("page"), picture()), role=role), "anthropic")
    sent = session.request(provider).messages
    assert "page\\n[image/png, 90 x 60, left out]" in json.dumps(sent)
