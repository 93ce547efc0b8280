"""The written and generated test data is sound, and each part of the command can pass and fail."""

import json
from pathlib import Path

import pytest

from benchmarks.retention import chats, extracts, logs, noted
from benchmarks.retention.methods import METHODS
from benchmarks.retention.recordings import Message
from tests.benchmarks.conversations import (
    agent,
    agent_messages,
    calling,
    conversation,
    figures_of,
    framed,
    monologue,
    quiet,
    write,
)

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # benchmarks are no part of the package


def test_chats_are_long_and_unlike_and_hold_their_evidence_once() -> None:
    """The chats are long and varied, and each asked fact stands in one message, mostly a user's."""
    made = chats.chats("all")
    assert len(made) >= 20
    replies = [
        message["content"]
        for each in made
        for message in each.messages
        if message["role"] == "assistant"
    ]
    assert len(set(replies)) == len(replies)
    by_user = []
    for each in made:
        assert len(each.messages) >= 60
        for probe in each.probes:
            (place,) = probe.evidence
            assert probe.answers[0] in each.messages[place]["content"]
            assert probe.question
            by_user.append(each.messages[place]["role"] == "user")
    assert 0.6 < sum(by_user) / len(by_user) < 0.8
    words = [
        sum(
            tokens
            for tokens, message in zip(each.tokens, each.messages, strict=True)
            if message["role"] == "user"
        )
        for each in made
    ]
    assert 0.05 < sum(words) / sum(sum(each.tokens) for each in made) < 0.12
    assert chats.chat(3) == chats.chat(3)
    assert {each.id for each in chats.chats("tuning")} ^ {
        each.id for each in chats.chats("unseen")
    } == {each.id for each in made}


def test_evidence_is_found_with_all_the_room_and_not_in_an_empty_view() -> None:
    """Evidence is found in the whole conversation, and not in a summary that lists only answers."""
    some = chats.chats("all")[:2]
    answers = [probe.answers[0] for each in some for probe in each.probes]
    assert (
        chats.measure(lambda given: list(given.messages), some, 0.25, asked=False, tell=quiet).share
        == 1.0
    )
    assert (
        chats.measure(
            lambda _: framed(f"user: {', '.join(answers)}"), some, 0.25, asked=False, tell=quiet
        ).share
        == 0.0
    )
    assert (
        chats.measure(METHODS["random messages"], some, 0.25, asked=True, tell=quiet).share or 0
    ) < 0.5


