"""Session files of hosts: every turn once, with the right role, and nothing of the host."""

from typing import Any

import pytest
from hypothesis import given

from polycontext.transcripts import format_of_rows, messages_of_record
from polycontext.transcripts.transcript import Transcript
from tests.transcripts.writers import (
    RECORDS,
    STEPS,
    WRITERS,
    Step,
    claude_code,
    codex,
    conversations,
    expected,
    gemini_cli,
    pi,
)


def read(value: Any) -> Transcript:
    """Return the transcript of rows or of one record."""
    told = messages_of_record(value)
    if told is None:
        form = format_of_rows(value)
        assert form is not None
        told = form.read([*enumerate(value, 1)])
    return told


def without_neighbours(messages: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the blocks with their roles: some hosts split a message, which says the same."""
    return [(message["role"], block) for message in messages for block in message["content"]]


@pytest.mark.parametrize("host", WRITERS)
@given(steps=conversations())
def test_every_turn_is_there_once(host: str, steps: list[Step]) -> None:
    """What a host wrote is read with the right roles, results behind their calls."""
    told = read(WRITERS[host](steps))
    assert told.host == host
    assert without_neighbours(told.messages) == without_neighbours(expected(steps))
    assert len(told.lines) == len(told.messages)
    assert [*told.lines] == sorted(told.lines)


def said(told: Transcript) -> list[str]:
    """Return the texts in a transcript."""
    return [block.get("text", "") for _, block in without_neighbours(told.messages)]


def test_a_compaction_of_claude_code_is_no_turn() -> None:
    """The host's summary is left out, and what it kept and wrote again is told once."""
    rows = claude_code(STEPS)
    texts = [row for row in rows if "message" in row and not row["isSidechain"]]
    summary = {"role": "user", "content": "This session is being continued …"}
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    compacted = [boundary, {**rows[1], "message": summary, "isCompactSummary": True}, *texts[-3:]]
    for number, row in enumerate(compacted[1:]):
        above = f"again{number - 1}" if number else "b"
        compacted[number + 1] = {**row, "uuid": f"again{number}", "parentUuid": above}
    told = read([*rows, *compacted])
    assert without_neighbours(told.messages) == without_neighbours(expected(STEPS))
    # The same words at another time are said anew.
    asked = {"role": "user", "content": "Use cents."}
    typed = {**compacted[-1], "type": "user", "uuid": "new", "timestamp": "t2", "message": asked}
    assert said(read([*rows, *compacted, typed]))[-1] == "Use cents."
    assert len(said(read([*rows, *compacted, typed]))) == len(said(told)) + 1


@pytest.mark.parametrize("host", WRITERS)
@pytest.mark.parametrize("text", ["ü" * 5_000, "a" * 5_000 + "\ud800"])
def test_a_long_result_is_whole(host: str, text: str) -> None:
    """It is held compressed; what JSON cannot hold is kept as it is."""
    steps = [Step("user", "Read it."), Step("assistant", "Yes.", ((1, text),))]
    told = read(WRITERS[host](steps))
    assert [*told.messages] == expected(steps)
    assert told.messages[-1:] == expected(steps)[-1:]


def test_commands_of_claude_code_are_no_turns() -> None:
    """A command and its output are the host's; what the user wrote behind it is theirs."""
    rows = claude_code(STEPS)
    names = "<command-name>/{}</command-name>\n<command-args>{}</command-args>"
    typed = [
        *(names.format("compact", ""), "<local-command-stdout>Compacted</local-command-stdout>"),
        names.format("review", "the tax"),
    ]
    for number, content in enumerate(typed):
        message = {"role": "user", "content": content}
        above = {"uuid": f"typed{number}", "parentUuid": rows[-1]["uuid"], "message": message}
        rows.append({**rows[1], **above})
    told = read(rows)
    assert said(told)[-1] == typed[-1]
    assert len(said(told)) == len(said(read(claude_code(STEPS)))) + 1
    assert told.left_out["a command of the host"] == 2


def test_a_row_of_claude_code_that_stands_there_twice_is_told_once() -> None:
    """Its id tells; a host that saves again after a failure writes such rows."""
    rows = claude_code(STEPS)
    assert read([*rows, *rows]).messages[:] == read(rows).messages[:]


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("Codex", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"),
        ("Codex", "<subagent_notification>\nDone.\n</subagent_notification>"),
        ("Gemini CLI", "<session_context>\nToday is Monday.\n</session_context>"),
        ("Gemini CLI", "This is the Gemini CLI. We are setting up the context for our chat."),
    ],
)
def test_what_a_host_writes_in_the_users_name_is_no_turn(host: str, text: str) -> None:
    """Only the user's own messages are the user's turns."""
    steps = [Step("user", "Use cents."), Step("user", text), Step("assistant", "Yes.")]
    assert said(read(WRITERS[host](steps))) == ["Use cents.", "Yes."]


