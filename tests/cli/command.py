"""Run the command line as a user does, and see what comes out."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from attrs import frozen

from polycontext.cli.app import app, main
from tests.house import ROOT

EXAMPLE = ROOT / "apps" / "cli" / "demo.json"
ANTHROPIC_EXAMPLE = ROOT / "examples" / "conversation_anthropic.json"


@frozen
class Ran:
    """Hold what a command left: its exit code and both outputs."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return the output as the JSON document that it is."""
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """Return the output as the JSON documents that its lines are."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def complaint(self) -> str:
        """Return the one line on standard error; fail where there is none, or more."""
        (line,) = self.err.splitlines()
        assert line.startswith("error: ")
        assert "Traceback" not in line
        return line.removeprefix("error: ")


@frozen
class Command:
    """Run `polycontext` inside of this process."""

    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def __call__(self, *arguments: object, stdin: str | bytes = b"") -> Ran:
        """Return what the command leaves."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        self.capture.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = self.capture.readouterr()
        return Ran(code, captured.out, captured.err)


def spawn(*arguments: object, **environment: str) -> Ran:
    """Run `polycontext` as a process of its own."""
    code = "import sys; from polycontext.cli.app import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, input=b"", capture_output=True, env=os.environ | environment, check=False
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def all_commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the words that call each command, and the command; groups are among them."""
    left: list[tuple[tuple[str, ...], click.Command]] = [((), app)]
    while left:
        words, each = left.pop(0)
        yield words, each
        if isinstance(each, click.Group):
            context = click.Context(each, **each.context_settings)
            for name in each.list_commands(context):
                below = each.get_command(context, name)
                assert below is not None
                left.append(((*words, name), below))


def system(content: str) -> dict[str, Any]:
    """Return a system message."""
    return {"role": "system", "content": content}


def user(content: str) -> dict[str, Any]:
    """Return a user message."""
    return {"role": "user", "content": content}


def assistant(content: str | None, *calls: str) -> dict[str, Any]:
    """Return an assistant message that calls a tool once for each id."""
    functions = [
        {"id": call, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for call in calls
    ]
    return {"role": "assistant", "content": content} | (
        {"tool_calls": functions} if functions else {}
    )


def result(call: str, content: str) -> dict[str, Any]:
    """Return the result of a call."""
    return {"role": "tool", "tool_call_id": call, "content": content}


def chat(turns: int, words: int = 20) -> list[dict[str, Any]]:
    """Return a chat of user and assistant messages of about so many words."""
    speakers = (user, assistant)
    return [
        speakers[number % 2](
            f"Fact {number}: " + " ".join(f"w{number}x{word}" for word in range(words))
        )
        for number in range(turns)
    ]


def saved(folder: Path, name: str, value: Any) -> Path:
    """Write text, bytes, or a value as JSON, and return the file."""
    path = folder / name
    data = (
        value
        if isinstance(value, bytes)
        else (value if isinstance(value, str) else json.dumps(value)).encode()
    )
    path.write_bytes(data)
    return path


def as_lines(values: Sequence[Any]) -> str:
    """Return values as JSONL."""
    return "".join(json.dumps(value) + "\n" for value in values)
