"""`polycontext replay`, as a user sees it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console
from rich.progress import Progress

from polycontext.cli import output
from polycontext.cli import replay as cli_replay
from polycontext.cli.recordings.replay import ReplaySettings, replay_conversation
from polycontext.cli.recordings.report import Compressed
from polycontext.cli.replay import marks
from polycontext.cli.replay_tables import MOST_STEPS, replay_table
from polycontext.polynomial import ContextOverflowError, ContextSession, ContextState
from polycontext.transcripts import read_conversations
from tests.cli.command import (
    ANTHROPIC_EXAMPLE,
    EXAMPLE,
    Command,
    Ran,
    as_lines,
    assistant,
    chat,
    result,
    saved,
    spawn,
    user,
)
from tests.house import ROOT, examples

TOO_LARGE = {"role": "system", "content": "word " * 5000}
"""A message that no window of these tests holds, and that is not cut either."""


def test_one_conversation_is_shown_step_by_step(polycontext: Command) -> None:
    """Every turn has a row with role, class, tokens, pressure, state and text, then a summary."""
    ran = polycontext("replay", EXAMPLE, "--max-tokens", "1200")
    assert (ran.code, ran.err) == (0, "")
    assert [
        int(number)
        for number in re.findall(
            r"^ {0,3}(\d+)  (?:system|user|assistant|tool) ", ran.out, re.MULTILINE
        )
    ] == list(range(1, 40))
    assert re.search(
        r"^   1  system +PRESERVED +\d+  [█░]{10} +\d+ %  ACCUMULATING  You are the stock",
        ran.out,
        re.MULTILINE,
    )
    assert re.search(
        r"^ +compress +-\d+  [█░]{10} +\d+ %  COMPRESSED +summarised [\d, -]+(; dropped [\d, -]+)?",
        ran.out,
        re.MULTILINE,
    )
    for name in ("now", "states", "compressions", "prefix kept", "requests", "refused", "pressure"):
        assert re.search(rf"^{name} +\S", ran.out, re.MULTILINE)
    assert "EMPTY -> ACCUMULATING -> PRESSURED -> COMPRESSED" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 110


def test_the_page_shows_what_is_printed(polycontext: Command) -> None:
    """Every line that the docs show of the replay is one that it prints."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    section = page.partition("\n## A recorded conversation\n")[2].partition("\n## ")[0]
    shown = [code.splitlines() for _, code in examples(section, "text")]
    printed = [
        line.rstrip()
        for line in polycontext("replay", EXAMPLE, "--max-tokens", "1200").out.splitlines()
    ]
    assert [len(block) for block in shown] == [6, 17, 14]
    assert [line for block in shown for line in block if line not in printed] == ["      ..."]


def test_a_result_names_its_tool(polycontext: Command, tmp_path: Path) -> None:
    """A result's row names its tool, even if call ids are reused or the result is empty."""
    ran = polycontext("replay", EXAMPLE, "--max-tokens", "8000")
    assert re.search(r"^ +4  tool .*  find_stock: \{", ran.out, re.MULTILINE)
    assert re.search(r"^ +21  tool .*  add_note: nothing", ran.out, re.MULTILINE)
    first, second = assistant(None, "x"), assistant(None, "x")
    second["tool_calls"][0]["function"]["name"] = "listen"
    again = [user("a"), first, result("x", "seen"), second, result("x", "heard")]
    shown = polycontext("replay", saved(tmp_path, "chat.json", again)).out
    assert "look: seen" in shown
    assert "listen: heard" in shown


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


def test_a_compression_tells_each_turn_once(polycontext: Command) -> None:
    """A turn is reported only by the compression that first summarised it.

    The JSON holds the text of the new summary.
    """
    steps = [
        step
        for step in polycontext("replay", EXAMPLE, "--max-tokens", "1200", "--json").json()["steps"]
        if step["step"] == "compress"
    ]
    told = [number for step in steps for number in step["gisted"]]
    assert len(steps) > 2
    assert len(told) == len(set(told))
    assert steps[0]["gisted"] == [3, 4, 5, 6, 7, 9, 10, 11] == steps[0]["summaries"][0]["turns"]
    assert all(each["text"] for step in steps for each in step["summaries"])