def test_a_summary_that_codex_asked_for_is_no_turn() -> None:
    """It stands as an answer before the row that compacts, whose message quotes it."""
    summary = {"role": "assistant", "content": [{"type": "output_text", "text": "We use cents."}]}
    asked = {"type": "response_item", "payload": {"type": "message", **summary}}
    message = "Another model summarised:\nWe use cents."
    compacted = {"type": "compacted", "payload": {"message": message}}
    told = read([*codex(STEPS), asked, compacted])
    assert without_neighbours(told.messages) == without_neighbours(expected(STEPS))
    assert said(read([*codex(STEPS), asked]))[-1] == "We use cents."


def test_an_edited_message_replaces_what_followed() -> None:
    """A branch that the user left is not told; parallel calls are no branches."""
    rows = claude_code(STEPS)
    ask = next(row for row in rows if row.get("message", {}).get("content") == "Use cents.")
    edited = {**ask, "uuid": "edit", "message": {"role": "user", "content": "Use euros."}}
    told = said(read([*rows, edited]))
    assert "Use euros." in told
    assert not {"Use cents.", "It is in cents."} & {*told}
    calls = [row for row in rows if "tool_use" in str(row.get("message"))]
    parallel = [{**row, "parentUuid": "u1"} if row in calls else row for row in rows]
    assert without_neighbours(read(parallel).messages) == without_neighbours(expected(STEPS))


def test_the_first_message_may_be_edited() -> None:
    """Both have no row above; and the last row may be of a sub-agent, or name the last prompt."""
    rows = claude_code(STEPS)
    side = {**rows[1], "uuid": "side", "isSidechain": True}
    edited = {**rows[1], "uuid": "edit", "message": {"role": "user", "content": "Fix the tax."}}
    assert said(read([*rows, edited, side])) == ["Fix the tax."]
    prompt = {"type": "last-prompt", "leafUuid": rows[-3]["uuid"], "sessionId": "s"}
    assert "Fix the tax." not in said(read([*rows, edited, prompt]))
    tree = pi(STEPS)
    content = [{"type": "text", "text": "Fix the tax."}]
    again = {**tree[1], "id": "edit", "message": {"role": "user", "content": content}}
    assert said(read([*tree, again])) == ["Fix the tax."]


def test_a_summary_of_what_is_not_there_is_kept() -> None:
    """A file that begins behind a compaction has nothing else of the past."""
    rows = claude_code(STEPS)
    summary = {"role": "user", "content": "We fixed KEY-7."}
    first = {**rows[1], "uuid": "s", "message": summary, "isCompactSummary": True}
    assert said(read([first, *rows]))[0] == "We fixed KEY-7."
    assert "We fixed KEY-7." not in said(read([*rows, first]))
    compacted = {"type": "compacted", "payload": {"message": "We fixed KEY-7."}}
    assert said(read([compacted, *codex(STEPS)]))[0] == "We fixed KEY-7."
    branch = {"type": "branch_summary", "id": "b", "parentId": "e1", "summary": "KEY-7 failed."}
    assert any("KEY-7 failed." in text for text in said(read([*pi(STEPS)[:2], branch])))


def test_an_id_may_be_used_again() -> None:
    """The later result answers the later call."""
    again = [Step("assistant", "Again.", ((1, "price = 4"),))]
    told = without_neighbours(read(codex([*STEPS, *again])).messages)
    assert told == without_neighbours(expected([*STEPS, *again]))


