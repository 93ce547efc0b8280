"""Framing costs at least one token a turn, and media are billed by size, not by base64."""

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.window.part import Part
from polycontext.window.tokens.counter import (
    CALL_OVERHEAD,
    PARALLEL_CALL_OVERHEAD,
    TOOLS_OVERHEAD,
    TURN_OVERHEAD,
    EstimatingCounter,
    TokenCounter,
    arguments_tokens,
    count_tools,
    count_turn,
    is_exact,
)
from polycontext.window.tokens.part_text import tool_text
from polycontext.window.tokens.tiktoken_counter import TiktokenCounter, default_counter
from polycontext.window.turn import ToolCall, Turn
from polycontext.window.wire_text import EMPTY
from tests.window.languages import LANGUAGES

storable = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
words = st.text("abcdefghij_", min_size=1, max_size=12)
counters = st.sampled_from([default_counter(), EstimatingCounter()])


class Words:
    """A user's own counter."""

    exact = False

    def count(self, text: str) -> int:
        """Count words."""
        return len(text.split())


class Unlabelled:
    """A counter that nobody taught to label itself, and that is wrong besides."""

    def count(self, text: str) -> int:
        """Return nonsense."""
        return -1000


def test_a_class_of_two_members_is_a_counter() -> None:
    """A user's counter needs `exact` and `count` and nothing of ours."""
    mine: TokenCounter = Words()
    assert count_turn(mine, Turn("user", "three small words")) == TURN_OVERHEAD + 3


def test_a_counter_without_a_label_estimates() -> None:
    """A counter that does not say whether it is exact is taken for an estimate."""
    assert not is_exact(
        Unlabelled(),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )
    assert not is_exact(Words())
    assert is_exact(default_counter())


objects = st.dictionaries(
    storable, storable | st.integers(-(2**70), 2**70) | st.booleans() | st.none(), max_size=4
)


@given(counters, st.lists(st.tuples(words, objects.map(json.dumps)), min_size=1, max_size=4))
def test_each_call_adds_its_own_cost(counter: TokenCounter, drawn: list[tuple[str, str]]) -> None:
    """A call costs its arguments once and its name twice, and more beside parallel calls."""
    calls = [ToolCall(str(index), name, arguments) for index, (name, arguments) in enumerate(drawn)]
    each = CALL_OVERHEAD + (PARALLEL_CALL_OVERHEAD if len(calls) > 1 else 0)
    bill = sum(
        each + 2 * counter.count(call.name) + counter.count(call.arguments) for call in calls
    )
    assert count_turn(counter, Turn("assistant", None, tool_calls=calls)) == TURN_OVERHEAD + bill


@given(counters, storable)
def test_ids_and_bookkeeping_cost_nothing(counter: TokenCounter, content: str) -> None:
    """Ids, metadata, sources and an earlier count are not billed."""
    plain = Turn("tool", content, tool_call_id="a")
    kept = evolve(
        plain,
        tool_call_id="call_" + "x" * 40,
        resource_id="t-1",
        metadata={"k": "v" * 99},
        sources=("a", "b"),
        tokens=5,
    )
    assert count_turn(counter, kept) == count_turn(counter, plain)


@pytest.mark.parametrize("content", ["", " ", "\n\n", None])
def test_emptiness_costs_what_stands_in_for_it(content: str | None) -> None:
    """Blank text and omitted blocks cost the placeholder that is sent in their place."""
    counter = default_counter()
    blank = counter.count(content or "")
    if content is not None:
        assert count_turn(counter, Turn("user", content)) == TURN_OVERHEAD + max(
            blank, counter.count(EMPTY)
        )
    opaque = count_turn(
        counter, Turn("assistant", content, parts=[Part("anthropic", '{"type":"x"}')])
    )
    line = max(blank, counter.count("[x, left out]"))
    assert opaque == TURN_OVERHEAD + line + counter.count('{"type":"x"}')


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ("Paris", '{"raw_arguments":"Paris"}'),
        ("", "{}"),
        ("[1]", '{"raw_arguments":"[1]"}'),
        ('"\n\\"', '{"raw_arguments":"\\"\\n\\\\\\""}'),
        ('{"a":NaN}', '{"raw_arguments":"{\\"a\\":NaN}"}'),
        ('{"a":"\\ud800"}', '{"raw_arguments":"{\\"a\\":\\"\\\\ud800\\"}"}'),
    ],
)
def test_arguments_cost_what_the_costliest_provider_is_sent(arguments: str, sent: str) -> None:
    """Arguments cost what the costliest provider is sent, with wrapping and escaping."""
    counter = default_counter()
    assert counter.count(sent) > counter.count(arguments)
    assert arguments_tokens(counter, arguments) == counter.count(sent)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [('{"a":1e15}', '{"a":1000000000000000.0}'), ('{"a": [1E2, 3e300]}', '{"a":[100.0,3e+300]}')],
)
def test_numbers_that_grow_when_they_are_written_anew_are_counted_grown(
    arguments: str, sent: str
) -> None:
    """A number with an exponent is read and written as another text for Anthropic."""
    assert arguments_tokens(default_counter(), arguments) >= max(
        default_counter().count(sent), default_counter().count(arguments)
    )


