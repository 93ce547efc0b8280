"""A request has findings exactly when it is refused, and each fault is told once."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polycontext.testing.strict import RequestRefusedError, StrictAnthropic, findings
from tests.testing.strict.anthropic_blocks import (
    assistant,
    call,
    found,
    marked,
    picture,
    result,
    search,
    text,
    user,
)

USER = [
    text("a"),
    text(" "),
    picture(),
    result(),
    result("b"),
    result(content="", is_error=True),
    marked(text("b"), "1h"),
    marked(text("c")),
]
ASSISTANT = [text("a"), text("b "), call(), call("b"), call(name="x.y"), search(), found()]


def messages() -> st.SearchStrategy[list[Any]]:
    """Return lists of messages that are nearly right, now and then."""
    users = st.lists(st.sampled_from(USER), max_size=3).map(lambda blocks: user(*blocks))
    assistants = st.lists(st.sampled_from(ASSISTANT), max_size=3).map(
        lambda blocks: assistant(*blocks)
    )
    systems = st.just({"role": "system", "content": "Be brief."})
    return st.lists(users | assistants | systems, min_size=1, max_size=8)


def verdict(provider: StrictAnthropic, request: dict[str, Any]) -> tuple[str, int | None] | None:
    """Return rule and index of the refusal, None where there is none."""
    try:
        provider.create(request)
    except RequestRefusedError as refusal:
        return refusal.rule, refusal.index
    return None


@given(messages())
def test_findings_are_there_exactly_when_a_request_would_be_refused(
    given_messages: list[Any],
) -> None:
    """A request has findings if and only if it is refused, and the first one is the refusal."""
    request = {"model": "m", "max_tokens": 9, "messages": given_messages}
    refused = verdict(StrictAnthropic(lambda request: "x"), request)
    told = findings(request, "anthropic")
    assert [(error.rule, error.index) for error in told[:1]] == (
        [] if refused is None else [refused]
    )
    alone = findings(given_messages, "anthropic")
    assert all(isinstance(error.index, int | None) and error.legal for error in alone)


def test_each_fault_is_told_once() -> None:
    """A message that is refused does not make those behind it refused."""
    broken = [
        user(text("a")),
        assistant(call(name="x.y")),
        user(result(), text(" ")),
        assistant(call("b")),
        user(text("b")),
    ]
    assert [(error.index, error.rule) for error in findings(broken, "anthropic")] == [
        (1, "bad-name"),
        (2, "blank-text"),
        (3, "unanswered-call"),
    ]