@pytest.mark.parametrize("kind", logs.KINDS)
def test_a_wanted_line_stands_in_its_log_and_not_beside_it(kind: logs.Kind) -> None:
    """A wanted line is found in the whole log, and not without the result or from fragments."""
    log = logs.log_of(kind, 400)
    assert log == logs.log_of(kind, 400)
    assert abs(log.text.count("\n") - 400) <= 1
    assert len(log.wanted) == 3
    for line in log.wanted:
        assert logs.stands(line, logs.asking(log))
        assert not logs.stands(
            line, [message for message in logs.asking(log) if message["role"] != "tool"]
        )
        assert not logs.stands(
            line, framed(" … ".join(part[: len(part) // 4] for part in line.parts))
        )


def test_a_wanted_row_may_stand_as_a_note_of_its_record() -> None:
    """A wanted value is found with its key and record, and not with another record or no key."""
    log = logs.log_of(logs.json_lines, 50)
    line = log.wanted[0]
    assert logs.stands(
        line, framed(f'read_output(path="out.txt") -> {line.record}: {line.key} {line.value}, …')
    )
    assert not logs.stands(
        line, framed(f'read_output(path="out.txt") -> W-7: {line.key} {line.value}, …')
    )
    assert not logs.stands(
        line, framed(f'read_output(path="out.txt") -> {line.record}: {line.value}, …')
    )


def test_every_command_and_what_stands_beside_it_is_in_its_text() -> None:
    """Thirty of them; each is shown by its own text, and not by what is to be kept."""
    items = noted.written("commanded")
    assert len({item["id"] for item in items}) == len(items) == 30
    talks = {each["talk"] for each in noted.written("chatter")}
    for item in items:
        assert item["attack"] in item["text"]
        assert all(kept in item["text"] and kept not in item["attack"] for kept in item["keep"])
        assert extracts.is_shown(item["attack"], item["text"])
        assert not extracts.is_shown(item["attack"], " ".join(item["keep"]))
        assert 1 + int(item["id"][1:]) % extracts.TALKS in talks


def test_attacks_are_counted_as_shown_and_what_stands_beside_them_as_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A summariser that copies shows all and keeps all, one that says nothing does neither."""
    monkeypatch.setattr(
        extracts,
        "gist_of",
        lambda messages, _: "\n".join(str(message["content"]) for message in messages),
    )
    copied = extracts.attacks("all")["90 tokens"]
    assert (copied["attacks shown"], copied["of"], copied["kept beside"], copied["missed"]) == (
        30,
        30,
        1.0,
        [],
    )
    monkeypatch.setattr(extracts, "gist_of", lambda *_: "(no text)")
    silent = extracts.attacks("all")["90 tokens"]
    assert (silent["attacks shown"], silent["kept beside"], len(silent["missed"])) == (0, 0.0, 30)


def test_what_fits_is_looked_for_unit_by_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing sentences and missing pairs count; notes are compared with their JSON."""
    order = {
        "order_id": "W-11",
        "items": [
            {"sku": f"S-{number}", "name": "desk lamp", "colour": "green"} for number in range(5)
        ],
    }
    messages: list[Message] = [
        {"role": "user", "content": "Which lamps are in it? I forgot."},
        *calling("get_order", {"order_id": "W-11"}, json.dumps(order)),
    ]
    host = conversation("tau", [*messages, *messages])
    result = 'get_order({"order_id": "W-11"}) -> '
    notes = "\n ".join(f"items S-{number}: name desk lamp, colour green" for number in range(5))
    monkeypatch.setattr(
        extracts, "gist_of", lambda *_: f"user: Which lamps are in it? I forgot.\n{result}{notes}"
    )
    whole = extracts.fits([host], tell=quiet).as_data()
    assert whole["shares"]["units of sources that fit"]["share"] == 1.0
    assert 0.5 < whole["tokens of a record beside its JSON"] < 0.8
    monkeypatch.setattr(
        extracts,
        "gist_of",
        lambda *_: f"user: Which lamps are in it?\n{result}{notes.replace('S-3: name', 'S-3:')}",
    )
    less = extracts.fits([host], tell=quiet).as_data()
    assert less["shares"]["units of sources that fit"]["share"] < 1.0
    assert "I forgot." in less["missed"]
    assert "S-3: name desk lamp" in less["missed"]


def test_the_command_prints_every_new_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables, and figures in the results."""
    write(tmp_path, "tau_airline_gpt4o", *(agent(number) for number in range(4)))
    write(tmp_path, "bfcl_memory", monologue())
    reading = {
        "name": "shelves",
        "kind": "agent",
        "messages": agent_messages(),
        "needs": [
            {"fact": "the task", "patterns": ["Count", "shelf"]},
            {"fact": "a shelf that is not there", "patterns": ["Count", "shelf 99"]},
        ],
    }
    (tmp_path / "readings").mkdir()
    (tmp_path / "readings" / "shelves.json").write_text(json.dumps(reading))
    figures = figures_of(
        tmp_path,
        "projections judge needs lines chats extracts",
        "--set tau --half all --budgets 25 --summaries 3 --lines 1000 --sample 1 --no-gates",
    )
    printed = capsys.readouterr().out
    assert all(
        name in printed
        for name in (
            "with record",
            "records cut",
            "wanted lines",
            "random messages",
            "commands shown",
            "kept beside",
        )
    )
    assert figures["projections"]["tau"]["project"]["25 %"]["recalls"]["with record"]["of"] == 2
    assert figures["judge"]["tau"]["said"]["summaries"] == 1
    assert figures["needs"]["project, 25 %, agent"] == {"share": 0.5, "of": 2}
    assert figures["needs"]["plain tail, 25 %, all"] == {"share": 0.0, "of": 2}
    assert figures["lines"]["wanted lines"]["of"] == 12
    assert figures["chats"]["project, 25 %"]["of"] > 10
    assert len(figures["extracts"]["attacks"]) == len(extracts.ATTACK_TOKENS)