def function(name: str, schema: Any, description: str = "") -> dict[str, Any]:
    """Define a function in OpenAI's chat form."""
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema},
    }


RICH = {
    "type": "object",
    "additionalProperties": False,
    "required": ["city", "unit"],
    "$defs": {"Range": {"type": "object", "properties": {"low": {"type": "number"}}}},
    "properties": {
        "city": {"type": "string", "description": "Where.", "title": "City"},
        "unit": {"enum": ["C", "F"]},
        "days": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "mode": {"const": "fast"},
        "place": {"anyOf": [{"type": "string"}, {"type": ["number", "null"]}]},
        "range": {"$ref": "#/$defs/Range"},
        "any": {},
        "odd": 7,
    },
}

RICH_TEXT = """type Range = {
low?: number,
};
// Tell the weather.
type weather = (_: {
// Where.
city: string,
unit: "C" | "F",
days?: number, // {"minimum":1}
tags?: string[],
mode?: "fast",
place?: string | number | null,
range?: Range,
any?: any,
odd?: 7,
}) => any;
"""


def test_a_function_is_counted_as_the_text_a_model_reads() -> None:
    """Every form of a schema has its TypeScript; what has none stays in a remark."""
    text = tool_text([function("weather", RICH, "Tell the weather.\n    ")])
    assert RICH_TEXT in text
    assert count_tools(
        default_counter(), [function("weather", RICH, "Tell the weather.")]
    ) == TOOLS_OVERHEAD + default_counter().count(text)


@pytest.mark.parametrize(
    "tool",
    [
        {
            "name": "weather",
            "description": "Tell it.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
        {"type": "web_search_20250305", "max_uses": 3},
        {"type": "function", "function": None},
        {},
    ],
)
def test_any_other_definition_is_counted_as_json(tool: dict[str, Any]) -> None:
    """Anthropic's definitions and the vendors' own tools reach the model as JSON."""
    assert json.loads(tool_text([tool])) == tool
    assert count_tools(default_counter(), [tool]) > TOOLS_OVERHEAD


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*RICH, "type", "items", "anyOf", "enum", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_no_schema_is_too_odd_to_be_counted(schema: Any) -> None:
    """Whatever stands where a schema should, the count is positive and nothing is raised."""
    assert count_tools(EstimatingCounter(), [function("odd", schema)]) > TOOLS_OVERHEAD


@given(st.text(st.characters(exclude_categories=[])))
@example("\ud800")
def test_an_estimate_is_labelled_and_finds_something_in_every_text(text: str) -> None:
    """The estimator reports that it is inexact, and only an empty text is free."""
    counter = EstimatingCounter()
    assert not counter.exact
    assert counter.count(text) >= bool(text)
    assert counter.count("") == 0


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (LANGUAGES["English"], 0.9, 1.4),
        (
            "def total(rows):\n    return sum(row.price * row.count for row in rows if row.paid)\n"
            * 9,
            0.9,
            1.4,
        ),
        (
            json.dumps(
                [
                    {"id": n, "name": f"item {n}", "price": n * 1.5, "in_stock": True}
                    for n in range(40)
                ]
            ),
            0.75,
            1.2,
        ),
        (LANGUAGES["Japanese"], 0.75, 1.4),
        (LANGUAGES["Chinese"], 0.75, 1.5),
    ],
    ids=["prose", "code", "json", "japanese", "chinese"],
)
def test_the_estimate_stays_near_the_count(text: str, low: float, high: float) -> None:
    """On the kinds of text that conversations hold the estimate is within its documented band."""
    assert low < EstimatingCounter().count(text) / TiktokenCounter().count(text) < high
