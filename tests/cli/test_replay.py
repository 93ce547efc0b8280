"""`polycontext replay`, as a user sees it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from polycontext.cli.recordings import ReplaySettings, replay_conversation
from polycontext.cli.replay import marks
from polycontext.cli.replay_tables import MOST_STEPS, replay_table
from polycontext.transcripts import read_conversations
from tests.cli.command import (
    ANTHROPIC_EXAMPLE,
    EXAMPLE,
    Command,
    as_lines,
    assistant,
    chat,
    saved,
    spawn,
    user,
)
from tests.house import ROOT, examples

TOO_LARGE = {"role": "system", "content": "word " * 5000}
"""A message that no window of these tests holds, and that is not cut either."""


def test_the_page_shows_what_is_printed(polycontext: Command) -> None:
    """Every line that the docs show of the replay is one that it prints."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    section = page.partition("\n## A recorded conversation\n")[2].partition("\n## ")[0]
    shown = [code.splitlines() for _, code in examples(section, "text")]
    printed = [
        line.rstrip()
        for line in polycontext("replay", EXAMPLE, "--max-tokens", "1200").out.splitlines()
    ]
    assert [len(block) for block in shown] == [6, 14, 14]
    assert [line for block in shown for line in block if line not in printed] == ["      ..."]


def test_the_summary_is_shown_and_every_turn_once(polycontext: Command) -> None:
    """The view lists each turn once: as itself, in the summary with its text, or dropped."""
    ran = polycontext("replay", EXAMPLE, "--max-tokens", "1200", "--all")
    report = polycontext("replay", EXAMPLE, "--max-tokens", "1200", "--json").json()
    seen = ran.out.partition("what the model sees now\n")[2].partition("\nnow ")[0]
    places = re.findall(r"^  (?:dropped: )?((?:\d+(?:-\d+)?(?:, )?)+)", seen, re.MULTILINE)
    assert sorted(number for place in places for number in numbers_of(place)) == list(range(1, 40))
    (summary,) = [each for each in report["seen"] if each["summary"]]
    assert " ".join(summary["text"].split()) in " ".join(seen.split())
    assert sorted(
        [*report["dropped"], *(number for each in report["seen"] for number in each["turns"])]
    ) == list(range(1, 40))


def test_a_long_summary_is_cut_in_its_middle(polycontext: Command, tmp_path: Path) -> None:
    """Except with `--all`."""
    said = [user("a"), *(user(f"Line {n} of many words {'w' * 9}") for n in range(120)), *chat(4)]
    asked = ("replay", saved(tmp_path, "long.json", said), "--max-tokens", "1200")
    cut = re.compile(r"^ +⋯ \d+ more lines; --all shows them", re.MULTILINE)
    assert cut.search(polycontext(*asked).out)
    assert not cut.search(polycontext(*asked, "--all").out)


def test_who_is_stuck_is_told_so() -> None:
    """A compression that shortened nothing while PRESSURED is reported as stuck."""
    (conversation,) = read_conversations([str(EXAMPLE)])
    done = replay_conversation(conversation, ReplaySettings(max_tokens=1200))
    stuck = [done.is_stuck]
    done.report["summary"]["final_state"] = "PRESSURED"
    last = next(step for step in done.report["steps"][::-1] if step["step"] == "compress")
    done.report["steps"].append({**last, "gisted": [], "dropped": []})
    stuck.append(done.is_stuck)
    done.report["steps"][-1]["tokens_after"] = last["tokens_before"]
    assert [*stuck, done.is_stuck] == [False, False, True]
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(replay_table(done, show_all=False, width=110))
    shown = console.export_text()
    assert "PRESSURED and full: nothing more can be compressed" in shown
    assert "nothing may be shortened any more" in shown.splitlines()[len(done.report["steps"])]


def numbers_of(place: str) -> list[int]:
    """Return the numbers that ``3-5, 9`` stands for."""
    ends = [[int(end) for end in run.split("-")] for run in place.split(", ") if run]
    return [number for run in ends for number in range(run[0], run[-1] + 1)]


def test_a_long_conversation_is_cut_to_what_matters(polycontext: Command, tmp_path: Path) -> None:
    """Both ends and the compressions are shown, gaps are counted, and --all shows everything.

    So it is with the messages that the model sees word for word.
    """
    path = saved(tmp_path, "chat.json", chat(100))
    ran = polycontext("replay", path, "--max-tokens", "20000")
    hidden = sum(int(count) for count in re.findall(r"(\d+) more steps; --all shows them", ran.out))
    rows = re.findall(r"^ +(?:\d+  (?:user|assistant)|compress) ", ran.out, re.MULTILINE)
    assert hidden > 0
    assert len(rows) <= MOST_STEPS
    everything = polycontext("replay", path, "--max-tokens", "20000", "--all")
    assert "more steps" not in everything.out
    assert "  7-94: word for word; --all shows them" in ran.out
    assert "word for word; --all" not in everything.out
    assert "  20 assistant Fact 19:" in everything.out.partition("what the model sees now")[2]
    assert (
        len(re.findall(r"^ +(?:\d+  (?:user|assistant)|compress) ", everything.out, re.MULTILINE))
        == len(rows) + hidden
    )


