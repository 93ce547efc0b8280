"""Every command that reads a conversation knows every shape in which one is stored."""

import json
from pathlib import Path

import pytest

from tests.cli.command import Command, as_lines
from tests.transcripts.writers import RECORDS, STEPS, WRITERS

SAID = [("user", "Where to?"), ("assistant", "To Vienna.")]
MESSAGES = [{"role": role, "content": text} for role, text in SAID]
BLOCKS = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in SAID]
INPUT = {"model": "gpt-5", "input": MESSAGES}
LINES = "\n".join(map(json.dumps, MESSAGES))
SHAPES = {
    "a list": json.dumps(MESSAGES),
    "one message a line": LINES,
    "lines with gaps": LINES.replace("\n", "\n\n"),
    "a request": json.dumps({"model": "gpt-5", "messages": MESSAGES}),
    "a request of Anthropic's": json.dumps({"system": "Be brief.", "messages": BLOCKS}),
    "a request of Responses": json.dumps(INPUT),
    "one conversation a line": json.dumps(MESSAGES),
}
OF_HOSTS = {
    host: json.dumps(told) if isinstance(told, dict) else as_lines(told)
    for host, write in WRITERS.items()
    for told in [write(STEPS)]
}
ROWS = {kind: json.dumps(row) for kind, row in RECORDS.items()}
EXPORTS = ("session", "log", "openai", "anthropic", "openai-responses")


def exported(polycontext: Command, tmp_path: Path, form: str) -> str:
    """Return what `session export` writes in a format."""
    store = str(tmp_path / "first.db")
    polycontext("session", "new", "trip", "--max-tokens", "500", "--store", store)
    polycontext("session", "append", "trip", "--store", store, stdin=LINES)
    return polycontext("session", "export", "trip", "--format", form, "--store", store).out


@pytest.mark.parametrize("shape", [*SHAPES, *EXPORTS, *OF_HOSTS, *ROWS])
def test_each_shape_is_read_by_each_command(
    shape: str, polycontext: Command, tmp_path: Path
) -> None:
    """From a file or standard input; the commands have one reader, so a list tries all of them."""
    given = SHAPES | OF_HOSTS | ROWS
    text = given[shape] if shape in given else exported(polycontext, tmp_path, shape)
    said = "in cents" if shape in OF_HOSTS else "fixed" if shape in ROWS else "To Vienna."
    file, store = tmp_path / "given.jsonl", ("--store", tmp_path / "second.db")
    file.write_text(text, encoding="utf-8")
    ran = polycontext("project", file, "--max-tokens", "4000")
    assert (ran.code, said in ran.out, "resource_id" in ran.out) == (0, True, False)
    for command in ("replay", "check") if shape == "a list" else ():
        assert polycontext(command, file).code == polycontext(command, "-", stdin=text).code == 0
    polycontext("session", "new", "s", "--max-tokens", "4000", *store)
    added = polycontext("session", "append", "s", "-", *store, stdin=text)
    assert added.code == 0, added.err
    assert said in polycontext("session", "messages", "s", *store).out


def test_messages_and_conversations_do_not_mix(polycontext: Command, tmp_path: Path) -> None:
    """The first line says which of both stand one a line; the error names the other one."""
    file = tmp_path / "given.jsonl"
    lines = ['{"role": "user", "content": "Hi"}', '{"messages": []}']
    for text, problem in (
        (lines, "line 2: an object that is not a message, after messages one a line. Use one"),
        (lines[::-1], "line 2: a single message among conversations"),
    ):
        file.write_text("\n".join(text), encoding="utf-8")
        ran = polycontext("project", str(file), "--max-tokens", "400")
        assert (ran.code, problem in ran.complaint) == (2, True)
