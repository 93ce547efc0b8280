"""The bridge that adapters use: it returns the framework's own objects, with gists for the others.

Sessions are found by key, or by the first messages of a conversation.
"""

import contextvars
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from polycontext.adapters import Bridge, Dialect, Sessions
from polycontext.adapters.bridge import find_session, recall_definitions
from polycontext.adapters.dialect import Held, MessageDialect, Piece
from polycontext.adapters.wire_dialect import WireDialect
from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.polynomial.session.synchronisation import Kept
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.testing import FAST
from polycontext.window import Role, ToolCall, Turn
from tests.polynomial.conversations import generated_messages, words


@frozen(eq=False)
class Native:
    """A message of an imaginary framework: text, calls, or all the results of a step."""

    who: str
    words: str = ""
    calls: tuple[str, ...] = ()
    results: tuple[tuple[str, str], ...] = ()


class Made(Dialect[Native]):
    """Read and write it."""

    def split(self, natives: Sequence[Native]) -> Iterator[Piece]:
        """Yield a turn for each message, and for each result of one."""
        for place, native in enumerate(natives):
            if native.results:
                for call, found in native.results:
                    yield Piece(Turn("tool", found, tool_call_id=call), place, place + 1)
            elif native.who != "nobody":
                calls = tuple(ToolCall(call, "look", "{}") for call in native.calls)
                yield Piece(Turn(native.who, native.words, tool_calls=calls), place, place + 1)

    def write(self, turns: Sequence[Turn]) -> list[Native]:
        """Return one message of what is left of one."""
        if turns[0].role is Role.TOOL:
            return [
                Native(
                    "tool", results=tuple((turn.tool_call_id or "", turn.text) for turn in turns)
                )
            ]
        return [
            Native(turn.role.value, turn.text, tuple(call.id for call in turn.tool_calls))
            for turn in turns
        ]


def talk(exchanges: int) -> list[Native]:
    """Return a conversation in which each answer looks two things up."""
    natives = []
    for number in range(exchanges):
        calls = (f"c{number}a", f"c{number}b")
        natives.append(Native("user", words(10, f"u{number}x")))
        natives.append(Native("assistant", "", calls))
        natives.append(
            Native("tool", results=tuple((call, words(10, f"{call}x")) for call in calls))
        )
        natives.append(Native("assistant", words(10, f"a{number}x")))
    return natives


def test_what_stands_is_the_frameworks_own() -> None:
    """All of it while nothing has yielded; then gists, and the very objects of what is left."""
    bridge, natives = Bridge(Made(), model=600, counter=FAST), talk(40)
    assert bridge.fit(natives[:4]) == natives[:4]
    for end in (40, 80, 160):
        fitted = bridge.fit(natives[:end])
        new = [native for native in fitted if not any(native is each for each in natives)]
        assert fitted[-1] is natives[end - 1]
        assert 0 < len(new) < 4 < len(fitted) < 40
        called = [call for native in fitted for call in native.calls]
        assert called == [call for native in fitted for call, _ in native.results]
        assert [*map(repr, bridge.fit(natives[:end]))] == [*map(repr, fitted)]


def test_results_that_are_cut_are_written_anew_in_one_message() -> None:
    """Those of one step stay together."""
    bridge = Bridge(Made(), model=600, counter=FAST)
    natives = [
        Native("user", "Look."),
        Native("assistant", "", ("a", "b")),
        Native("tool", results=(("a", words(2000)), ("b", "none"))),
    ]
    fitted = bridge.fit(natives)
    assert [call for call, _ in fitted[-1].results] == ["a", "b"]
    assert fitted[-1] is not natives[-1]
    assert fitted[:2] == natives[:2]


def test_results_of_which_some_has_fallen_stay_in_one_message() -> None:
    """A picture that yields leaves its result where it stood, beside those of the same step."""
    seen_of = [
        Kept(None, Turn("tool", "a", tool_call_id="a"), Held((), 2, 2)),
        Kept(Held((), 2, 2), Turn("tool", "b", tool_call_id="b")),
    ]
    assert [native.results for native in Made().join(seen_of)] == [(("a", "a"), ("b", "b"))]


