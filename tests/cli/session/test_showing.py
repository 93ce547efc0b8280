"""`polycontext session show`, `messages` and `explain`: the state of every turn, and the view."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.cli.session.page import MOST_TURNS
from polycontext.nodes.fates import Now, fates
from polycontext.nodes.waffles import portions
from polycontext.pressure import Fidelity
from polycontext.window.providers import get_format
from tests.cli.command import EXAMPLE, Command, assistant, chat, result, user
from tests.cli.session.conftest import Asked


@pytest.fixture
def picker(ask: Asked) -> Asked:
    """Return a session with the recorded example in a window that is too small for it."""
    ask("new", "--max-tokens", "1200")
    ask("append", "--from", EXAMPLE)
    return ask


def test_the_page_of_a_session(picker: Asked) -> None:
    """The page shows the state, the bar with its legend, and a row per turn."""
    told, page = picker("show", "--json").json(), picker("show").out
    lines = page.splitlines()
    state = f"session s: revision {told['revision']}, {told['state']}, {told['tokens']:,} of 1,200"
    assert lines[0].startswith(f"{state} tokens (")
    assert [len(line) for line in lines[2:12]] == [40] * 10
    assert set("".join(lines[2:12])[::2]) == set("█▓▒░")
    assert set("".join(lines[2:12])[1::2]) <= set("suat ")
    for share, line in zip(told["window"], lines[13:], strict=False):
        what = "word for word" if share["fidelity"] == "VERBATIM" else "shortened"
        meaning = f"{share['role']} · {share['class']}, {what}: {share['turns']} messages?"
        assert re.fullmatch(rf".. +{meaning} +{share['tokens']:,} tokens *", line)
    assert f"{1200 - told['tokens']:,} tokens" in lines[13 + len(told["window"])]
    assert [int(number) for number in re.findall(r"^ +(\d+) t\d+ ", page, re.MULTILINE)] == list(
        range(1, 40)
    )
    gist = next(turn["stands_for_it"] for turn in told["turns"] if turn["stands_for_it"])
    assert f"summarised in {gist}" in page
    assert re.search(r"^summarised  t3, t4, .+ more \([\d,]+ tokens\)", page, re.MULTILINE)
    assert "the log keeps them" in page
    assert "polycontext session recall s t3" in page


def test_colour_is_for_terminals(picker: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are colours on a terminal, none with NO_COLOR and none in a pipe."""
    assert "\x1b[" not in picker("show").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[32m" in picker("show").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[3\d", picker("show").out)


