"""The strict Responses: bound reasoning, compaction, stored responses, usage, faults, events."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import ContextSession, project
from polycontext.testing.strict import RequestRefusedError
from polycontext.window.errors import InvalidMessagesError
from polycontext.window.providers import check
from polycontext.window.providers.responses.rules import Judge as InputJudge
from tests.vendors import StrictResponses, check_request

Items = list[dict[str, Any]]

MODEL = "gpt-5.6"
TOOLS = [{"type": "function", "name": "read", "parameters": {"type": "object"}}]
THINKING: Items = [
    {"type": "reasoning"},
    {"type": "function_call", "name": "read", "arguments": "{}"},
]


def strict(**options: Any) -> StrictResponses:
    """Return a provider that thinks and calls, always."""
    return StrictResponses(lambda _: THINKING, **options)


def ask(provider: StrictResponses, items: Items, **further: Any) -> dict[str, Any]:
    """Return the answer to `items`."""
    return provider.create(
        {"model": MODEL, "input": items, "tools": TOOLS, "instructions": "Be brief."} | further
    )


def loop(provider: StrictResponses, steps: int, **further: Any) -> Items:
    """Return the input of a tool loop of `steps` steps, each of them accepted whole."""
    items: Items = [{"role": "user", "content": "Fix it."}]
    for _ in range(steps):
        answer = ask(provider, items, **further)
        assert "input_transformations" not in answer
        items += answer["output"]
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        items += [
            {"type": "function_call_output", "call_id": call["call_id"], "output": "word " * 50}
            for call in calls
        ]
    return items


def removed(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Return which reasoning was withheld, and why."""
    return [(entry["id"], entry["reason"]) for entry in answer.get("input_transformations", [])]


def reasons(items: Items) -> list[str]:
    """Return the ids of the reasoning items."""
    return [item["id"] for item in items if item["type"] == "reasoning"]


def typed(items: Items) -> Items:
    """Return `items`, each with its type."""
    return [{"type": "message"} | item for item in items]


@pytest.mark.parametrize(
    ("change", "spared"),
    [
        (lambda items: items[0].update(content="Break it."), 0),
        (lambda items: items[3].update(output="other"), 1),
        (lambda items: items[5].update(arguments='{"a": 1}'), 2),
        (
            lambda items: items.insert(
                4, {"type": "message", "role": "user", "content": "By the way."}
            ),
            1,
        ),
    ],
    ids=["the question", "an output", "a call", "a message between"],
)
def test_reasoning_behind_a_changed_prefix_is_withheld(
    change: Callable[[Items], Any], spared: int
) -> None:
    """Reasoning after a change is removed and listed with its id, and earlier reasoning stays."""
    provider = strict()
    items = [dict(item) for item in typed(loop(provider, 4))]
    change(items)
    assert removed(ask(provider, items)) == [
        (own, "prefix_mismatch") for own in reasons(items)[spared:]
    ]


@pytest.mark.parametrize(
    "further",
    [
        {"instructions": "Be long."},
        {"instructions": None},
        {"tools": [*TOOLS, TOOLS[0] | {"name": "write"}]},
    ],
)
def test_instructions_and_tools_stand_before_all(further: dict[str, Any]) -> None:
    """Other instructions or tools take all reasoning away."""
    provider = strict()
    items = loop(provider, 3)
    assert removed(ask(provider, items, **further)) == [
        (own, "prefix_mismatch") for own in reasons(typed(items))
    ]


