"""`polycontext project`, as a user sees it."""

import json
from pathlib import Path

from polycontext.polynomial import project
from polycontext.window.providers import get_format
from tests.cli.command import (
    ANTHROPIC_EXAMPLE,
    EXAMPLE,
    Command,
    as_lines,
    assistant,
    chat,
    saved,
    user,
)


def test_messages_go_to_standard_output_and_the_report_beside(polycontext: Command) -> None:
    """The output is what `project` returns; the report names tokens, budget and floor."""
    ran = polycontext("project", EXAMPLE, "--max-tokens", "1200")
    projection = project(json.loads(EXAMPLE.read_text(encoding="utf-8")), 1200)
    assert (ran.code, ran.json()) == (0, projection.messages)
    told = (
        f"{projection.tokens_before} -> {projection.tokens_after} tokens (of 1200; at least "
        f"{projection.floor})"
    )
    assert told in ran.err
    assert (
        f"messages: {len(projection.kept)} word for word, {len(projection.gisted)} summarised"
        in ran.err
    )
    assert len(ran.err.splitlines()) == 1


def test_json_is_one_object_ready_to_be_sent(polycontext: Command) -> None:
    """The JSON object holds valid messages, the system prompt where it belongs, and the report."""
    openai = polycontext("project", EXAMPLE, "--max-tokens", "1200", "--json")
    assert openai.err == ""
    assert openai.json()["system"] == []
    get_format("openai").check(openai.json()["messages"])
    anthropic = polycontext("project", ANTHROPIC_EXAMPLE, "--max-tokens", "600", "--json").json()
    get_format("anthropic").check(anthropic["messages"])
    assert "system" not in {message["role"] for message in anthropic["messages"]}
    assert (
        anthropic["system"][0]["text"]
        == json.loads(ANTHROPIC_EXAMPLE.read_text(encoding="utf-8"))["system"]
    )
    report = anthropic["report"]
    assert report["reached"]
    assert report["tokens_after"] <= report["max_tokens"] == 600
    assert report["gisted"]


def test_a_request_body_stays_one(polycontext: Command, tmp_path: Path) -> None:
    """An object comes back with all its other fields, the system where it was."""
    body = {
        "model": "m",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": chat(30),
        "id": "r",
    }
    projected = polycontext(
        "project", saved(tmp_path, "body.json", body), "--max-tokens", "500"
    ).json()
    assert {**projected, "messages": body["messages"]} == body
    assert list(projected) == list(body)
    assert 0 < len(projected["messages"]) < 30
    plain = {"messages": chat(30), "model": "m"}
    assert (
        polycontext("project", saved(tmp_path, "body.json", plain), "--max-tokens", "500").json()[
            "model"
        ]
        == "m"
    )


def test_several_conversations_come_one_a_line(polycontext: Command, tmp_path: Path) -> None:
    """JSONL in, JSONL out, a report for each."""
    path = saved(tmp_path, "chats.jsonl", as_lines([chat(30), {"messages": chat(20)}, chat(2)]))
    ran = polycontext("project", path, "--max-tokens", "500")
    shapes = [type(line) for line in ran.lines()]
    assert shapes == [list, dict, list]
    assert len(ran.err.splitlines()) == 3


def test_a_budget_that_cannot_be_met_is_a_no(polycontext: Command) -> None:
    """Exit code 1, and a line with file, line and both numbers; nothing on standard output."""
    ran = polycontext("project", EXAMPLE, "--max-tokens", "20")
    assert (ran.code, ran.out) == (1, "")
    assert f"{EXAMPLE}, line 1: the conversation needs at least" in ran.complaint
    assert "the budget is 20" in ran.complaint
    assert "Shorten it, or raise --max-tokens." in ran.complaint


def test_options_reach_the_projection(polycontext: Command, tmp_path: Path) -> None:
    """The tail, the query and repair are those of `project`."""
    long, path = (
        saved(tmp_path, "long.json", chat(80, words=6)),
        saved(tmp_path, "chat.json", chat(40)),
    )
    kept = [
        polycontext(
            "project", long, "--max-tokens", "1200", "--json", "--keep-recent", recent
        ).json()["report"]["kept"]
        for recent in (0, 12)
    ]
    assert set(kept[0]) < set(kept[1])
    asked = polycontext("project", path, "--max-tokens", "900", "--query", "w5x3").json()
    assert asked == project(chat(40), 900, query="w5x3").messages
    broken = saved(tmp_path, "broken.json", [user("a"), assistant(None, "x"), user("b")])
    repaired = polycontext("project", broken, "--max-tokens", "900", "--repair", "--json").json()
    assert repaired["report"]["repaired"] == ["t3"]