def test_results_that_come_late_are_sent_behind_their_calls() -> None:
    """A message between them follows, and results that come together are told apart."""
    bridge = Bridge(Made(), model=600, counter=FAST)
    late = Native("tool", results=(("a", "plums"),))
    natives = [
        Native("user", "Look."),
        Native("assistant", "", ("a",)),
        Native("user", "Quick."),
        late,
    ]
    assert bridge.fit(natives) == [natives[0], natives[1], late, natives[2]]
    together = Native("tool", results=(("a", "plums"), ("b", "pears")))
    natives = [Native("user", "Look."), *(Native("assistant", "", (call,)) for call in "ab")]
    sent = bridge.fit([*natives, together])
    assert [native.results for native in sent if native.results] == [
        (("a", "plums"),),
        (("b", "pears"),),
    ]
    assert [native.calls for native in sent if not native.results] == [(), ("a",), ("b",)]


def test_a_result_that_nobody_gave_names_its_tool() -> None:
    """Some vendors refuse a result without a name."""
    written: list[Turn] = []

    class Writing(Made):
        def write(self, turns: Sequence[Turn]) -> list[Native]:
            written.extend(turns)
            return super().write(turns)

    natives = [Native("user", "Look."), Native("assistant", "", ("a",)), Native("user", "Well?")]
    Bridge(Writing(), model=600, counter=FAST).fit(natives)
    assert [(turn.tool_call_id, turn.name) for turn in written] == [("a", "look")]


@given(generated_messages(8), st.integers(0, 20))
def test_a_providers_list_comes_back_valid(messages: list[dict[str, Any]], end: int) -> None:
    """A list of any length is returned valid, and unchanged if it fits."""
    bridge: Any = Bridge(WireDialect("openai"), model=20_000, counter=FAST)
    for part in (messages[:end], messages):
        if part and part[-1]["role"] != "assistant":
            fitted = bridge.fit(part, key="k")
            assert all(
                any(message is each for each in part) or "content" in message for message in fitted
            )


# --- what is reported ------------------------------------------------------------------


def test_what_is_reported_is_learned() -> None:
    """A provider that counts twice as many gets half as much."""
    bridge, natives = Bridge(Made(), model=4_000, counter=FAST), talk(16)
    fitted = bridge.fit_with_session(natives)
    assert fitted.natives == natives
    fitted.learn({"prompt_tokens": 2 * fitted.session.window.total_tokens})
    assert 1_500 < fitted.session.window.max_tokens < 2_500
    assert len(bridge.fit(natives)) < len(fitted.natives)


def test_what_tells_of_no_tokens_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """Usage without tokens is ignored, and an object that is no usage is rejected."""
    fitted = Bridge(Made(), model=4_000, counter=FAST).fit_with_session(talk(40))
    nothing: list[Any] = [
        None,
        {},
        {"usage": None},
        {"usage": {"prompt_tokens": 0}},
        {"input_tokens": 0},
        {"prompt_tokens": None},
        {"prompt_eval_count": 26, "eval_count": 5},
    ]
    for usage in nothing:
        fitted.learn(usage)
    assert not caplog.records
    fitted.learn({"prompt_tokens": "many"})
    assert "not a number of tokens" in caplog.text
    damaged: list[Any] = [
        {"input_tokens": 900, "iterations": 2},
        {"input_tokens": 10**400},
        {
            "usage": {"input_tokens": 900},
            "context_management": {"applied_edits": 2},
        },
    ]
    for number, usage in enumerate(damaged, 2):
        fitted.learn(usage)
        assert len(caplog.records) == number
    fitted.learn({"prompt_tokens": 1_000_000})
    assert "nothing was learned" in caplog.text
    with pytest.raises(InvalidDataError, match="str is not usage data"):
        fitted.learn("many")
    assert fitted.session.window.max_tokens == 4_000


