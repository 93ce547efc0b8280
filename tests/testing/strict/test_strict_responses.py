"""The strict Responses: events, and the trigger of a compaction."""

from typing import Any

from polycontext import ContextSession, project
from polycontext.testing.strict import StrictResponses

Items = list[dict[str, Any]]

MODEL = "gpt-5.6"
THINKING: Items = [
    {"type": "reasoning"},
    {"type": "function_call", "name": "read", "arguments": "{}"},
]
TRIGGER = {"type": "compaction_trigger"}


def test_events() -> None:
    """The events tell the whole answer, numbered without a gap, between created and completed."""
    said: Items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So it is."}]},
        {"content": "A text of some length."},
        THINKING[1],
    ]
    provider = StrictResponses(lambda _: said)
    events = list(provider.stream({"model": MODEL, "input": "hi"}))
    assert [event.data["sequence_number"] for event in events] == list(range(len(events)))
    assert all(event.name == event.data["type"] for event in events)
    assert (events[0].name, events[1].name, events[-1].name) == (
        "response.created",
        "response.in_progress",
        "response.completed",
    )
    done = [event.data["item"] for event in events if event.name == "response.output_item.done"]
    assert done == events[-1].data["response"]["output"]
    words = [event.data["delta"] for event in events if event.name == "response.output_text.delta"]
    assert "".join(words) == "A text of some length."
    assert len(words) == 1 + (len("A text of some length.") > 24)


def test_events_of_further_items() -> None:
    """The input of a custom tool comes in pieces; an item that a hosted tool made comes whole."""
    said: Items = [
        {"type": "custom_tool_call", "name": "sh", "input": "ls -l /shelves/one /shelves/two"},
        {"type": "web_search_call", "status": "completed"},
    ]
    events = list(StrictResponses(lambda _: said).stream({"model": MODEL, "input": "hi"}))
    names = [event.name for event in events]
    custom, hosted = (
        position for position, name in enumerate(names) if name == "response.output_item.added"
    )
    ended = names.index("response.output_item.done")
    deltas = [event.data["delta"] for event in events[custom + 1 : ended - 1]]
    assert events[custom].data["item"]["input"] == ""
    assert ("".join(deltas), len(deltas) > 1) == ("ls -l /shelves/one /shelves/two", True)
    done = events[ended - 1].data
    assert (done["type"], done["input"]) == (
        "response.custom_tool_call_input.done",
        "ls -l /shelves/one /shelves/two",
    )
    assert names[hosted:] == [
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]


def test_a_trigger_is_written_at_the_end_only() -> None:
    """A trigger is sent only while it is the last item, and the log keeps it."""
    items: Items = [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": "Five."},
        TRIGGER,
    ]
    assert project(items, 10_000, provider="openai-responses").messages == items
    session = ContextSession(10_000, auto=False, provider="openai-responses")
    session.extend(items, "openai-responses")
    assert session.messages() == items
    session.add_user_turn("And then?")
    assert session.messages() == [*items[:2], {"role": "user", "content": "And then?"}]
    assert (
        session.messages()
        == project(
            [*items, {"role": "user", "content": "And then?"}], 10_000, provider="openai-responses"
        ).messages
    )
    assert [part.type for turn in session.conversation.log for part in turn.parts] == [
        "compaction_trigger"
    ]