def test_a_shortened_answer_is_called_one(polycontext: Command) -> None:
    """A result whose call stands is shortened by itself, and called so."""
    ran = polycontext(
        "replay", ANTHROPIC_EXAMPLE, "--max-tokens", "600", "--only", "1", "--json"
    ).json()
    short = [each for each in ran["seen"] if each["summary"] and each["role"] == "tool"]
    shown = polycontext("replay", ANTHROPIC_EXAMPLE, "--max-tokens", "600").out
    assert len(re.findall(r"'s answer, shortened", shown)) == len(short)


def test_a_long_view_is_cut_in_its_middle(polycontext: Command, tmp_path: Path) -> None:
    """Long runs of verbatim messages and long summaries are cut, except with `--all`."""
    path = saved(tmp_path, "chat.json", chat(40))
    seen = polycontext("replay", path, "--max-tokens", "20000").out.partition(
        "what the model sees now"
    )[2]
    assert "  7-34: word for word; --all shows them" in seen
    everything = polycontext("replay", path, "--max-tokens", "20000", "--all").out.partition(
        "what the model sees now"
    )[2]
    assert "word for word; --all" not in everything
    assert "  20 assistant Fact 19:" in everything
    long = saved(
        tmp_path,
        "long.json",
        [user("a"), *(user(f"Line {n} of many words {'w' * 9}") for n in range(400)), *chat(4)],
    )
    cut = polycontext("replay", long, "--max-tokens", "3500").out
    assert re.search(r"^ +⋯ \d+ more lines; --all shows them", cut, re.MULTILINE)
    assert (
        "more lines; --all" not in polycontext("replay", long, "--max-tokens", "3500", "--all").out
    )


def test_a_state_is_said_to_be_fine_or_not(polycontext: Command, tmp_path: Path) -> None:
    """The last state says whether there is room or nothing more can be shortened."""
    assert re.search(
        r"^now +ACCUMULATING: there is room", polycontext("replay", EXAMPLE).out, re.MULTILINE
    )
    tight = polycontext(
        "replay", EXAMPLE, "--max-tokens", "1200", "--threshold", "0.2", "--low", "0.1"
    ).out
    assert re.search(r"^now +[A-Z]+: (there is room|compresses)", tight, re.MULTILINE)
    rules = [
        user(f"From now on, never say word{n}, and never say {'very ' * 12}.") for n in range(3)
    ]
    full = polycontext(
        "replay",
        saved(tmp_path, "chat.json", [*rules, user("word " * 90)]),
        "--max-tokens",
        "200",
        "--threshold",
        "0.5",
    ).out
    assert re.search(r"^now +\w+: ", full, re.MULTILINE)
    assert "how to read this" in full
    for word in (
        "PRESERVED is kept verbatim",
        "REQUIRED may be summarised",
        "DROPPABLE may be dropped",
        "ACCUMULATING: there is room",
    ):
        assert word in " ".join(full.split())


def test_who_is_stuck_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compression that shortened nothing while PRESSURED is reported as stuck."""
    (conversation,) = read_conversations([str(EXAMPLE)])
    report = replay_conversation(conversation, ReplaySettings(max_tokens=1200))
    assert not report.is_stuck
    nothing = Compressed(10, 10, (), (), ContextState.PRESSURED, 0.9)
    monkeypatch.setattr(type(report.session), "state", ContextState.PRESSURED)
    stuck = evolve(report, steps=(*report.steps, nothing))
    assert stuck.is_stuck
    assert not evolve(report, steps=(*report.steps, evolve(nothing, tokens_after=9))).is_stuck
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(replay_table(stuck, show_all=False, width=110))
    shown = console.export_text()
    assert "PRESSURED and full: nothing more can be compressed" in shown
    assert "nothing may be shortened any more" in shown.splitlines()[len(report.steps) + 1]


def test_a_model_sets_window_and_counting(polycontext: Command) -> None:
    """`--model` sets the window, the counter and the format, and `--max-tokens` overrides it."""
    claude = polycontext("replay", EXAMPLE, "--model", "claude-sonnet-4-5", "--json").json()[
        "summary"
    ]
    plain = polycontext("replay", EXAMPLE, "--json").json()["summary"]
    assert (claude["max_tokens"], plain["max_tokens"]) == (136_000, 8_000)
    assert claude["tokens_logged"] > plain["tokens_logged"]
    assert (
        polycontext("replay", EXAMPLE, "--model", "gpt-5", "--max-tokens", "1200", "--json").json()[
            "summary"
        ]["max_tokens"]
        == 1_200
    )
    unknown = polycontext("replay", EXAMPLE, "--model", "claude-sonet-4-5")
    assert unknown.code == 2
    assert "Did you mean 'claude-sonnet-4-5'" in unknown.complaint


def numbers_of(place: str) -> list[int]:
    """Return the numbers that ``3-5, 9`` stands for."""
    ends = [[int(end) for end in run.split("-")] for run in place.split(", ") if run]
    return [number for run in ends for number in range(run[0], run[-1] + 1)]


def test_the_table_fits_a_narrow_terminal(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns every column is still there, and no line is longer."""
    monkeypatch.setenv("COLUMNS", "80")
    ran = polycontext("replay", EXAMPLE, "--max-tokens", "1200")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.out.splitlines()[0].split() == [
        "turn",
        "role",
        "class",
        "tokens",
        "pressure",
        "state",
        "what",
    ]


