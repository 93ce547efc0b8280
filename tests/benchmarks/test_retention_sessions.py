"""Measured sessions: what they keep, how they age, how they end, and the command's output."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.retention.aging import chained
from benchmarks.retention.command import main
from benchmarks.retention.dead_ends import DeadEnds
from benchmarks.retention.growing import Grown, Way, measure, turns_of
from benchmarks.retention.loops import WINDOWS, loop_of
from benchmarks.retention.peers import PEER, is_installed
from benchmarks.retention.report import differences
from polycontext.polynomial import ContextOutput, ContextOverflowError, ContextSession
from polycontext.window import TiktokenCounter, Turn
from tests.benchmarks.conversations import agent, figures_of, monologue, write

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # benchmarks are no part of the package


def test_a_session_with_all_the_room_keeps_what_a_projection_keeps() -> None:
    """At 100 % nothing yields: all needles, ratio 1, no compression."""
    data = measure([agent()], 1.0, Way(1.0, 0.9)).as_data()
    assert (data["session"], data["ratio"], data["compressions"], data["ended by"]) == (
        1.0,
        1.0,
        0,
        {},
    )


def test_a_session_in_little_room_compresses_and_says_how_often() -> None:
    """A session with half of the tokens compresses, keeps part of the prefix, breaks no gate."""
    data = measure([agent()], 0.5, Way(0.9, 0.5)).as_data()
    assert data["compressions"] > 0
    assert data["turns a compression"] == 20 / data["compressions"]
    assert 0.0 < data["prefix kept"] < 1.0
    assert data["gates"] == {}


@pytest.mark.parametrize(
    ("role", "is_dead_end"),
    [
        ("assistant", True),
        ("tool", True),
        ("user", False),
        ("short user", True),
        ("nothing", False),
    ],
)
def test_a_refusal_is_a_dead_end_unless_a_user_says_more_than_fits(
    role: str, is_dead_end: bool
) -> None:
    """Replies and results must always get in, and a user's turn that fits beside the system's."""
    turn = (
        Turn("user", "x " * 500)
        if role == "user"
        else Turn("user", "short")
        if role == "short user"
        else None
    )
    turn = turn or Turn("assistant", "x " * 500)
    if role == "tool":
        turn = Turn("tool", "x", tool_call_id="c")
    grown = Grown(Way().session(100), [turn])
    if role != "nothing":
        grown.refused = ValueError("refused")
    assert grown.is_dead_end is is_dead_end


def test_a_chain_is_one_conversation_with_one_system_message() -> None:
    """Recordings behind each other, the identifiers each with the last place where it stood."""
    chain = chained([agent(0), agent(1)])
    assert [message["role"] for message in chain.messages].count("system") == 1
    assert len(turns_of(chain.messages)) == len(chain.messages) == 39
    assert [(place, each.name) for place, each in chain.used] == [(22, "K00X"), (38, "K86X")]


def test_loops_are_the_same_at_every_run_and_as_hard_as_they_say() -> None:
    """Loops are reproducible and hard: small windows, parallel calls, very large results."""
    loops = [loop_of(seed) for seed in range(40)]
    assert loops == [loop_of(seed) for seed in range(40)]
    assert all(WINDOWS[0] <= loop.max_tokens <= WINDOWS[1] for loop in loops)
    turns = [turn for loop in loops for turn in loop.turns]
    assert max(len(turn.tool_calls) for turn in turns) == 4
    count = TiktokenCounter().count
    assert max(count(turn.text) for turn in turns if turn.role == "tool") > 8_000
    assert sum(len(turn.tool_calls) for turn in turns) == sum(turn.role == "tool" for turn in turns)


class Refusing(ContextSession):
    """A session that does not take in what a model says."""

    def add(self, turn: Turn, *args: Any, **kwargs: Any) -> ContextOutput:
        """Refuse replies."""
        if turn.role == "assistant":
            raise ContextOverflowError(2, 1, "the turn")
        return super().add(turn, *args, **kwargs)


def test_a_dead_end_is_counted_and_shown() -> None:
    """The session, the turn it ended at, and what was refused."""
    found = DeadEnds()
    found.add(
        "a session",
        Grown(Refusing(1000), [Turn("user", "Hello."), Turn("assistant", "Hi.")]),
        TiktokenCounter(),
    )
    data = found.as_data()
    assert data["gates"] == {"dead end": 1}
    assert data["ended by"] == {"assistant: ContextOverflowError": 1}
    assert data["shown"][0].startswith("dead end: a session, turn 1: ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with recordings of our own."""
    write(tmp_path, "tau_airline_gpt4o", *map(agent, range(3)))
    write(tmp_path, "bfcl_memory", monologue())
    return tmp_path


def test_the_command_measures_all_its_parts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command measures every part, prints JSON, and is reproducible apart from times."""
    options = "--half all --set tau --set bfcl --loops 2 --turns 40 --window 900 --budgets 50"
    # The others have tests of their own.
    parts = "projections peers sessions aging cycles dead-ends"
    first = figures_of(folder, parts, f"{options} --all-methods")
    printed = capsys.readouterr().out
    assert all(
        title in printed
        for title in (
            "greedy oracle",
            "tau grown",
            "identifiers in view",
            "turns that a compression serves",
            "dead ends",
        )
    )
    assert is_installed() or f"{PEER}: not installed" in printed
    (folder / "first.json").write_text(json.dumps(first))
    against = f"--all-methods --against {folder / 'first.json'}"
    second = figures_of(folder, "projections", f"{options} {against}")
    assert list(differences(second, first)) == []
    first["projections"]["tau"]["project"]["50 %"]["recalls"]["bound"]["share"] -= 0.25
    assert [(path, round(new - old, 2)) for path, old, new in differences(second, first)] == [
        ("projections/tau/project/50 %/recalls/bound/share", 0.25)
    ]


def test_the_command_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing recordings and invalid options are reported with exit code 2."""
    assert main(["--data", str(tmp_path / "nowhere")]) == 2
    assert "needs the recorded conversations" in capsys.readouterr().err
    assert main(["sideways"]) == 2
    assert "unknown part 'sideways'" in capsys.readouterr().err
    for wrong in (
        ["--thresholds", "high"],
        ["--sample", "0"],
        ["--budgets", "0"],
        ["--projector", "nowhere:x"],
        ["--set", "x"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(wrong)
        assert stopped.value.code == 2
        assert wrong[0] in capsys.readouterr().err
