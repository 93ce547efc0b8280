"""`polycontext check`, as a user sees it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ANTHROPIC_EXAMPLE, EXAMPLE, Command, as_lines, saved, user

BLANK = {"role": "user", "content": [{"type": "text", "text": " "}]}
CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "a", "name": "files.read", "input": {}}],
}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}


@pytest.mark.parametrize("path", [EXAMPLE, ANTHROPIC_EXAMPLE])
def test_what_is_fine_is_said_to_be(polycontext: Command, path: Path) -> None:
    """Exit code 0, nothing on standard output, one line beside it that says how much was judged."""
    ran = polycontext("check", path)
    assert (ran.code, ran.out) == (0, "")
    assert "no problems in 1 request" in ran.err


def test_a_fault_is_told_with_its_line_its_rule_and_the_vendors_words(
    polycontext: Command, tmp_path: Path
) -> None:
    """A finding names its line, its rule and a valid value, then the provider's error."""
    lines = ",\n ".join(json.dumps(message) for message in (user("a"), CALL, RESULT, BLANK))
    ran = polycontext("check", saved(tmp_path, "chat.json", f'{{"messages": [\n {lines}]}}'))
    assert ran.code == 1
    first, words, second, _ = ran.out.splitlines()
    assert first.endswith(
        "chat.json, line 3, messages[1]: bad-name: content[0].name is 'files.read'. Use 1 to 200 "
        "letters, digits, _ and -."
    )
    assert words == (
        "  anthropic says: messages.1.content.0.tool_use.name: String should match pattern "
        "'^[a-zA-Z0-9_-]{1,200}$'"
    )
    assert "line 5, messages[3]: empty-message" in second


def test_json_is_one_object(polycontext: Command, tmp_path: Path) -> None:
    """All findings of all requests, each with its place."""
    path = saved(
        tmp_path, "chats.jsonl", as_lines([[user("a")], {"messages": [user("a"), CALL, BLANK]}])
    )
    ran = polycontext("check", path, "--format", "anthropic", "--json")
    told = ran.json()
    assert (ran.code, told["requests"]) == (1, 2)
    places = [
        (each["request"], each["line"], each["index"], each["rule"], each["provider"])
        for each in told["findings"]
    ]
    assert places == [(2, 2, 1, "bad-name", "anthropic"), (2, 2, 2, "empty-message", "anthropic")]
    assert polycontext(
        "check", "-", "--json", stdin='[{"role": "user", "content": "a"}]'
    ).json() == {"requests": 1, "findings": []}


def test_a_request_is_judged_whole_and_a_record_by_its_messages(
    polycontext: Command, tmp_path: Path
) -> None:
    """An object with a model is checked as a request, and one without as a record."""
    record: dict[str, Any] = {"id": 7, "messages": [user("a")]}
    assert (
        polycontext("check", saved(tmp_path, "record.json", record), "--format", "anthropic").code
        == 0
    )
    request = {**record, "model": "m", "max_tokens": 9}
    ran = polycontext("check", saved(tmp_path, "request.json", request), "--format", "anthropic")
    assert (ran.code, "request: unknown-field: id is not a field of a request" in ran.out) == (
        1,
        True,
    )


@pytest.mark.parametrize("given", ["[1, 2]", '["Hello"]'])
def test_the_advice_is_in_json_words(polycontext: Command, tmp_path: Path, given: str) -> None:
    """It names nothing that only a Python program has."""
    use = 'Use an object such as {"role": "user", "content": ...}.'
    path = tmp_path / "chat.json"
    path.write_text(given, encoding="utf-8")
    ran = polycontext("check", path)
    assert ran.out.splitlines()[0].endswith(use)
    assert use[4:-1] == json.loads(polycontext("check", path, "--json").out)["findings"][0]["legal"]
