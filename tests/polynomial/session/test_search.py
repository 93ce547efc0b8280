"""Explanations of a session's history.

The outputs and reports say what a call compressed, where a turn went, where a text was said, and
who gave a class.
"""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from polycontext import ContextSession, ResourceClass
from polycontext.pressure import ContextProjector
from polycontext.testing import FAST
from polycontext.window.filler import OPENING

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
GREETED: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Hello, what can I do for you?"},
    {"role": "user", "content": "Find my parcel."},
]


def session(**options: Any) -> ContextSession:
    """Return a session in which a compression has been."""
    told = ContextSession(600, counter=FAST, clock=lambda: NOON, **options)
    told.add_user_turn("Paint the house.")
    for number in range(30):
        told.add_assistant_turn(
            f"Wall {number} got the colour shade-{number * 37 % 101}, two coats of it, and "
            "dries until tomorrow."
        )
    return told


def test_a_summary_that_was_not_taken_is_reported_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A rejected summary is in the output of the call that asked for it, and is logged once."""
    told = ContextSession(
        600, counter=FAST, projector=ContextProjector(lambda turns, max_tokens: "")
    )
    told.add_user_turn("Paint the house.")
    rejected = 0
    with caplog.at_level(logging.WARNING, logger="polycontext.session"):
        for number in range(30):
            output = told.add_assistant_turn(
                f"Wall {number} got the colour shade-{number}, two coats of it, and dries "
                "until tomorrow."
            )
            rejected += len(output.compression.rejections) if output.compression else 0
    assert rejected > 0
    assert len(caplog.records) == rejected
    assert "the summary is empty" in caplog.messages[0]


def test_what_became_of_a_turn() -> None:
    """A turn is explained as in the view, in a gist since a revision, pinned, or forgotten."""
    told = session()
    last, first = told.window.all_turns()[-1].resource_id, told.log()[1].resource_id
    assert told.explain(last).place == len(told.window) - 1
    gone = told.explain(first)
    gist = next(turn for turn in told.window.all_turns() if turn.is_gist)
    assert (gone.place, gone.stands_for_it, gone.left) == (None, gist.resource_id, "compress")
    assert gone.since is not None
    assert first not in {
        turn.resource_id for turn in told.history.at(gone.since).window.all_turns()
    }
    assert first in {
        turn.resource_id for turn in told.history.at(gone.since - 1).window.all_turns()
    }
    told.pin(last, "the foreman said so")
    kept = told.explain(last)
    assert (kept.resource_class, kept.by, kept.why, kept.at) == (
        ResourceClass.PRESERVED,
        "promote",
        "the foreman said so",
        NOON,
    )
    assert "PRESERVED, by promote at 2026-05-01 12:00:00 UTC (the foreman said so); number" in str(
        kept
    )
    told.clear()
    assert (told.explain(last).left, told.explain(last).stands_for_it) == ("clear", None)
    assert "not in the view" in str(told.explain(last))


def test_who_gave_a_class_and_why() -> None:
    """A class is attributed to the classifier, the caller, or nobody if the journal lacks it."""
    told = ContextSession(max_tokens=8_000, counter=FAST)
    told.add_system("Be brief.")
    told.add_user_turn("Paint the house.")
    told.add_assistant_turn("Gladly.")
    told.add_user_turn("Never use red.")
    told.add_user_turn("thanks!")
    told.add_user_turn("The door is green.", resource_class="preserved")
    given = [
        (each.by, each.why) for each in map(told.explain, (turn.resource_id for turn in told.log()))
    ]
    assert given == [
        ("classifier", "the system says it"),
        ("classifier", "the task"),
        ("append", ""),
        ("classifier", "a standing instruction"),
        ("classifier", "it acknowledges, or says nothing"),
        ("caller", ""),
    ]
    assert "PRESERVED, by classifier at " in str(told.explain("t2"))
    own = ContextSession(
        max_tokens=8_000, counter=FAST, classifier=lambda *_: ResourceClass.PRESERVED
    )
    own.add_user_turn("Paint the house.")
    assert (own.explain("t1").by, own.explain("t1").why) == ("append", "")


@pytest.mark.parametrize("provider", ["auto", "openai", "anthropic"])
def test_a_list_that_the_assistant_begins_is_opened(provider: str) -> None:
    """A list that starts with the assistant gets one opening user line, which is reported."""
    told = ContextSession.from_messages(GREETED, 4000, provider=provider, counter=FAST)
    texts = [turn.text for turn in told.window.all_turns()]
    assert texts == [OPENING, GREETED[0]["content"], GREETED[1]["content"]]
    again = ContextSession(4000, counter=FAST)
    assert again.extend(GREETED, provider).repaired == ("t1",)
    more = again.extend([{"role": "assistant", "content": "It is on its way."}], provider)
    assert more.repaired == ()