def test_pictures_and_files() -> None:
    """A picture stays one; a file that only its path names is a text."""
    data = "data:image/png;base64,AAAA"
    item = {"type": "function_call_output", "call_id": "c1"}
    parts = [{"type": "input_image", "image_url": data}]
    rows = [row for row in codex(STEPS) if "price = 3" not in str(row)]
    rows.append({"type": "response_item", "payload": {**item, "output": parts}})
    results = [block for _, block in without_neighbours(read(rows).messages)]
    (picture,) = [each["content"][0] for each in results if isinstance(each.get("content"), list)]
    assert picture["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    export = WRITERS["OpenCode"](STEPS)
    file = {"type": "file", "mime": "text/plain", "url": "file:///shop/cart.py"}
    export["messages"][0]["parts"].append(file)
    assert "[file: file:///shop/cart.py]" in said(read(export))


def test_what_was_taken_back_is_gone() -> None:
    """Codex rolls turns back, Gemini CLI rewinds to a message, pi goes on from an older entry."""
    rolled = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    assert said(read([*codex(STEPS), rolled]))[-1] != "It is in cents."
    rows = gemini_cli(STEPS)
    asked = next(row["id"] for row in rows if row.get("content") == "Use cents.")
    assert "Use cents." not in said(read([*rows, {"$rewindTo": asked}]))
    whole = {**rows[0], "messages": [row for row in rows if row.get("content") == "Use cents."]}
    assert said(read([whole])) == ["Use cents."]
    tree = pi(STEPS)
    ask = next(row for row in tree if "Use cents." in str(row.get("message")))
    content = [{"type": "text", "text": "Use euros."}]
    edited = {**ask, "id": "edit", "message": {"role": "user", "content": content}}
    assert said(read([*tree, edited]))[-1] == "Use euros."
    assert "Use cents." not in said(read([*tree, edited]))


def test_a_result_without_its_call_is_kept_as_text() -> None:
    """Nothing is lost where the file begins in the middle."""
    rows = [row for row in claude_code(STEPS) if "tool_use'" not in str(row.get("message"))]
    told = read(rows)
    assert any("not in this file" in text and "price = 3" in text for text in said(told))


@pytest.mark.parametrize("kind", RECORDS)
def test_rows_of_data_sets(kind: str) -> None:
    """A record of another library is read as the same conversation."""
    told = messages_of_record(RECORDS[kind])
    assert told is not None
    assert told.host == kind
    blocks = without_neighbours(told.messages)
    assert [(role, block["type"]) for role, block in blocks] == [
        ("user", "text"),
        ("assistant", "tool_use"),
        ("user", "tool_result"),
        ("assistant", "text"),
    ]
    assert blocks[1][1]["input"] == {"n": 1}
    assert blocks[2][1]["content"] == "done 7"


@pytest.mark.parametrize("value", [None, [], {}, [{}], {"messages": []}, [{"role": "user"}], "x"])
def test_what_no_host_writes_is_no_transcript(value: object) -> None:
    """Messages of vendors and other values are left to those who read them."""
    assert messages_of_record(value) is None
    assert format_of_rows([value, {"role": "user", "content": "Hello!"}]) is None


def test_commands_pictures_and_unknown_messages_of_pi() -> None:
    """A command that the user ran is told, a picture stays one, the rest is counted."""
    picture = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    call = {"type": "toolCall", "id": "c1", "name": "look", "arguments": {}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Look."},
        {"role": "bashExecution", "command": "ls", "output": "plums.txt"},
        {"role": "assistant", "content": [call, {"type": "thinking", "thinking": "Hm."}, 5]},
        {"role": "toolResult", "toolCallId": "c1", "content": [picture], "isError": False},
        {"role": "custom", "content": "of an extension"},
    ]
    rows = pi([])
    above = None
    for number, message in enumerate(messages):
        rows.append({"type": "message", "id": f"e{number}", "parentId": above, "message": message})
        above = f"e{number}"
    told = read(rows)
    assert told.host == "pi"
    assert "$ ls\nplums.txt" in said(told)
    assert told.left_out["message of custom"] == 1
    (result,) = [block for _, block in without_neighbours(told.messages) if "content" in block]
    assert result["content"][0]["type"] == "image"


def test_odd_parts_of_gemini_cli() -> None:
    """A thought and an unknown part are left out, a picture stays, a result may be plain text."""
    content = [
        "Look at ",
        {"text": "this."},
        {"text": "Hm.", "thought": True},
        {"inlineData": {"data": "QUJD", "mimeType": "image/png"}},
        {"videoMetadata": {}},
    ]
    calls: list[Any] = [
        "no call",
        {"id": "c1", "name": "look", "args": {}, "result": "plums", "status": "success"},
        {"id": "c2", "name": "look", "args": {}, "result": [{"text": "pears"}]},
        {"id": "c3", "name": "look", "args": {}, "status": "cancelled"},
    ]
    rows: list[dict[str, Any]] = [
        {"sessionId": "s", "projectHash": "p", "startTime": "t", "kind": "main"},
        {"id": "m0", "type": "user", "content": content},
        {"id": "m1", "type": "gemini", "content": "So?", "toolCalls": calls},
        {"id": "m2", "type": "user", "content": "Never mind."},
        {"$rewindTo": "m2"},
        {"$set": {"lastUpdated": "t"}},
    ]
    told = read(rows)
    assert told.host == "Gemini CLI"
    blocks = [block for _, block in without_neighbours(told.messages)]
    assert [block["type"] for block in blocks[:3]] == ["text", "text", "image"]
    assert [block["content"] for block in blocks if block["type"] == "tool_result"] == [
        "plums",
        "pears",
        "cancelled",
    ]
    assert "Never mind." not in said(told)
