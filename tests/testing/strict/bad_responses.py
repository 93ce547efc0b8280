"""Requests that OpenAI's Responses refuses, each for one reason.

Each has its rule, the vendor's status and wording, `param` and `code`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.testing.strict.bad_openai import MODEL, BadRequest, bad, missing, tool, user


def function_call(own: str = "call_1", **further: Any) -> dict[str, Any]:
    """Return a call of a function, as an item."""
    return {"type": "function_call", "call_id": own, "name": "read", "arguments": "{}"} | further


def output(own: str = "call_1", **further: Any) -> dict[str, Any]:
    """Return the output of a function, as an item."""
    return {"type": "function_call_output", "call_id": own, "output": "done"} | further


def reasoning(**further: Any) -> dict[str, Any]:
    """Return a reasoning item that is the platform's own by its id."""
    return {"type": "reasoning", "id": "rs_1", "summary": []} | further


_responses = partial(bad, "input")


def responses_requests() -> Iterator[BadRequest]:
    """Yield the bad requests of Responses."""
    yield from _input_items()
    yield from _input_pairs()
    yield from _input_reasoning()
    yield from _input_options()


def _input_items() -> Iterator[BadRequest]:
    yield _responses(
        "no item", [], "empty-list", "Invalid 'input': empty array.", "input", "empty_array"
    )
    yield _responses(
        "an object for the input",
        {"role": "user"},
        "not-a-list",
        "expected one of a string or array of input items, but got an object",
        "input",
        "invalid_type",
    )
    yield _responses(
        "an item of text",
        ["hi"],
        "not-an-object",
        "Invalid type for 'input[0]': expected an object, but got a string",
        "input[0]",
        "invalid_type",
    )
    yield _responses(
        "a tool's message",
        [user(), {"role": "tool", "content": "a"}],
        "unknown-role",
        "Invalid value: 'tool'. Supported values are: 'user', 'assistant', 'system', and "
        "'developer'.",
        "input[1].role",
        "invalid_value",
    )
    yield _responses(
        "a message without content",
        [{"role": "user"}],
        "missing-content",
        *missing("input[0].content"),
    )
    yield _responses(
        "a number for content",
        [user(7)],
        "bad-content",
        "expected one of a string or array of objects, but got an integer instead.",
        "input[0].content",
        "invalid_type",
    )
    yield _responses(
        "no parts",
        [user([])],
        "empty-content",
        "Invalid 'input[0].content': empty array.",
        "input[0].content",
        "empty_array",
    )
    asked = {"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}
    yield _responses(
        "what was asked as what was said",
        [user(), asked],
        "misplaced-part",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        "input[1].content[0]",
        "invalid_value",
    )
    yield _responses(
        "a part of chat",
        [user([{"type": "text", "text": "a"}])],
        "misplaced-part",
        "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', "
        "'input_file', and 'input_audio'.",
        "input[0].content[0]",
        "invalid_value",
    )
    picture = {"type": "input_image", "image_url": "cat.png"}
    yield _responses(
        "a picture by its file name",
        [user([picture])],
        "bad-image",
        "Expected a base64-encoded data URL with an image MIME type",
        "input[0].content[0].image_url",
        "invalid_value",
    )
    yield _responses(
        "a picture of nothing",
        [user([{"type": "input_image"}])],
        "bad-image",
        *missing("input[0].content[0].image_url"),
    )
    yield _responses(
        "a file of nothing",
        [user([{"type": "input_file", "filename": "a.pdf"}])],
        "bad-file",
        *missing("input[0].content[0].file_id"),
    )
    yield _responses(
        "a chat's id for an item",
        [user(), function_call(id="call_1"), output()],
        "bad-item-id",
        "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
        "input[1].id",
        "invalid_value",
    )
    yield _responses(
        "a long item id",
        [user(), {"type": "web_search_call", "id": "ws_" + "a" * 62}],
        "too-long",
        "Expected a string with maximum length 64, but got a string with length 65",
        "input[1].id",
        "string_above_max_length",
    )
    twice = {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "content": [{"type": "output_text", "text": "a"}],
    }
    yield _responses(
        "one item twice",
        [user(), twice, user(), twice],
        "duplicate-item",
        "Duplicate item found with id msg_1. Remove duplicate items from your input and try again.",
        "input",
        index=3,
    )
    yield _responses(
        "a compaction of nothing",
        [{"type": "compaction"}, user()],
        "bad-compaction",
        *missing("input[0].encrypted_content"),
    )
    yield _responses(
        "a type that is not text",
        [{"type": 7}],
        "bad-item",
        "Invalid type for 'input[0].type': expected a string, but got an integer instead.",
        "input[0].type",
        "invalid_type",
    )


def _input_pairs() -> Iterator[BadRequest]:
    none = "No tool call found for function call output with call_id {}."
    yield _responses(
        "an output without its call",
        [user(), output()],
        "orphan-result",
        none.format("call_1"),
        "input",
        index=1,
    )
    yield _responses(
        "an output before its call",
        [user(), output(), function_call()],
        "orphan-result",
        none.format("call_1"),
        "input",
        index=1,
    )
    yield _responses(
        "two outputs of one call",
        [user(), function_call(), output(), output()],
        "duplicate-result",
        none.format("call_1"),
        "input",
        index=3,
    )
    yield _responses(
        "an output of no call",
        [user(), {"type": "function_call_output", "output": "a"}],
        "orphan-result",
        *missing("input[1].call_id"),
    )
    yield _responses(
        "a call without its output",
        [user(), function_call(), user()],
        "unanswered-call",
        "No tool output found for function call call_1.",
        "input",
        index=1,
    )
    custom = {"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": "a"}
    yield _responses(
        "a custom call without its output",
        [user(), custom],
        "unanswered-call",
        "No tool output found for custom tool call call_1.",
        "input",
        index=1,
    )
    yield _responses(
        "two open calls of one id",
        [user(), function_call(), function_call(), output()],
        "duplicate-call-id",
        "Duplicate tool call found with call_id call_1.",
        "input",
        index=2,
    )
    yield _responses(
        "a space in a tool's name",
        [user(), function_call(name="read file"), output()],
        "bad-tool-name",
        "Invalid 'input[1].name': string does not match pattern.",
        "input[1].name",
        "invalid_value",
    )
    yield _responses(
        "an approval of nothing said",
        [user(), {"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}],
        "bad-item",
        *missing("input[1].approve"),
    )
    shell = {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "status": "completed"}
    yield _responses(
        "a shell told nothing", [user(), shell], "bad-tool-call", *missing("input[1].action")
    )


def _input_reasoning() -> Iterator[BadRequest]:
    alone = "Item 'rs_1' of type 'reasoning' was provided without its required following item."
    yield _responses(
        "reasoning at the end",
        [user(), reasoning(encrypted_content="gAAA")],
        "reasoning-alone",
        alone,
        "input",
        index=1,
    )
    yield _responses(
        "reasoning before the user",
        [user(), reasoning(encrypted_content="gAAA"), user()],
        "reasoning-alone",
        alone,
        "input",
        index=1,
    )
    yield _responses(
        "reasoning without a summary",
        [user(), {"type": "reasoning", "id": "rs_1"}, function_call(id="fc_1"), output()],
        "bad-reasoning",
        *missing("input[1].summary"),
    )
    plain = reasoning(content=[{"type": "reasoning_text", "text": "so"}])
    yield _responses(
        "reasoning in plain text",
        [user(), plain, function_call(id="fc_1"), output()],
        "too-long",
        "Expected an array with maximum length 0, but got an array with length 1 instead.",
        "input[1].content",
        "array_above_max_length",
    )


def _input_options() -> Iterator[BadRequest]:
    yield BadRequest(
        "no model",
        {"input": "hi"},
        "missing-model",
        "Missing required parameter: 'model'.",
        "model",
        "missing_required_parameter",
    )
    yield BadRequest(
        "no input",
        {"model": MODEL},
        "empty-list",
        "Missing required parameter: 'input'.",
        "input",
        "missing_required_parameter",
    )
    moved = "In the Responses API, this parameter has moved to '{}'."
    yield BadRequest(
        "messages of chat",
        {"model": MODEL, "messages": [user()]},
        "moved-field",
        moved.format("input"),
        "messages",
        "unsupported_parameter",
    )
    yield _responses("a tool of chat", "hi", "bad-tools", *missing("tools[0].name"), tools=[tool()])
    yield _responses(
        "the choice of another tool",
        "hi",
        "bad-tool-choice",
        "Tool choice 'write' not found in 'tools' parameter.",
        "tool_choice",
        tools=[{"type": "function", "name": "read"}],
        tool_choice={"type": "function", "name": "write"},
    )
    yield _responses(
        "a trigger of a compaction before something else",
        [user(), {"type": "compaction_trigger"}, user()],
        "compaction-trigger",
        "Invalid 'input[1]': an item of type 'compaction_trigger' must be the final input item.",
        "input",
        index=1,
    )