def test_several_conversations_are_an_overview(polycontext: Command) -> None:
    """One row each and the sums; a list of files is read in order."""
    ran = polycontext("replay", EXAMPLE, ANTHROPIC_EXAMPLE, EXAMPLE)
    lines = ran.out.splitlines()
    assert lines[0].split() == [
        "conversation",
        "turns",
        "refused",
        "compr.",
        "saved",
        "requests",
        "kept",
        "pressure",
        "state",
    ]
    assert lines[2].split()[1] == "22"
    assert lines[4].split()[:4] == ["3", "in", "all", "100"]
    assert all(
        f"{name}: " in " ".join(lines[5:])
        for name in ("compr.", "saved", "requests", "kept", "pressure")
    )
    with_tables = polycontext("replay", EXAMPLE, ANTHROPIC_EXAMPLE, "--all")
    assert with_tables.out.count("prefix kept") == 2
    assert "2 in all" in with_tables.out


def test_json_is_one_object_a_conversation(polycontext: Command, tmp_path: Path) -> None:
    """Each line names file, line, id and provider, and holds the summary and the steps."""
    path = saved(
        tmp_path, "chats.jsonl", as_lines([chat(3), {"messages": chat(2), "id": 7, "system": "é"}])
    )
    first, second = polycontext("replay", path, "--json").lines()
    assert (first["file"], first["line"], first["id"], first["provider"]) == (
        str(path),
        1,
        None,
        "openai",
    )
    assert (second["line"], second["id"], second["provider"]) == (2, "7", "anthropic")
    assert [step["turn"] for step in first["steps"]] == [1, 2, 3]
    assert first["summary"]["states"] == ["EMPTY", "ACCUMULATING"]


def test_strict_ends_with_the_line(polycontext: Command, tmp_path: Path) -> None:
    """The first rejected turn ends the run with exit code 1, and names file, line and message."""
    path = saved(
        tmp_path,
        "chats.jsonl",
        as_lines([[user("a")], [user("a"), TOO_LARGE, user("b")], [user("c")]]),
    )
    shown, printed = (
        polycontext("replay", path, "--strict", "--max-tokens", "500", *more)
        for more in ((), ("--json",))
    )
    assert shown.code == printed.code == 1
    assert shown.complaint == printed.complaint
    assert "chats.jsonl, line 2, messages[1]: the turn needs at least" in shown.complaint
    assert [line["summary"]["stopped"] for line in printed.lines()] == [False, True]
    assert polycontext("replay", path, "--max-tokens", "500").code == 0


def test_the_low_mark_follows_a_low_threshold() -> None:
    """The low mark is a session's default, or half of a threshold that is not above it."""
    assert marks(None, None) == (0.97, 0.8)
    assert marks(0.9, None) == (0.9, 0.8)
    assert marks(0.8, None) == (0.8, 0.4)
    assert marks(0.7, 0.7) == (0.7, 0.7)


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
def test_an_interrupt_ends_without_a_traceback() -> None:
    """Ctrl-C while it waits for the next line gives exit code 130 and no word."""
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from polycontext.cli.app import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "replay", "-", "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(as_lines([[user("a")]]).encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["summary"]["turns"] == 1
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().strip() == b""
    assert process.returncode == 130


def test_an_ascii_terminal_gets_its_table_and_valid_json(tmp_path: Path) -> None:
    """An ASCII terminal gets escaped JSON and a table with replacement characters."""
    path = saved(tmp_path, "chat.json", {"messages": [user("é 會議")], "id": "é"})
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert json.loads(spawn("replay", path, "--json", **ascii_only).out)["id"] == "é"
    assert spawn("replay", path, **ascii_only).code == 0


def test_options_reach_the_replay(polycontext: Command, tmp_path: Path) -> None:
    """Marks and the tail change the steps; --model sets the window, --format how they are read."""

    def ran(*more: str, path: Path = EXAMPLE) -> Any:
        return polycontext("replay", path, "--json", *more).json()

    plain = ran("--max-tokens", "1200")
    for more in (("--threshold", "0.5", "--low", "0.3"), ("--keep-recent", "0")):
        assert ran("--max-tokens", "1200", *more)["steps"] != plain["steps"]
    assert ran("--model", "claude-sonnet-4-5")["summary"]["max_tokens"] == 136_000
    assert polycontext("replay", EXAMPLE, ANTHROPIC_EXAMPLE, "--only", "2", "--json").json()[
        "file"
    ] == str(ANTHROPIC_EXAMPLE)
    open_call = saved(tmp_path, "chat.json", [user("a"), assistant(None, "x"), user("b")])
    assert polycontext("replay", open_call).code == 2
    assert ran("--repair", path=open_call)["summary"]["results_repaired"] == [3]
    assert ran("--format", "anthropic", path=saved(tmp_path, "a.json", chat(2)))["provider"] == (
        "anthropic"
    )


def test_what_cannot_be_sent_is_shown_with_the_reason(polycontext: Command, tmp_path: Path) -> None:
    """A refused message and its results are rows with the reason, in words of the command."""
    messages = [user("a"), TOO_LARGE, user("b")]
    ran = polycontext("replay", saved(tmp_path, "a.json", messages), "--max-tokens", "500")
    shown = " ".join(ran.out.split())
    assert "2 system refused" in shown
    assert "raise --max-tokens" in shown.replace("- ", "")
    assert "refused 1 of 3 messages" in shown
    tool = {"name": "look", "description": "words " * 200, "parameters": {}}
    body = {"messages": [user("a")], "tools": [{"type": "function", "function": tool}]}
    ran = polycontext("replay", saved(tmp_path, "b.json", body), "--max-tokens", "50")
    assert (ran.code, "b.json, line 1: the reserve (0) with the tools" in ran.complaint) == (
        1,
        True,
    )