# --- sessions ------------------------------------------------------------------------


def test_the_one_that_was_not_asked_for_the_longest_is_let_go(tmp_path: Path) -> None:
    """On a store it is opened again as it was."""
    store = SQLiteStore(tmp_path / "s.db")
    sessions = Sessions(600, most=2, counter=FAST, store=store)
    first = sessions.get("a")
    first.add_user_turn("Hello.")
    for key in "bc":
        sessions.get(key)
    assert (len(sessions), sessions.get("a") is first) == (2, False)
    assert [turn.text for turn in sessions.get("a").log()] == ["Hello."]
    store.close()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"most": 0}, "most"),
    ({"model": -1}, "max_tokens"),
    ({"threshold": 5}, "threshold"),
    ({"model": 600, "session_id": "one"}, "session_id"),
]


@pytest.mark.parametrize(("options", "name"), WRONG)
def test_options_that_cannot_be_are_refused_at_once(options: dict[str, Any], name: str) -> None:
    """Not at the first call of a model."""
    with pytest.raises(InvalidOptionError, match=f"^{name} = "):
        Sessions(**options)


class Lines(MessageDialect[str]):
    """Read lines, of which some are remarks that no model is told."""

    def read(self, native: str) -> Iterator[Turn]:
        """Yield what is said."""
        if not native.startswith("#"):
            yield Turn("user", native)

    def write(self, turns: Sequence[Turn]) -> list[str]:
        """Return it as it was."""
        return [turn.text for turn in turns]


def test_a_message_that_says_nothing_goes_with_its_neighbour() -> None:
    """With the one before it; what comes first, with the next; and nothing is there twice."""
    bridge = Bridge(Lines(), model=600)
    lines = ["# before", "# all", "Hello", "# and", "# then", "Well?", "# after"]
    assert bridge.fit(lines, key="a") == lines
    assert bridge.fit([], key="b") == []
    long = [line for number in range(60) for line in (f"{number}: " + "plums " * 20, f"# {number}")]
    sent = bridge.fit(long, key="c")
    assert sent[-2:] == long[-2:]
    assert len(sent) < 60


def test_the_session_behind_messages_is_that_of_the_next_request() -> None:
    """Also where nothing was asked yet, and where rules were added to it."""
    bridge, natives = Bridge(Made(), model=8_000, counter=FAST), talk(3)
    session = bridge.session(natives[:1])
    bridge.fit(natives[:4])
    assert bridge.session(natives[:5]) is session
    session.rules.add("Never open a jar.")
    sent = bridge.fit(natives[:8])
    assert "Never open a jar." in str(sent)
    assert bridge.session(natives) is session
    assert bridge.session(session.session_id) is session


def test_of_several_bridges_the_one_that_knows_the_conversation_has_the_session() -> None:
    """Otherwise it is the first that can read the messages."""
    chat, responses = (
        Bridge(WireDialect(name), model=8_000, counter=FAST)
        for name in ("openai", "openai-responses")
    )
    items = [{"role": "user", "content": "Look."}]
    responses.fit(items)
    answered = [*items, {"type": "reasoning", "id": "rs_1", "summary": []}]
    assert find_session([chat, responses], answered) is responses.session(items)
    other = [{"role": "user", "content": "Else."}]
    assert find_session([chat, responses], other) is chat.session(other)


def test_a_tool_is_about_the_conversation_that_was_fitted_last() -> None:
    """Unless one is named; where there is none, the model is told."""
    bridge, natives = Bridge(Made(), model=8_000, counter=FAST), talk(2)

    def looked_up() -> str:
        return bridge.look_up("context_search", {"query": natives[0].words})

    assert contextvars.Context().run(looked_up).startswith("Error: ")
    bridge.fit(natives)
    assert "t1" in looked_up()
    assert "t1" in bridge.look_up("context_search", {"query": natives[0].words}, natives)
    assert len(recall_definitions()) == 3
