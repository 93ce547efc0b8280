"""The versions of Anthropic's API.

The first version accepts what the newest refuses, and our output is valid under both.
"""

from typing import Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import ContextSession, project
from polycontext.base import UnknownNameError
from polycontext.testing.strict import RequestRefusedError, StrictAnthropic, check_request
from polycontext.testing.strict.anthropic_requests import NEWEST, VERSIONS
from tests.testing.strict.anthropic_blocks import (
    ASK,
    Block,
    assistant,
    call,
    cited,
    document,
    result,
    searched,
    text,
    user,
)
from tests.testing.strict.bad_requests import BadRequest, bad_requests

FIRST = VERSIONS[0]
NEW = [
    bad
    for bad in bad_requests("anthropic")
    if bad.rule in {"sampling", "user-citations"} or "`document` blocks" in bad.wording
]


def send(messages: Any, version: str = NEWEST, **fields: Any) -> None:
    """Judge a request."""
    request = {"model": "m", "max_tokens": 4096, "messages": messages, **fields}
    check_request(request, "anthropic", version=version)


def test_the_installed_sdk_sends_no_version_that_is_not_known() -> None:
    """The installed SDK sends a known version.

    If this fails, find out what the new version refuses and add it to `VERSIONS`.
    """
    sent = anthropic.Anthropic(api_key="none").default_headers["anthropic-version"]
    assert sent in VERSIONS
    assert max(VERSIONS) == NEWEST


@pytest.mark.parametrize("bad", NEW, ids=lambda bad: bad.name)
def test_what_the_newest_version_refuses_the_first_one_takes(bad: BadRequest) -> None:
    """The first version accepts what the newest refuses, and the newest is the default."""
    request = {**bad.request, "top_p": 1} if bad.request.get("top_p", 1) is None else bad.request
    check_request(request, "anthropic", version=FIRST)
    with pytest.raises(RequestRefusedError, match=bad.rule):
        StrictAnthropic(lambda _: "Yes.").count_tokens(request)


def test_a_version_that_is_not_known_is_refused() -> None:
    """Nobody can say what it would refuse."""
    with pytest.raises(UnknownNameError, match=r"2030.*Use 2023-06-01, 2026-10-21"):
        send([ASK], "2030-01-01")


def test_what_stays_legal_passes_and_is_written_as_it_came() -> None:
    """Citations of the assistant and documents of the user pass, also with citations enabled."""
    enabled = {"citations": {"enabled": True}}
    messages = [
        user(
            document(**enabled),
            {**searched(text("It.")), **enabled},
            text("What is it?", citations=[]),
        ),
        assistant(cited(), call()),
        user(result(content=[document()])),
    ]
    send(messages)
    assert project(messages, 100_000).messages == messages


PIECES = st.sampled_from([text("Well."), cited(), document(), document(title="[bill]")])
USERS = PIECES | st.sampled_from(
    [
        searched(cited(), text("It.")),
        {"type": "document", "source": {"type": "content", "content": [cited()]}},
    ]
)
FILE: Block = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"},
}


@given(
    st.lists(
        st.tuples(
            st.lists(USERS, min_size=1, max_size=2),
            st.lists(PIECES | st.just(FILE), min_size=1, max_size=2),
        ),
        min_size=1,
        max_size=2,
    )
)
def test_what_is_written_holds_under_the_newest_version(
    rounds: list[tuple[list[Block], list[Block]]],
) -> None:
    """Projections and requests of an older history are valid under the newest version."""
    messages = [
        each for said, answered in rounds for each in (user(*said), assistant(*answered))
    ] + [ASK]
    send(messages, FIRST)
    projected = project(messages, 100_000).messages
    send(projected)
    assert project(projected, 100_000).messages == projected
    session = ContextSession(100_000, auto=False)
    session.extend(messages, "anthropic")
    request = session.request("anthropic")
    send(request.messages)
    assert [
        part for turn in session.conversation.log for part in turn.parts if part.type == "document"
    ] or "'document'" not in str(messages)


def test_a_document_of_the_assistants_becomes_the_text_that_it_was() -> None:
    """A document of the assistant becomes text, or a line about the file, with its cache mark."""
    mark = {"cache_control": {"type": "ephemeral"}}
    answer = assistant(text("Here."), document(title="bill", **mark), FILE)
    (_, written, _) = project([ASK, answer, ASK], 100_000).messages
    assert written["content"] == [
        text("Here."),
        {**text("[text/plain, bill, 6 bytes]\n12 EUR"), **mark},
        text("[application/pdf, 9 bytes, left out]"),
    ]
