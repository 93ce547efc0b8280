"""Bad requests in both OpenAI formats are refused for their own reason, by check and provider."""

from collections.abc import Callable
from typing import Any

import pytest

from polycontext.testing.strict import RequestRefusedError
from polycontext.window.errors import InvalidMessagesError
from tests.testing.strict.bad_chat import call as chat_call
from tests.testing.strict.bad_chat import calling, chat_requests
from tests.testing.strict.bad_openai import MODEL, BadRequest, user
from tests.testing.strict.bad_responses import responses_requests
from tests.vendors import StrictChat, StrictResponses, check_request

CHAT, RESPONSES = list(chat_requests()), list(responses_requests())


def said(create: Callable[[dict[str, Any]], Any], bad: BadRequest) -> RequestRefusedError:
    """Return how `create` refuses `bad`."""
    with pytest.raises(RequestRefusedError) as caught:
        create(bad.request)
    return caught.value


def agrees(refusal: RequestRefusedError, bad: BadRequest) -> None:
    """Assert that `refusal` is the one that `bad` expects."""
    facts = (refusal.rule, refusal.status, refusal.param, refusal.code, refusal.index, refusal.kind)
    assert facts == (bad.rule, bad.status, bad.param, bad.code, bad.index, "invalid_request_error")
    assert bad.wording in refusal.message
    assert refusal.legal


@pytest.mark.parametrize("bad", CHAT, ids=[bad.name for bad in CHAT])
def test_chat_refuses(bad: BadRequest) -> None:
    """Rule, status, wording, param and code are right, and the check agrees."""
    agrees(said(StrictChat(lambda _: "never said").create, bad), bad)
    with pytest.raises(InvalidMessagesError) as caught:
        check_request(bad.request, "openai")
    assert (caught.value.rule, caught.value.index) == (bad.rule, bad.index)
    assert (caught.value.param, caught.value.code) == (bad.param, bad.code)
    assert bad.wording in caught.value.wording


@pytest.mark.parametrize("bad", RESPONSES, ids=[bad.name for bad in RESPONSES])
def test_responses_refuses(bad: BadRequest) -> None:
    """Rule, status, wording, param and code are right, and the check agrees."""
    provider = StrictResponses(lambda _: "never said", secret=b"tests")
    bad_here = bad.request
    if bad.rule == "reasoning-alone":
        bad_here = with_own_reasoning(provider, bad_here)
    refusal = said(lambda _: provider.create(bad_here), bad)
    agrees(refusal, bad)
    with pytest.raises(InvalidMessagesError) as caught:
        check_request(bad.request, "openai-responses")
    assert (caught.value.rule, caught.value.index) == (bad.rule, bad.index)
    assert (caught.value.param, caught.value.code) == (bad.param, bad.code)
    assert bad.wording in caught.value.wording


def with_own_reasoning(provider: StrictResponses, request: dict[str, Any]) -> dict[str, Any]:
    """Return `request` with an encrypted content that the provider knows as its own."""
    script = StrictResponses(
        lambda _: [{"type": "reasoning"}, {"content": "a"}], secret=provider.secret
    )
    secret = script.create({"model": MODEL, "input": [user()]})["output"][0]["encrypted_content"]
    items = [
        item | {"encrypted_content": secret} if item.get("type") == "reasoning" else item
        for item in request["input"]
    ]
    return request | {"input": items}


def test_they_are_many_and_no_two_alike() -> None:
    """More than 35 reasons, and no request stands here twice."""
    assert len(CHAT) + len(RESPONSES) >= 35
    names = [
        (kind, bad.name)
        for kind, bads in (("chat", CHAT), ("responses", RESPONSES))
        for bad in bads
    ]
    assert len(set(names)) == len(names)
    reasons = [
        (kind, bad.rule, bad.param, bad.wording)
        for kind, bads in (("chat", CHAT), ("responses", RESPONSES))
        for bad in bads
    ]
    assert len(set(reasons)) >= len(reasons) - 8


@pytest.mark.parametrize("provider", [StrictChat, StrictResponses])
def test_overflow(provider: type[StrictChat | StrictResponses]) -> None:
    """More tokens than the window holds are refused in the words of the endpoint."""
    strict = provider(lambda _: "a", window=100)
    body = (
        {"messages": [user("word " * 200)]} if provider is StrictChat else {"input": "word " * 200}
    )
    refusal = said(strict.create, BadRequest("long", {"model": MODEL} | body, "overflow", ""))
    assert (refusal.rule, refusal.code) == ("overflow", "context_length_exceeded")
    wording = (
        "This model's maximum context length is 100 tokens. However, your messages resulted in"
        if provider is StrictChat
        else (
            "Your input exceeds the context window of this model. Please adjust your input and try "
            "again."
        )
    )
    assert refusal.message.startswith(wording)


@pytest.mark.parametrize(
    "value", [b"bytes", {1, 2}, object(), "\ud800"], ids=["bytes", "set", "object", "surrogate"]
)
def test_what_is_no_json(value: Any) -> None:
    """Values that JSON cannot hold are refused by the check and by the provider."""
    request = {"model": MODEL, "messages": [user() | {"further": value}]}
    with pytest.raises(RequestRefusedError, match="not-json"):
        StrictChat(lambda _: "a").create(request)
    with pytest.raises(InvalidMessagesError, match=r"not-json|lone-surrogate"):
        check_request(request, "openai")


def test_a_list_is_judged_anew_where_it_changed() -> None:
    """A removed result is noticed, even if the same list was sent several times before."""
    strict = StrictChat(lambda _: "a")
    messages: list[dict[str, Any]] = [
        user(),
        calling(chat_call()),
        {"role": "tool", "tool_call_id": "call_1", "content": "a"},
    ]
    for _ in range(3):
        strict.create({"model": MODEL, "messages": messages})
        messages = [*messages, {"role": "assistant", "content": "b"}, user("c")]
    with pytest.raises(RequestRefusedError, match="unanswered-call"):
        strict.create({"model": MODEL, "messages": messages[:2] + messages[3:]})
    messages[2]["content"] = None
    with pytest.raises(RequestRefusedError, match="missing-content"):
        strict.create({"model": MODEL, "messages": messages})


def test_branches_of_one_conversation() -> None:
    """Two conversations that go on from one prefix know nothing of each other."""
    strict = StrictChat(lambda _: "a")
    result = {"role": "tool", "tool_call_id": "call_1", "content": "a"}
    stem = [user(), calling(chat_call()), result]
    strict.create({"model": MODEL, "messages": stem})
    for _ in range(3):
        strict.create({"model": MODEL, "messages": [*stem, calling(chat_call()), result]})
        with pytest.raises(RequestRefusedError) as caught:
            strict.create({"model": MODEL, "messages": [*stem, result]})
        assert (caught.value.rule, caught.value.index) == ("duplicate-result", 3)
