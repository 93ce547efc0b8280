"""`polycontext compact`: exit codes, one request or many, and transcripts of hosts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Command, as_lines, saved
from tests.transcripts.writers import STEPS, claude_code

LONG = [{"role": "user", "text": "Fix the price."}] + [
    {"role": "assistant", "text": f"Step {number}: " + "word " * 40} for number in range(30)
]


def asked(**more: Any) -> dict[str, Any]:
    """Return a request."""
    return {"version": 1, "max_tokens": 900, "messages": LONG, **more}


@pytest.mark.parametrize(
    ("more", "code", "status"),
    [
        ({}, 0, "shortened"),
        ({"max_tokens": 100_000}, 3, "nothing to shorten"),
        ({"max_tokens": 3}, 4, "cannot be shortened that far"),
    ],
)
def test_exit_codes(more: dict[str, Any], code: int, status: str, polycontext: Command) -> None:
    """Each ending has its exit code, and its answer says which it is."""
    done = polycontext("compact", "-", stdin=json.dumps(asked(**more)))
    assert (done.code, done.json()["status"]) == (code, status)
    assert ("needed" in done.json()) == (code == 4)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 9_999, json.dumps(asked(version=9))])
def test_a_bad_request(text: str, polycontext: Command) -> None:
    """It ends with 2 and one line that says what is wrong; nothing is printed."""
    done = polycontext("compact", stdin=text)
    assert (done.code, done.out) == (2, "")
    assert done.complaint


def test_many_requests(polycontext: Command) -> None:
    """A process that is kept warm answers one a line, and a bad one with its error."""
    lines = [asked(), {"version": 1}, asked(max_tokens=100_000)]
    done = polycontext("compact", "--serve", stdin=as_lines(lines))
    told = [each["status"] for each in done.lines()]
    assert told == ["shortened", "bad request", "nothing to shorten"]
    assert "max_tokens" in done.lines()[1]["error"]
    assert done.code == 0


def test_the_plan_of_a_transcript_has_no_indices(polycontext: Command, tmp_path: Path) -> None:
    """The host does not know the rows of its file by number: all messages are spelled out."""
    file = saved(tmp_path, "s.jsonl", as_lines(claude_code(STEPS)))
    request = {"version": 1, "max_tokens": 900, "transcript": str(file)}
    told = polycontext("compact", stdin=json.dumps(request)).json()
    messages = [item["message"] for item in told["plan"]]
    assert messages[0]["text"].startswith("Fix the price.")
    calls = [call for message in messages for call in message.get("calls", ())]
    results = [result for message in messages for result in message.get("results", ())]
    assert {"id": "c1", "name": "shell", "input": {"n": 1}} in calls
    assert {call["id"] for call in calls} == {result["id"] for result in results}


@pytest.mark.parametrize(
    ("last", "code"), [("c1", 3), ("Use cents.", 3), ('not "written" yet', 2), ("\ud800", 2)]
)
def test_a_transcript_is_written_to_its_end(
    last: str, code: int, polycontext: Command, tmp_path: Path
) -> None:
    """A file that lacks what the host has at hand is refused."""
    file = saved(tmp_path, "s.jsonl", as_lines(claude_code(STEPS)))
    request = {"version": 1, "max_tokens": 900, "transcript": str(file), "last": last}
    done = polycontext("compact", stdin=json.dumps(request))
    assert done.code == code
    assert ("last" in done.err) == (code == 2)


@pytest.mark.parametrize("text", ["-", "several"])
def test_a_transcript_is_one_file_with_one_conversation(
    text: str, polycontext: Command, tmp_path: Path
) -> None:
    """Standard input is that of requests, and conversations are not joined."""
    several = [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]
    file = text if text == "-" else saved(tmp_path, "s.jsonl", as_lines(several))
    request = {"version": 1, "max_tokens": 900, "shape": "text", "transcript": str(file)}
    done = polycontext("compact", "--serve", stdin=as_lines([request, asked()]))
    assert [each["status"] for each in done.lines()] == ["bad request", "shortened"]
    assert "transcript" in done.lines()[0]["error"]