def test_refused_turns_are_shown_with_their_reason(polycontext: Command, tmp_path: Path) -> None:
    """The row says why, in full, and the summary counts them."""
    path = saved(tmp_path, "chat.json", [user("a"), TOO_LARGE, user("b")])
    ran = polycontext("replay", path, "--max-tokens", "500")
    assert ran.code == 0
    shown = " ".join(ran.out.split())
    assert "2 system refused" in shown
    assert "the budget is 500" in shown.replace("- ", "")
    assert "refused 1 of 3 messages" in shown


def test_a_long_conversation_is_cut_to_what_matters(polycontext: Command, tmp_path: Path) -> None:
    """Both ends and the compressions are shown, gaps are counted, and --all shows everything."""
    path = saved(tmp_path, "chat.json", chat(300))
    ran = polycontext("replay", path, "--max-tokens", "20000")
    hidden = sum(int(count) for count in re.findall(r"(\d+) more steps; --all shows them", ran.out))
    rows = re.findall(r"^ +(?:\d+  (?:user|assistant)|compress) ", ran.out, re.MULTILINE)
    assert hidden > 0
    assert len(rows) <= MOST_STEPS
    everything = polycontext("replay", path, "--max-tokens", "20000", "--all")
    assert "more steps" not in everything.out
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


def test_one_of_several_can_be_chosen(polycontext: Command) -> None:
    """--only counts over all files."""
    assert polycontext("replay", EXAMPLE, ANTHROPIC_EXAMPLE, "--only", "2", "--json").json()[
        "file"
    ] == str(ANTHROPIC_EXAMPLE)


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


def test_options_reach_the_machine(polycontext: Command) -> None:
    """Marks and the protected tail change the replay."""
    plain, eager, deep = (
        polycontext("replay", EXAMPLE, "--max-tokens", "1200", "--json", *more).json()
        for more in ((), ("--threshold", "0.5", "--low", "0.3"), ("--keep-recent", "0"))
    )
    assert plain["steps"] != eager["steps"]
    assert plain["steps"] != deep["steps"]
    first = [
        next(step["pressure"] for step in ran["steps"] if step["state"] == "PRESSURED")
        for ran in (eager, plain)
    ]
    assert 0.5 < first[0] < 0.97 < first[1]


def test_the_provider_can_be_said(polycontext: Command, tmp_path: Path) -> None:
    """--format overrules what would be found out."""
    path = saved(tmp_path, "chat.json", chat(3))
    assert (
        polycontext("replay", path, "--json", "--format", "anthropic").json()["provider"]
        == "anthropic"
    )
    spoken = saved(tmp_path, "told.json", [{"role": "developer", "content": "a"}])
    assert polycontext("replay", spoken).code == 0
    refused = polycontext("replay", spoken, "--format", "anthropic")
    assert refused.code == 2
    assert "anthropic rule unknown-role" in refused.complaint


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


def test_tools_beyond_the_budget_end_the_run(polycontext: Command, tmp_path: Path) -> None:
    """The line names the file and both numbers."""
    tools = [
        {
            "type": "function",
            "function": {"name": "look", "description": "words " * 200, "parameters": {}},
        }
    ]
    ran = polycontext(
        "replay",
        saved(tmp_path, "chat.json", {"messages": [user("a")], "tools": tools}),
        "--max-tokens",
        "50",
    )
    assert ran.code == 1
    assert "chat.json, line 1: the reserve (0) with the tools" in ran.complaint