@pytest.mark.parametrize(
    "form",
    [
        lambda item: item | {"status": None} if item["type"] != "message" else item,
        lambda item: {key: value for key, value in item.items() if key != "status"},
        lambda item: item | {"caller": None, "namespace": None},
        lambda item: dict(reversed(item.items())),
        lambda item: (
            item | {"content": [{"type": "input_text", "text": item["content"]}]}
            if item["type"] == "message"
            else item
        ),
    ],
    ids=["null status", "no status", "null fields", "other order of keys", "content as parts"],
)
def test_another_form_of_the_same_is_no_change(
    form: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """An equivalent form of the same items removes no reasoning."""
    provider = strict()
    items = [form(item) for item in typed(loop(provider, 3))]
    assert not removed(ask(provider, items))


def test_what_is_withheld_binds_nothing() -> None:
    """Reasoning made while an earlier one was withheld stays valid, with or without that one."""
    provider = strict()
    items = loop(provider, 2, store=False)
    items[0] = {"role": "user", "content": "Other."}
    answer = ask(provider, items, store=False)
    gone = [own for own, _ in removed(answer)]
    items += [
        *answer["output"],
        {"type": "function_call_output", "call_id": answer["output"][1]["call_id"], "output": "a"},
    ]
    assert [own for own, _ in removed(ask(provider, items))] == gone
    assert not removed(ask(provider, [item for item in items if item.get("id") not in gone]))


def test_other_models_and_other_providers() -> None:
    """A model of the family reads the reasoning, another does not, a foreign secret fails."""
    items = loop(strict(), 2)
    assert not removed(ask(strict(), items, model="gpt-5.6-mini"))
    assert {reason for _, reason in removed(ask(strict(), items, model="gpt-5.5"))} == {
        "model_mismatch"
    }
    with pytest.raises(
        RequestRefusedError, match=r"The encrypted content .* could not be verified"
    ) as caught:
        ask(strict(secret=b"another"), items)
    assert (caught.value.code, caught.value.index, caught.value.status) == (
        "invalid_encrypted_content",
        1,
        400,
    )


def test_a_growing_loop_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: each item of a loop is judged and counted once, however often it is sent."""
    judged, add = list[object](), InputJudge.add

    def counted(self: InputJudge, item: object) -> object:
        judged.append(item)
        return add(self, item)

    monkeypatch.setattr(InputJudge, "add", counted)
    provider = strict()
    items = loop(provider, 40)
    ask(provider, items)
    assert len(judged) == len(items)


def test_branches_of_one_conversation() -> None:
    """Two conversations that go on from one prefix know nothing of each other."""
    provider = strict()
    stem = typed(loop(provider, 2))
    ask(provider, stem)
    for further in ("a", "b", "a"):
        asked = [*stem, {"type": "message", "role": "user", "content": further}]
        assert not removed(ask(provider, asked))
        with pytest.raises(RequestRefusedError) as caught:
            ask(provider, [*asked, stem[3]])
        assert (caught.value.rule, caught.value.index) == ("duplicate-result", len(asked))
    changed = [{"type": "message", "role": "user", "content": "Other."}, *stem[1:]]
    assert removed(ask(provider, changed))
    assert not removed(ask(provider, stem))


def test_a_conversation_outlives_its_provider() -> None:
    """Another provider with the same secret continues, and all reasoning stays valid."""
    items = loop(strict(), 3)
    for _ in range(3):
        answer = ask(strict(), items)
        assert not removed(answer)
        call = answer["output"][1]["call_id"]
        items += [
            *answer["output"],
            {"type": "function_call_output", "call_id": call, "output": "a"},
        ]
    assert len({item.get("id") for item in items if "id" in item}) == sum(
        "id" in item for item in items
    )


def test_without_binding_only_forgery_is_seen() -> None:
    """With the binding off a changed prefix takes nothing away."""
    items = loop(strict(), 2)
    items[0] = {"role": "user", "content": "Other."}
    assert removed(ask(strict(), items))
    assert not removed(ask(strict(binding=False), items))


def test_a_call_needs_the_reasoning_that_led_to_it() -> None:
    """A stored call without its reasoning is refused, but accepted without its id or unstored."""
    provider = strict()
    items = [item for item in typed(loop(provider, 2)) if item["type"] != "reasoning"]
    with pytest.raises(RequestRefusedError) as caught:
        ask(provider, items)
    call = items[1]["id"]
    assert caught.value.rule == "reasoning-missing"
    assert caught.value.message.startswith(
        f"Item '{call}' of type 'function_call' was provided without its required 'reasoning' "
        "item: 'rs_"
    )
    ask(provider, [{key: value for key, value in item.items() if key != "id"} for item in items])
    ask(
        provider,
        [item for item in typed(loop(provider, 2, store=False)) if item["type"] != "reasoning"],
        store=False,
    )


def test_compaction_at_a_threshold() -> None:
    """At the threshold a compaction item is made, and reasoning stays valid without older items."""
    provider, entries = strict(), [{"type": "compaction", "compact_threshold": 1000}]
    items = typed(loop(provider, 30, context_management=entries))
    places = [index for index, item in enumerate(items) if item["type"] == "compaction"]
    assert len(places) > 1
    for kept in (items, items[places[-1] :]):
        assert not removed(ask(provider, kept, context_management=entries))
    assert provider.input_tokens({"model": MODEL, "input": items})["input_tokens"] < 1200
    # Between the newest compaction and reasoning behind it nothing may change.
    changed = [
        *items[: places[-1] + 1],
        {"role": "user", "content": "By the way."},
        *items[places[-1] + 1 :],
    ]
    assert removed(ask(provider, changed))


def test_compaction_on_demand() -> None:
    """Compaction returns the user's messages and one opaque item, and the talk continues."""
    provider = strict()
    items = loop(provider, 10)
    compacted = provider.compact(
        {"model": MODEL, "input": items, "instructions": "Be brief.", "tools": TOOLS}
    )
    assert (compacted["object"], [item["type"] for item in compacted["output"]]) == (
        "response.compaction",
        ["message", "compaction"],
    )
    assert compacted["output"][0]["content"] == [{"type": "input_text", "text": "Fix it."}]
    before, after = (
        provider.input_tokens({"model": MODEL, "input": given})["input_tokens"]
        for given in (items, compacted["output"])
    )
    assert compacted["usage"]["input_tokens"] > before > 5 * after
    further = [*compacted["output"], {"role": "user", "content": "Go on."}]
    answer = ask(provider, further)
    further += [
        *answer["output"],
        {"type": "function_call_output", "call_id": answer["output"][1]["call_id"], "output": "a"},
    ]
    assert not removed(ask(provider, further))


def test_cache() -> None:
    """From 1,024 tokens the cache is read in steps of 128, until it expires."""
    now = [0.0]
    provider = strict(clock=lambda: now[0])
    items = [{"role": "user", "content": "word " * 900}]
    assert ask(provider, items)["usage"]["input_tokens_details"]["cached_tokens"] == 0
    items = [{"role": "user", "content": "word " * 1500}]
    assert ask(provider, items)["usage"]["input_tokens_details"]["cached_tokens"] == 0
    details = ask(provider, [*items, {"role": "user", "content": "word " * 300}])["usage"][
        "input_tokens_details"
    ]
    assert details["cached_tokens"] == 1408
    assert details["cache_write_tokens"] % 128 == 0 < details["cache_write_tokens"]
    now[0] = 3600.0
    assert ask(provider, items)["usage"]["input_tokens_details"]["cached_tokens"] == 0


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


@given(st.data())
def test_any_change_is_seen(data: st.DataObject) -> None:
    """Leaving out, doubling or moving an item is refused or costs reasoning, if any follows it."""
    provider = strict()
    items = typed(loop(provider, data.draw(st.integers(1, 5))))
    place = data.draw(st.integers(0, len(items) - 1))
    other = data.draw(st.integers(0, len(items) - 1))
    how = data.draw(st.sampled_from(["out", "twice", "moved"]))
    changed: Items = items[:place] + items[place + 1 :]
    if how == "twice":
        changed = items[: place + 1] + items[place:]
    elif how == "moved":
        changed.insert(other, items[place])
    touched = min(place, other) if how == "moved" else place
    behind = [item for item in items[touched:] if item["type"] == "reasoning"]
    try:
        answer = ask(provider, changed)
    except RequestRefusedError:
        return
    assert removed(answer) or not behind or changed == items


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "role",
                        "content",
                        "id",
                        "call_id",
                        "output",
                        "summary",
                        "encrypted_content",
                        "action",
                        "text",
                        "reasoning",
                        "message",
                        "function_call",
                        "input_text",
                        "image_url",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_any_data_are_judged(value: Any) -> None:
    """For any JSON data, the check and the provider raise their one error or none."""
    kinds = [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "compaction",
        "shell_call_output",
        "computer_call",
        "computer_call_output",
        "mcp_approval_response",
        "item_reference",
        "local_shell_call",
    ]
    for kind in kinds:
        item = {"type": kind} | (
            value
            if isinstance(value, dict)
            else {"content": value, "call_id": value, "id": value, "output": value}
        )
        judged_once([item])
    judged_once(value)


def judged_once(items: Any) -> None:
    """Judge `items` by the checks and by a provider."""
    request = {"model": MODEL, "input": items}
    judges: Sequence[tuple[Callable[[Any], Any], Any]] = (
        (partial(check, provider="openai-responses"), items),
        (partial(check_request, provider="openai-responses"), request),
        (StrictResponses(lambda _: "a").create, request),
    )
    for judge, what in judges:
        try:
            judge(what)
        except (InvalidMessagesError, RequestRefusedError) as error:
            assert error.rule


TRIGGER = {"type": "compaction_trigger"}


def test_a_trigger_at_the_end_gives_one_compaction_and_no_answer() -> None:
    """A final trigger gives one compaction, which replaces all items before it, and no answer."""
    asked: list[Any] = []

    def reply(request: Any) -> str:
        asked.append(request)
        return "Go on."

    provider = StrictResponses(reply)
    items: Items = [{"role": "user", "content": "word " * 500}, TRIGGER]
    answer = provider.create({"model": MODEL, "input": items})
    assert [item["type"] for item in answer["output"]] == ["compaction"]
    assert not asked
    further = [*answer["output"], {"role": "user", "content": "And then?"}]
    kept = provider.create({"model": MODEL, "input": further})
    assert kept["usage"]["input_tokens"] < 300
    events = [
        event.name for event in provider.stream({"model": MODEL, "input": items, "stream": True})
    ]
    assert events[-1] == "response.completed"


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
