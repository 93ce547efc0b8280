"""A turn is validated on creation, so that its text is storable and its role known."""

from datetime import UTC, datetime, timedelta, timezone
from functools import reduce
from typing import Any

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import CallerError
from polycontext.linearity import UNIX_EPOCH
from polycontext.testing.strategies import TEXTS
from polycontext.window import InvalidTurnError, Role, ToolCall, Turn
from polycontext.window.turn import free_name

CALL = ToolCall("c1", "search")
SURROGATE = "ab\ud800c"

NESTED: dict[str, Any] = reduce(lambda inner, _: {"in": inner}, range(300), {})

ILLEGAL: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown role": ({"role": "poet"}, "role", "system, user, assistant, tool"),
    "role of another type": ({"role": ["user"]}, "role", "system"),
    "no role": ({"role": None}, "role", "user"),
    "lone surrogate": ({"content": SURROGATE}, "content", "U+D800 at character 2"),
    "bytes for text": ({"content": b"hi"}, "content", "bytes is not text"),
    "number for text": ({"content": 7}, "content", "int is not text"),
    "no content": ({"content": None}, "content", "None without tool calls"),
    "no content on a tool turn": (
        {"role": "tool", "content": None, "tool_call_id": "c1"},
        "content",
        "None",
    ),
    "calls on a user turn": ({"tool_calls": [CALL]}, "tool_calls", "on a user turn"),
    "calls on a tool turn": (
        {"role": "tool", "tool_call_id": "c1", "tool_calls": [CALL]},
        "tool_calls",
        "on a tool turn",
    ),
    "a dict for a call": (
        {"role": "assistant", "tool_calls": [{"id": "c1"}]},
        "tool_calls",
        "dict",
    ),
    "None for the calls": ({"role": "assistant", "tool_calls": None}, "tool_calls", "NoneType"),
    "text for the calls": ({"role": "assistant", "tool_calls": "c1"}, "tool_calls", "str"),
    "tool turn without call id": ({"role": "tool"}, "tool_call_id", "None on a tool turn"),
    "call id on a user turn": ({"tool_call_id": "c1"}, "tool_call_id", "on a user turn"),
    "surrogate in the call id": (
        {"role": "tool", "tool_call_id": SURROGATE},
        "tool_call_id",
        "surrogate",
    ),
    "surrogate in the name": ({"name": SURROGATE}, "name", "surrogate"),
    "surrogate in the resource id": ({"resource_id": SURROGATE}, "resource_id", "surrogate"),
    "resource id of another type": ({"resource_id": 7}, "resource_id", "int is not text"),
    "naive timestamp": ({"timestamp": datetime(2026, 1, 1)}, "timestamp", "naive"),  # noqa: DTZ001
    "text for a timestamp": ({"timestamp": "2026-01-01"}, "timestamp", "str is not a datetime"),
    "timestamp beyond what UTC holds": (
        {"timestamp": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))},
        "timestamp",
        "out of range",
    ),
    "metadata of another type": ({"metadata": [1]}, "metadata", "list is not an object"),
    "metadata that is not a number": (
        {"metadata": {"a": [1, float("nan")]}},
        "metadata.a[1]",
        "nan is not JSON data",
    ),
    "300 levels of metadata": ({"metadata": NESTED}, "metadata" + ".in" * 100, "too deep"),
    "negative tokens": ({"tokens": -1}, "tokens", "-1"),
    "tokens of another type": ({"tokens": 2.5}, "tokens", "2.5"),
}


@pytest.mark.parametrize(("fields", "field", "says"), ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_illegal_turn_is_refused_and_says_why(
    fields: dict[str, Any], field: str, says: str
) -> None:
    """An invalid turn is refused with the field, the fault and the legal values."""
    everything: dict[str, Any] = {"role": "user", "content": "hello", **fields}
    with pytest.raises(InvalidTurnError) as caught:
        Turn(**everything)
    assert caught.value.field == field
    assert says in str(caught.value)
    assert "Use " in str(caught.value)
    assert caught.value.legal
    assert isinstance(caught.value, CallerError)
    assert isinstance(caught.value, ValueError)


BAD_CALLS: dict[str, tuple[tuple[Any, ...], str]] = {
    "empty id": (("", "search"), "tool_calls.id"),
    "no id": ((None, "search"), "tool_calls.id"),
    "empty name": (("c1", ""), "tool_calls.name"),
    "surrogate in the name": (("c1", SURROGATE), "tool_calls.name"),
    "parsed arguments": (("c1", "search", {"q": 1}), "tool_calls.arguments"),
    "surrogate in the arguments": (("c1", "search", SURROGATE), "tool_calls.arguments"),
}


@pytest.mark.parametrize(("fields", "field"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_an_illegal_call_is_refused(fields: tuple[Any, ...], field: str) -> None:
    """A call has an id and a name, and its arguments are the model's own text."""
    with pytest.raises(InvalidTurnError) as caught:
        ToolCall(*fields)
    assert caught.value.field == field


def test_a_turn_cannot_be_changed() -> None:
    """Neither a field nor what the metadata hold can be set."""
    data: dict[str, Any] = {"tags": ["a"], "inner": {"k": 1}}
    turn = Turn(Role.USER, "hello", metadata=data)
    with pytest.raises(FrozenInstanceError):
        turn.content = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        turn.metadata["x"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        turn.metadata["inner"]["k"] = 2
    data["tags"].append("b")
    data["inner"]["k"] = 3
    assert turn.metadata == {"tags": ("a",), "inner": {"k": 1}}


@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)),  # noqa: DTZ001
    st.integers(-14 * 60, 14 * 60),
)
def test_a_timestamp_is_kept_as_the_same_moment_in_utc(moment: datetime, minutes: int) -> None:
    """Any aware timestamp is taken and turned into Universal Time, the moment unchanged."""
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    turn = Turn(Role.USER, "hi", timestamp=aware)
    assert turn.timestamp == aware
    assert turn.timestamp.tzinfo is UTC


@given(TEXTS, st.datetimes(timezones=st.just(UTC)))
def test_stamping_a_turn_gives_it_a_time_and_takes_its_count(text: str, moment: datetime) -> None:
    """The stamped turn is the same turn at that time, to be counted anew; the old one stays."""
    turn = Turn(Role.USER, text, tokens=5, metadata={"k": 1})
    assert turn.stamped(moment) == evolve(turn, timestamp=moment, tokens=None)
    assert (turn.timestamp, turn.tokens) == (UNIX_EPOCH, 5)
    with pytest.raises(InvalidTurnError, match="naive"):
        turn.stamped(moment.replace(tzinfo=None))


@pytest.mark.parametrize(
    "resource_id",
    ["t 1", "t\n1", "<b>t1</b>", "[t1]", 'a"b', "a&b", "x" * 201, "t\u202e1", "t\x001"],
)
def test_an_id_that_could_end_a_frame_or_open_a_tag_is_refused(resource_id: str) -> None:
    """Ids stand in gists and in markup; the error says what is legal."""
    with pytest.raises(InvalidTurnError, match=r"resource_id.*1 to 200 printable characters"):
        Turn("user", "hello", resource_id=resource_id)


def test_the_second_of_many_equal_ids_is_numbered_in_few_steps() -> None:
    """However many calls of an answer have one id."""
    asked = list[str]()

    class Taken(set[str]):
        def __contains__(self, name: object) -> bool:
            asked.append(str(name))
            return super().__contains__(name)

    taken = Taken({"c", *(f"c_{number}" for number in range(2, 4_001))})
    assert free_name("c", taken, 40) == "c_4001"
    assert len(asked) < 40
