"""A row is shortened in its own shape, and columns with a number a message follow it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from polycontext import project
from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.bulk import RowCompressor, compress_file, compress_rows
from polycontext.bulk.pieces import Rejected
from polycontext.polynomial import ContextOverflowError
from polycontext.window.providers import check
from tests.bulk.data_sets import BUDGET, rows
from tests.cli.command import assistant, chat, system, user
from tests.transcripts.writers import RECORDS

SMALL = RowCompressor(max_tokens=BUDGET)


def test_the_messages_are_those_of_project_and_other_columns_stay() -> None:
    """A row keeps every column; its messages are shortened as `project` does."""
    row = rows(4)[1]
    assert SMALL(row) == {**row, "messages": project(row["messages"], BUDGET).messages}


def test_messages_as_text_stay_text() -> None:
    """Columns of JSON text, as in many Parquet files, come back as JSON text."""
    messages = chat(12)
    short = SMALL({"messages": json.dumps(messages)})
    assert json.loads(short["messages"]) == project(messages, BUDGET).messages


def test_a_system_prompt_beside_the_messages_stays_there() -> None:
    """A request of Anthropic's has its system prompt apart, and it counts."""
    row = {"system": "Be brief.", "messages": chat(12)}
    short = SMALL(row)
    assert short["system"] == "Be brief."
    assert short["messages"][0]["role"] == "user"
    assert len(short["messages"]) < 12
    check(short["messages"], "anthropic")


def test_tools_beside_the_messages_count() -> None:
    """Definitions of tools take room from the messages, also as JSON text."""
    tool = {"type": "function", "function": {"name": "look", "description": "w " * 100}}
    row = {"messages": chat(12), "tools": json.dumps([tool])}
    short = SMALL(row)
    assert short["tools"] is row["tools"]
    assert len(json.dumps(short["messages"])) < len(json.dumps(SMALL(row["messages"])))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"text": "x"}, r"messages: is missing; the columns are 'text'"),
        ({"messages": 7}, r"messages: is int, not a list"),
        ({"messages": "[1"}, r"messages: is not JSON"),
        ({"messages": [{"role": "poet", "content": "x"}]}, r"messages\[0\] breaks the openai rule"),
    ],
)
def test_a_row_without_valid_messages_is_refused(row: dict[str, Any], told: str) -> None:
    """The error says which column, and what is there instead."""
    with pytest.raises(ValueError, match=told):
        SMALL(row)


# --- training columns -------------------------------------------------------


def masked(messages: list[dict[str, Any]], **columns: Any) -> dict[str, Any]:
    """Return a row with a loss mask: 1 for the model's messages, 0 for others."""
    mask = [int(each["role"] == "assistant") for each in messages]
    return {"messages": messages, "loss_mask": mask, **columns}


def test_values_follow_their_messages_and_summaries_have_none() -> None:
    """Each kept message has its own value, whatever stands before it; all others have 0."""
    messages = chat(12)
    row = masked(messages, weight=[n / 8 + 1 for n in range(12)])
    short = RowCompressor(max_tokens=BUDGET, keep=("loss_mask", "weight"))(row)
    assert len(short["messages"]) < 12
    for message, mask, weight in zip(
        short["messages"], short["loss_mask"], short["weight"], strict=True
    ):
        index = messages.index(message) if message in messages else None
        assert mask == (0 if index is None else row["loss_mask"][index])
        assert weight == (0.0 if index is None else row["weight"][index])
    assert sum(short["loss_mask"]) > 0
    assert any(message not in messages for message in short["messages"])


def test_the_same_words_keep_their_own_values() -> None:
    """Where two messages say the same, the later one that is kept has the later value."""
    messages = [user("Start."), *[assistant("ok " * 90), user("on")] * 12]
    row = {"messages": messages, "at": [*range(len(messages))]}
    short = RowCompressor(max_tokens=BUDGET, keep=("at",))(row)
    assert len(short["messages"]) < len(messages)
    assert short["at"][-1] == len(messages) - 1
    assert short["at"] == sorted(short["at"])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1] * 500, "has 500 values for 12 messages. Use one value for each message; values for"),
        (None, "is missing"),
        (["a"] * 12, "is not a list of numbers"),
    ],
)
def test_values_that_are_not_one_a_message_are_refused(values: object, told: str) -> None:
    """A mask for each token cannot follow a text that changes; the error says so."""
    compressor = RowCompressor(max_tokens=BUDGET, keep=("loss_mask",))
    with pytest.raises(InvalidDataError, match=told):
        compressor({"messages": chat(12), "loss_mask": values})
    with pytest.raises(InvalidDataError, match="loss_mask"):
        compressor({"messages": chat(2), "loss_mask": values})  # nor where everything fits


# --- iterables --------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.gate)])
def test_rows_come_in_order_from_any_number_of_workers(workers: int) -> None:
    """An iterable gives the rows of one compressor, in their order."""
    given = rows(70)
    assert [*compress_rows(iter(given), BUDGET, workers=workers)] == [*map(SMALL, given)]


def test_a_rejected_row_ends_the_iteration_or_is_handed_over() -> None:
    """Without `rejected`, the first bad row raises; with it, the row is left out and told."""
    given = [*rows(3), {"id": 3}, {"messages": [system("w " * 700), user("Hello?")]}, *rows(3)]
    with pytest.raises(InvalidDataError, match=r"row 4: messages: is missing"):
        list(compress_rows(given, 20_000))
    told = list[Rejected]()
    found = [*compress_rows(given, BUDGET, rejected=told.append)]
    assert found == [*map(SMALL, rows(3))] * 2
    assert [(each.number, each.error) for each in told] == [
        (4, InvalidDataError.__name__),
        (5, ContextOverflowError.__name__),
    ]


def test_rows_of_other_libraries_become_messages() -> None:
    """Also those that fit, so that a data set stays one shape; a batch's line keeps its own."""
    compressor = RowCompressor(max_tokens=4_000)
    row = {"id": 7, **RECORDS["ShareGPT"]}
    told = compressor(row)
    assert [*told] == ["id", "messages"]
    assert told["messages"][0] == {
        "role": "user",
        "content": [{"type": "text", "text": "Fix it."}],
    }
    assert compressor(told) is told
    assert compressor(RECORDS["LangChain"])[0]["role"] == "user"
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "word " * 900}] * 9}
    line = {"custom_id": "a", "body": body}
    assert compressor(line)["body"]["model"] == "gpt-5"
    assert len(compressor(line)["body"]["messages"]) < 9
    assert RowCompressor(max_tokens=90_000)(line) is line


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: RowCompressor(max_tokens=90, keep="mask"), "a list of columns"),
        (lambda: [*compress_rows({"messages": []}, 90)], "a list of rows"),
        (lambda: [*compress_rows([], 90, rejected=[])], "a function"),  # type: ignore[arg-type]
        (lambda: [*compress_rows([], 90, workers=0)], "at least 1"),
        (lambda: compress_file("a.jsonl", "b.jsonl", 4000), "RowCompressor\\("),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_option_says_what_to_write(call: Callable[[], object], told: str) -> None:
    """Before any row is read."""
    with pytest.raises(InvalidOptionError, match=told):
        call()