@pytest.mark.parametrize("width", ["30", "80"])
def test_a_session_name_is_never_cut(
    small: Asked, polycontext: Command, store: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    """The list shows the whole name, on several lines if need be."""
    name = "the-train-to-vienna-" * 5
    polycontext("session", "new", name, "--store", store, "-q")
    monkeypatch.setenv("COLUMNS", width)
    ran = polycontext("session", "list", "--store", store)
    columns = [line if width == "30" else line.partition("  ")[0] for line in ran.out.splitlines()]
    assert name in "".join(map(str.strip, columns))
    assert "…" not in ran.out


def test_a_long_conversation_is_cut_in_its_middle(small: Asked) -> None:
    """The first and last turns are shown with the number between them; `--all` shows every one."""
    small("append", stdin=json.dumps(chat(60, 3)))
    page, whole = small("show").out, small("show", "--all").out
    rows = re.compile(r"^ +\d+ t\d+ ", re.MULTILINE)
    assert len(rows.findall(page)) == MOST_TURNS
    assert f"{60 - MOST_TURNS} more turns; --all shows them" in page
    assert len(rows.findall(whole)) == 60
    assert " more" not in whole


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses"])
def test_what_is_printed_can_be_sent(picker: Asked, provider: str) -> None:
    """The printed messages are valid in the body of a request."""
    body = picker(
        "messages", "--format", provider, "--body", '{"model": "x", "stream": true}'
    ).json()
    inside = "input" if provider == "openai-responses" else "messages"
    assert list(body)[:2] == ["model", "stream"]
    get_format(provider).check(body[inside])
    assert ("system" in body) is (provider == "anthropic")


def test_a_turn_is_explained_with_its_words(picker: Asked) -> None:
    """A summarised turn is explained with its words and its summary; so is a summary."""
    told = picker("explain", "t3", "--json").json()
    assert (told["place"], told["left"], told["role"], told["resource_class"]) == (
        None,
        "compress",
        "assistant",
        "REQUIRED",
    )
    assert told["tool_calls"][0]["name"] == "find_stock"
    page = picker("explain", "t3").out
    assert page.startswith(f"t3: REQUIRED, by append at {told['at'][:10]}")
    assert '  -> find_stock({"sku": "GLV-NIT-M"})' in page
    gist = picker("explain", told["stands_for_it"], "--json").json()
    assert "t3" in gist["sources"]
    assert " ".join(gist["content"].split()) in " ".join(
        picker("explain", told["stands_for_it"]).out.split()
    )
    ran = picker("explain", "t444")
    assert (ran.code, ran.complaint.startswith("there is no turn or resource 't444'")) == (
        1,
        True,
    )


def test_what_was_said_is_found_whatever_the_model_sees_of_it(picker: Asked) -> None:
    """Search returns the best matches first, with ids for `recall`, and changes nothing."""
    revision = picker("show", "--json").json()["revision"]
    found = picker("search", "PO-7781 ramp", "--limit", "3", "--json").json()
    assert [sorted(each) for each in found] == [["id", "role", "score", "snippet"]] * 3
    assert [each["score"] for each in found] == sorted(
        (each["score"] for each in found), reverse=True
    )
    lines = picker("search", '"PO-7781"').out.splitlines()
    assert lines
    assert all(re.match(r"t\d+ (user|assistant|tool): .*PO-7781", line) for line in lines)
    assert picker("show", "--json").json()["revision"] == revision


def test_a_search_that_finds_nothing_says_so(picker: Asked) -> None:
    """Exit code 1, so that a script can ask; whatever is typed is a search."""
    ran = picker("search", "\x1b[unheard\nunspoken")
    assert (ran.code, ran.out, ran.err) == (
        1,
        "",
        "no message of session s contains '\\x1b[unheard\\nunspoken'\n",
    )
    assert (picker("search", "", "--json").code, picker("search", '"', "--json").json()) == (1, [])


def looked(call: str, content: str) -> list[dict[str, Any]]:
    """Return an exchange in which a tool is asked what it was asked before."""
    return [
        user(f"Look ({call})."),
        assistant(None, call),
        result(call, content * 100),
        assistant("Seen."),
    ]


def states(session: ContextSession) -> dict[str, Now]:
    """Return what became of each turn, by its id."""
    return {each.turn.resource_id: each.now for each in fates(session)}


def test_every_state_of_a_turn_is_told() -> None:
    """Verbatim, superseded, summarised and dropped turns, and removed pictures, are told apart."""
    session = ContextSession(max_tokens=30_000)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    pinned = {
        "role": "user",
        "content": [
            {"type": "text", "text": "From now on, never use the files of this picture."},
            picture,
        ],
    }
    session.extend(
        [
            user("Count the files."),
            assistant("Which?"),
            pinned,
            assistant("Fine."),
            user("ok"),
            assistant("thanks"),
        ]
    )
    session.extend([*looked("c1", "alpha beta "), *looked("c2", "gamma delta "), *chat(40, 30)])
    before = states(session)
    assert {turn: now for turn, now in before.items() if now is not Now.WHOLE} == {"t9": Now.OLD}
    session.compress(0.1)
    after = states(session)
    assert [after[turn] for turn in ("t1", "t3", "t5", "t9", "t54")] == [
        Now.WHOLE,
        Now.LESS,
        Now.DROPPED,
        Now.SUMMARISED,
        Now.WHOLE,
    ]
    session.clear()
    assert set(states(session).values()) == {Now.DROPPED}
    session.history.retain(max_bytes=0)
    assert set(states(session).values()) == {Now.EXPIRED}
    assert portions(session.window) == []


def test_a_result_that_is_cut_or_pointed_at_is_told() -> None:
    """A repeated result becomes a pointer to the later one, and one over the window is cut."""
    session = ContextSession.from_messages(
        [*looked("c1", "alpha beta "), *looked("c2", "gamma delta "), *chat(6, 10)], max_tokens=1500
    )
    session.compress(0.45)
    assert {turn: now for turn, now in states(session).items() if now is not Now.WHOLE} == {
        "t3": Now.POINTED
    }
    tight = ContextSession.from_messages(
        looked("c1", "alpha beta gamma delta ")[:-1], max_tokens=200
    )
    (cut,) = [each for each in fates(tight) if each.now is not Now.WHOLE]
    assert (cut.now, cut.fidelity, cut.inside) == (
        Now.CUT,
        Fidelity.GIST,
        tight.window.all_turns()[-1].resource_id,
    )
