"""Each bad request is refused for its own reason, and its good twin is accepted."""

import pytest

from polycontext.testing.strict import RequestRefusedError
from polycontext.window.errors import InvalidMessagesError
from tests.testing.strict.bad_anthropic import (
    ASK,
    BAD,
    TOOL,
    Bad,
    assistant,
    call,
    found,
    marked,
    picture,
    png,
    result,
    search,
    text,
    user,
)
from tests.vendors import StrictAnthropic, check_request

MEMORY = {"thinking-signature", "thinking-modified", "overflow", "request-size"}
"""Rules that only a provider can judge: what it signed, how much it takes."""


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_a_bad_request_is_refused_for_its_own_reason(bad: Bad) -> None:
    """The strict provider refuses with rule, message index, status and the vendor's wording."""
    with pytest.raises(RequestRefusedError) as caught:
        StrictAnthropic(lambda request: "no").create(bad.request)
    refusal = caught.value
    assert (refusal.rule, refusal.index, refusal.status, refusal.kind) == (
        bad.rule,
        bad.index,
        bad.status,
        bad.kind,
    )
    assert bad.says in refusal.message
    assert refusal.legal


@pytest.mark.parametrize(
    "bad",
    [bad for bad in BAD if bad.rule not in MEMORY],
    ids=lambda bad: bad.name,
)
def test_check_and_the_provider_are_one_set_of_rules(bad: Bad) -> None:
    """`check_request` refuses every stateless fault by the same rule at the same place."""
    with pytest.raises(InvalidMessagesError) as caught:
        check_request(bad.request, "anthropic")
    assert (caught.value.rule, caught.value.index) == (bad.rule, bad.index)


def test_there_are_many_and_each_is_another() -> None:
    """The table has over 60 requests, over 40 rules, and no name twice."""
    assert len(BAD) >= 60
    assert len({bad.rule for bad in BAD}) >= 40
    assert len({bad.name for bad in BAD}) == len(BAD)


GOOD = {
    "parallel calls, results in any order": [
        ASK,
        assistant(text("So:"), call(), call("b")),
        user(result("b"), result()),
        assistant(text("Yes.")),
    ],
    "runs of one role": [
        ASK,
        ASK,
        assistant(call()),
        assistant(call("b")),
        user(result()),
        user(result("b"), text("Well?")),
    ],
    "a result without content": [
        ASK,
        assistant(call()),
        user(result(content="")),
        assistant(text("x")),
    ],
    "a result with a picture": [
        ASK,
        assistant(call()),
        user(result(content=[picture(), text("there")])),
    ],
    "a system message at the end": [
        ASK,
        assistant(text("x")),
        ASK,
        {"role": "system", "content": "Be brief."},
    ],
    "a system message before the assistant's": [
        ASK,
        {"role": "system", "content": "Be brief."},
        assistant(text("x")),
        ASK,
    ],
    "a search with its result": [ASK, assistant(search(), found(), text("So.")), ASK],
    "a search that pauses": [ASK, assistant(text("Let me see."), search())],
    "a search that waits for the client": [
        ASK,
        assistant(search(), call()),
        user(result()),
        assistant(found(), text("So.")),
        ASK,
    ],
    "twenty large pictures": [user(*[picture(png(2500, 2500))] * 20, text("x"))],
    "four breakpoints, longest first": [
        user(marked(text("a"), "1h"), marked(text("b")), marked(text("c"), "5m"), marked(picture()))
    ],
    "a final assistant message that is empty": [ASK, assistant()],
    "an uploaded picture": [
        user({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, text("x"))
    ],
    "a plain document": [
        user(
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "x"},
            },
            text("x"),
        )
    ],
    "a block that nobody here knows": [user({"type": "hologram", "data": [1]}, text("x"))],
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_request_is_answered(name: str) -> None:
    """A good request is accepted twice, with tools or without."""
    provider = StrictAnthropic(lambda request: "Fine.")
    request = {"model": "claude", "max_tokens": 99, "messages": GOOD[name], "tools": [TOOL]}
    check_request(request, "anthropic")
    assert provider.create(request) == provider.create(request)
