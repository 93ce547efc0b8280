"""Any list that a provider accepts is written back field by field from its turns."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.window import InvalidMessagesError, Turn
from polycontext.window.part import PartKind
from polycontext.window.providers import Provider, get_format
from polycontext.window.providers.layout import Collector, layout_of
from polycontext.window.turn import Role, ToolCall
from tests.laws.internal import formats
from tests.window.providers.wire_conversations import ANYTHING, broken_lists
from tests.window.providers.wire_messages import TEXTS, conversations

Message = dict[str, Any]


COLLECTED = tuple(kind for kind in PartKind if kind is not PartKind.NATIVE)
"""The kinds of part that reading a message produces."""


@pytest.mark.parametrize("provider", Provider)
@given(data=st.data())
def test_what_a_provider_takes_is_written_as_it_came(
    provider: Provider, data: st.DataObject
) -> None:
    """Law: ``render(parse(messages).turns).inline() == messages``, readable or not.

    Each prefix without open calls is written as a prefix of the whole conversation.
    """
    messages = data.draw(conversations(provider))
    wire = get_format(provider)
    wire.check(messages)
    turns = wire.parse(json.loads(json.dumps(messages))).turns
    assert wire.render(turns).inline() == messages
    assert wire.render(turns, readable=True).inline() == messages
    formats.what_is_written_stays_when_more_is_said(wire, turns)


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("other", Provider)
@given(data=st.data())
def test_what_one_provider_took_every_other_is_told(
    provider: Provider, other: Provider, data: st.DataObject
) -> None:
    """Any conversation renders for another provider; provider-specific blocks are omitted."""
    wire, target = get_format(provider), get_format(other)
    turns = wire.parse(data.draw(conversations(provider))).turns
    target.check(target.render(turns).messages)
    formats.reading_undoes_writing(target, turns)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai-responses"])
@given(data=st.data(), repair=st.booleans())
def test_garbage_is_refused_with_a_typed_error_only(
    provider: str, data: st.DataObject, repair: bool
) -> None:
    """Any input is either parsed and written back as JSON, or raises InvalidMessagesError."""
    wire = get_format(provider)
    messages = data.draw(ANYTHING | broken_lists(wire.render))
    try:
        parsed = wire.parse(messages, repair=repair)
    except InvalidMessagesError as error:
        str(error).encode()
        return
    json.dumps(wire.render(parsed.turns).messages, allow_nan=False).encode()
    # The Responses API takes items that it made itself and does not take from others.
    if provider != "openai-responses":
        begun = [Turn("user", "hi"), *parsed.turns]
        wire.check(wire.render(begun).messages, allow_open_tail=True)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(COLLECTED),
            TEXTS,
            st.dictionaries(st.sampled_from("xy"), TEXTS, max_size=1),
        ),
        max_size=8,
    )
)
def test_a_layout_comes_out_as_it_went_in(entries: list[tuple[PartKind, str, Message]]) -> None:
    """Law: pieces are laid out in order and with their fields; text before calls needs no part."""
    collector, calls = Collector(Provider.OPENAI), 0
    expected: list[tuple[PartKind, Message, str, int]] = []
    for kind, text, further in entries:
        match kind:
            case PartKind.WORDS:
                collector.words(text, further)
            case PartKind.CALL:
                collector.call(ToolCall(f"c{calls}", "look"), further)
            case PartKind.BLOCK:
                collector.block({"type": text, **further})
            case PartKind.MESSAGE:
                collector.message(further)
            case PartKind.RESULT:
                collector.result(further)
            case PartKind.NATIVE:
                pytest.fail("no message that is read has one")
        data = {"type": text, **further} if kind is PartKind.BLOCK else further
        expected.append(
            (
                kind,
                data,
                text if kind is PartKind.WORDS else "",
                calls if kind is PartKind.CALL else 0,
            )
        )
        calls += kind is PartKind.CALL
    turn = collector.turn(Role.ASSISTANT)
    found = [
        (entry.kind, entry.data, entry.text, entry.call)
        for entry in layout_of(Provider.OPENAI, turn)
    ]
    if turn.content == "":
        found = [entry for entry in found if entry[0] is not PartKind.WORDS]
    assert found == expected
