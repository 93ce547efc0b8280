"""Notes that are inserted into conversations: the sets are sound, and kept texts are found."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.retention import noted
from benchmarks.retention.growing import Way
from benchmarks.retention.recordings import Conversation
from polycontext.window.providers import get_format
from tests.benchmarks.conversations import agent, figures_of, monologue, quiet, write
from tests.house import sizes

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # benchmarks are no part of the package


def hosts() -> list[Conversation]:
    """Return three conversations to put things into."""
    return [agent(1), monologue(), agent(2)]


def test_what_is_to_be_kept_stands_in_what_is_put_in() -> None:
    """Every wanted text is part of its turn, ids are unique, and each form and kind is frequent."""
    sets = {
        name: noted.written(name)
        for name in (
            "constraints",
            "ordinary",
            "updates",
            "lookalikes",
            "next_steps",
            "chatter",
            "attacks",
        )
    }
    for name, items in sets.items():
        assert len({item["id"] for item in items}) == len(items), name
    for item in sets["constraints"]:
        assert item["keep"] in item["text"]
    for item in sets["updates"]:
        assert item["newest"] in item["new"]["content"]
        assert item["stale"] in item["old"]["content"]
        assert item["newest"] not in item["old"]["content"]
    for item in sets["lookalikes"]:
        assert item["both"][0] in item["one"]["content"]
        assert item["both"][1] in item["other"]["content"]
    for item in sets["next_steps"]:
        assert all(each in item["assistant"] or each in item["user"] for each in item["keep"])
    assert set(Counter(item["form"] for item in sets["constraints"]).values()) == {20}
    assert Counter(item["kind"] for item in sets["updates"]) == dict.fromkeys(
        ("prose", "json", "logs", "files"), 50
    )


@pytest.mark.parametrize("share", [0.0, 0.35, 0.5, 0.65, 1.0])
def test_what_is_put_in_makes_a_list_that_providers_take(share: float) -> None:
    """A call with its result is inserted after the task, and separates no other call and result."""
    item = noted.written("updates")[60]
    for host in hosts():
        put = noted.with_put(
            host, {share: [*noted._put(item, "old"), {"role": "user", "content": "Well?"}]}
        )
        turns = get_format("openai").parse(put.messages).turns
        assert len(turns) == len(host.messages) + len(noted._put(item, "old")) + 1
        assert (
            put.messages[: 2 if host.set == "tau" else 1]
            == host.messages[: 2 if host.set == "tau" else 1]
        )


def test_with_all_the_room_everything_is_kept_and_with_none_little() -> None:
    """The measure can say yes, and it can say no."""
    kept = noted.constraints(hosts(), 1.0, "tuning", attacked=True, tell=quiet).as_data()["shares"][
        "constraints"
    ]
    assert kept["share"] == 1.0
    steps = noted.next_steps(hosts(), 1.0, "tuning", tell=quiet).as_data()["shares"]["next step"]
    assert steps["share"] == 1.0
    little = noted.updates(hosts(), 0.02, "tuning", tell=quiet).as_data()
    assert little["shares"]["newest kept"]["share"] < 0.5
    assert little["missed"]["newest kept"]


@pytest.mark.parametrize(
    ("view", "stands"),
    [
        ("the gate is B7 now", True),
        ("the gate was B7", False),
        ("from B7 to C2", False),
        ("C2 instead of B7", False),
        ("the gate is C2", False),
    ],
)
def test_an_old_value_may_stand_as_what_was(view: str, *, stands: bool) -> None:
    """Behind was, from and instead of nobody takes it for the newest."""
    assert noted._stands_as_current("B7", view) is stands


@pytest.mark.parametrize("most", sizes(noted.STANDING, None))
def test_the_command_prints_the_notes(
    most: int | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table with every figure, and the ids of what was missed in the results."""
    written = noted.written
    monkeypatch.setattr(noted, "written", lambda *asked: written(*asked)[:most])
    write(tmp_path, "tau_airline_gpt4o", *(agent(number) for number in range(4)))
    options = "--set tau --half tuning --budgets 25 --window 1000"
    figures = figures_of(tmp_path, "notes", options)["notes"][str(Way())]
    assert "constraint seen" in capsys.readouterr().out
    assert {
        "the rule",
        "ordinary talk",
        "constraints, 25 %",
        "updates, 25 %",
        "next steps, 25 %",
        "constraints of one session",
    } <= set(figures)
    put_in = len(noted.written("constraints", "tuning"))
    assert figures["constraints, 25 %"]["shares"]["constraints"]["of"] == put_in
    ages = figures["constraints of one session"]["shares"]
    assert {name: each["of"] for name, each in ages.items() if ":" not in name} == {
        f"after {age:02}": put_in // noted.STANDING * noted.STANDING for age in noted.AGES
    }