def test_a_list_that_is_refused_is_shown_with_the_reason(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused request is shown with its reason, and the overview counts it."""

    def refuse(*_: object, **__: object) -> None:
        raise ContextOverflowError(1300, 1200, "the view")

    monkeypatch.setattr(ContextSession, "request", refuse)
    ran = polycontext("replay", EXAMPLE, "--max-tokens", "1200")
    assert "no request: the view needs" in " ".join(ran.out.split())
    assert re.search(r"^requests +0 could be sent, \d+ could not *$", ran.out, re.MULTILINE)
    assert " 0/" in polycontext("replay", EXAMPLE, EXAMPLE).out.splitlines()[1]


def test_repair_closes_calls(polycontext: Command, tmp_path: Path) -> None:
    """The summary names the results that were added."""
    path = saved(tmp_path, "chat.json", [user("a"), assistant(None, "x"), user("b")])
    assert polycontext("replay", path).code == 2
    repaired = polycontext("replay", path, "--repair")
    assert repaired.code == 0
    assert re.search(r"^repaired +results added or moved: turns 3 *$", repaired.out, re.MULTILINE)


def test_a_large_result_and_an_open_end_are_shown(polycontext: Command, tmp_path: Path) -> None:
    """A result of many times the budget gets in as any other."""
    huge = result("x", " ".join(f"w{n}" for n in range(3000)))
    messages = [user("a"), assistant(None, "x", "y"), huge, result("y", "2"), assistant("so", "z")]
    ran = polycontext("replay", saved(tmp_path, "chat.json", messages), "--max-tokens", "500")
    rows = [line.split() for line in ran.out.splitlines()]
    assert [row[:3] for row in rows if row[:1] == ["3"]] == [["3", "tool", "REQUIRED"]]
    assert "so -> look({})" in ran.out


def test_the_low_mark_follows_a_low_threshold() -> None:
    """The low mark is a session's default, or half of a threshold that is not above it."""
    assert marks(None, None) == (0.97, 0.8)
    assert marks(0.9, None) == (0.9, 0.8)
    assert marks(0.8, None) == (0.8, 0.4)
    assert marks(0.7, 0.7) == (0.7, 0.7)


def test_help_explains_with_examples(polycontext: Command) -> None:
    """Each command's help holds an example of itself; without a command the help is shown."""
    for command in ("replay", "project", "diagram"):
        ran = polycontext(command, "--help")
        assert ran.code == 0
        assert f"polycontext {command}" in ran.out.partition("Examples")[2]
    bare = polycontext()
    assert (bare.code, bare.err) == (2, "")
    assert "replay" in bare.out


def test_the_version_is_told(polycontext: Command) -> None:
    """Name and number, nothing else."""
    assert re.fullmatch(r"polycontext \d+\.\d+\.\d+\S*\n", polycontext("--version").out)


def test_progress_is_shown_on_a_terminal_only(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A progress bar counts bytes on a terminal, and does not appear elsewhere."""
    moved: list[float] = []
    monkeypatch.setattr(output, "LONG", 0)
    monkeypatch.setattr(Progress, "update", lambda self, task, advance: moved.append(advance))
    assert "reading" not in polycontext("replay", EXAMPLE).err
    assert moved == []
    monkeypatch.setenv("FORCE_COLOR", "1")
    polycontext("replay", EXAMPLE)
    assert sum(moved) == pytest.approx(2 * EXAMPLE.stat().st_size, abs=1)


def test_an_interrupt_within_a_replay_is_its_own_exit_code(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt keeps the earlier output, and prints no error."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_replay, "replay_conversation", interrupt)
    assert polycontext("replay", EXAMPLE) == Ran(130, "", "\n")


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


def test_a_refused_turn_is_told_in_words_of_the_command(
    polycontext: Command, tmp_path: Path
) -> None:
    """The reason names the flag, not the argument of the library."""
    path = saved(tmp_path, "chat.json", [user("Where is the invoice of the third of May?")])
    ran = polycontext("replay", path, "--max-tokens", "2", "--json")
    assert "raise --max-tokens" in ran.out
