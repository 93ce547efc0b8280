"""Facts that a summary must keep and lacks are appended within its allowance.

A summariser may see the whole plan.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass
from polycontext.pressure import ContextProjector, Fulfilment, GistKind, Plan
from polycontext.pressure.gist import GistJob, is_summary
from polycontext.pressure.notes.facts import Fact, complete_text, is_told
from polycontext.pressure.notes.items import Section
from polycontext.pressure.summariser_protocol import AsyncPlanSummariser, PlanSummariser
from polycontext.testing.strategies import ANY_TEXT
from polycontext.window import ContextWindow, TokenCounter, Turn
from tests.pressure.samples import (
    Says,
    assistant,
    calls,
    extended,
    hard_plan,
    opened,
    result,
    talk,
    user,
    words,
)

DEMAND = "Never delete a file that begins with draft."
FACTS = st.lists(st.builds(Fact, st.sampled_from(Section), ANY_TEXT, st.just("t1")), max_size=8)


def demanding(turns: int = 10) -> ContextWindow:
    """Return a window whose oldest turns hold a demand, and results."""
    told = [
        assistant("I begin with shelf-42."),
        assistant("shelf-42 is sorted, next I'll do shelf-43."),
    ]
    begun = opened(1_000).append(user(f"Sort the shelf. {DEMAND}"), ResourceClass.REQUIRED)
    return extended(
        begun, [*told, *talk(turns), calls("read"), result(0, words(30, 60)), user("Well?")]
    )


def the_plan(window: ContextWindow | None = None) -> Plan:
    """Return a plan with a gist of some room for words."""
    return ContextProjector().plan_to(demanding() if window is None else window, 0.5)


def fits(most: int) -> Any:
    """Return what takes texts of at most `most` characters."""
    return lambda text: len(text) <= most


@given(ANY_TEXT, FACTS, st.integers(0, 200))
def test_what_is_missing_comes_behind_and_only_once(
    text: str, facts: list[Fact], most: int
) -> None:
    """Missing facts are appended once, within the limit, and the text before them is unchanged."""
    whole = complete_text(text, facts, fits(most))
    assert whole.startswith(text)
    assert len(whole) <= most or whole == text
    assert complete_text(whole, facts, fits(most)) == whole
    if len(text) <= most and text.strip():
        assert all(
            is_told(fact, complete_text(text, facts, fits(10_000)))
            for fact in facts
            if fact.text.strip()
        )


def test_what_is_missing_comes_in_the_order_of_the_heads() -> None:
    """Missing facts are grouped by heading in order, and those that do not fit are left out."""
    facts = [
        Fact(Section.OPEN, "Ask Mia.", "t3"),
        Fact(Section.RULES, "Never pay.", "t1"),
        Fact(Section.FILES, "See a_file.", "t2"),
    ]
    facts += [Fact(Section.RULES, "Always\n ask.", "t1")]
    whole = "Fine.\nConstraints:\nNever pay.\nAlways ask.\nOpen:\nAsk Mia.\nFiles:\nSee a_file."
    assert complete_text("Fine.", facts, fits(1_000)) == whole
    facts[1] = Fact(Section.RULES, "Never pay. " * 9, "t1")
    assert complete_text("Fine.", facts, fits(40)) == "Fine.\nConstraints:\nAlways ask."


@pytest.mark.parametrize(
    ("head", "fact", "text", "told"),
    [
        (
            Section.RULES,
            "Never  delete a File.",
            "The user said: never delete a file. Fine.",
            True,
        ),
        (Section.RULES, "Never delete shelf-42.", "shelf-42 is there", False),
        (Section.FILES, "I sort shelf-42 now.", "shelf-42: sorted", True),
        (Section.FILES, "I sort shelf-4 now.", "shelf-42: sorted", False),
        (Section.FILES, "I sort shelf-42 now.", "old-shelf-42: sorted", False),
        (Section.FILES, "version 1.2.3", "version 1.2.3.4", False),
        (Section.FILES, "move a_one to b_two", "a_one is moved", False),
        (Section.FILES, "see app.py", "it is src/app.py", True),
        (Section.KNOWN, "the order is A1B2C", "Order: A1B2C.", True),
        (Section.KNOWN, "the price is 12", "Price: 12.", False),
        (Section.OPEN, "书架还没有排好", "任务：书架还没有排好。", True),
    ],
)
def test_what_counts_as_said(head: Section, fact: str, text: str, told: bool) -> None:
    """An id by itself, anything else by its words."""
    assert is_told(Fact(head, fact, "t1"), text) is told


def test_what_a_summary_forgot_stands_in_the_window() -> None:
    """The demand and the ids are there, whoever wrote the summary, and nothing is rejected."""

    async def forgetful(turns: Sequence[Turn], max_tokens: int) -> str:
        await asyncio.sleep(0)
        return "Shelves were sorted."

    done = ContextProjector(Says("Shelves were sorted.")).compress(demanding(), 0.5)
    adone = asyncio.run(ContextProjector(forgetful).acompress(demanding(), 0.5))
    for each in (done, adone):
        assert each.rejections == ()
        (gist,) = [turn for turn in each.window.all_turns() if is_summary(turn)]
        assert gist.text.startswith(
            f"[Summary of earlier messages]\nStanding instructions:\nuser: {DEMAND}\n"
            "Conversation:\nShelves were sorted.\nFiles:\n"
        )
        named = gist.text.splitlines()[gist.text.splitlines().index("Files:") + 1]
        assert any(named in turn.text for turn in demanding().all_turns())
        assert (gist.tokens or 0) <= next(
            job.allowance for job in each.plan.jobs if job.kind is GistKind.BLOCK
        )


@pytest.mark.parametrize("text", ["", " \n", words(0, 4_000)])
def test_a_bad_summary_is_not_made_good_by_facts(text: str) -> None:
    """An empty or overlong summary is refused, even with facts."""
    (rejection,) = ContextProjector(Says(text)).compress(demanding(), 0.5).rejections
    assert "is empty" in rejection.reason or "its sources" in rejection.reason


def test_texts_make_a_fulfilment() -> None:
    """`Fulfilment.of` takes one text per gist, and missing facts are added to it."""
    window = demanding()
    plan = the_plan(window)
    fulfilment = Fulfilment.of(plan, " All is well. ")
    done = ContextProjector().commit(window, fulfilment)
    assert done.rejections == ()
    assert any(
        f"user: {DEMAND}\nConversation:\nAll is well.\n" in turn.text
        for turn in done.window.all_turns()
    )
    assert [
        offer
        for offer, job in zip(fulfilment.offers, plan.jobs, strict=True)
        if not job.kind.needs_words
    ] == [(None, None)] * (len(plan.jobs) - 1)


def test_a_plan_without_words_takes_no_text() -> None:
    """Of a plan that changes nothing the fulfilment is empty."""
    assert Fulfilment.of(the_plan(opened(5_000))).offers == ()


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        ((), r"texts = 0. Use 1, one for each gist of the plan that needs words"),
        (("a", "b"), r"texts = 2. Use 1"),
        ((None,), r"texts\[0\] = None. Use a text"),
        ((b"bytes",), r"texts\[0\] = b'bytes'. Use a text"),
        ((Says("x"),), r"texts\[0\] = "),
    ],
)
def test_a_wrong_number_of_texts_is_refused(texts: tuple[Any, ...], fault: str) -> None:
    """So is what is no text."""
    with pytest.raises(InvalidOptionError, match=fault):
        Fulfilment.of(the_plan(), *texts)


@pytest.mark.parametrize(
    ("offers", "fault"),
    [
        ([], r"Use \d, one for each of the plan's jobs"),
        ([("a", None)] * 9, r"Use \d, one for each"),
        ("texts", r"offers\[0\] = 't'. Use a text and None"),
        ([("a",)] * 5, r"offers\[0\] = \('a',\)"),
        ([("a", None, None)] * 5, r"offers\[0\] = \('a', None, None\)"),
        ([("a", RuntimeError())] * 5, r"offers\[0\] = "),
    ],
)
def test_offers_of_a_wrong_shape_are_refused(offers: Any, fault: str) -> None:
    """At once, and not when they are committed."""
    window = demanding()
    plan = hard_plan(ContextProjector(), window, 40)
    few = offers if len(offers) in {0, 9} else offers[: len(plan.jobs)]
    with pytest.raises(InvalidOptionError, match=fault):
        Fulfilment(plan, few)


class Seeing:
    """Summarise with the plan in sight, in both ways; to be asked for turns alone is an error."""

    def __init__(self) -> None:
        self.seen: list[tuple[Plan, GistJob, int, TokenCounter]] = []

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Never asked."""
        raise AssertionError

    async def asummarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Never asked."""
        raise AssertionError

    def summarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Remember what was asked."""
        self.seen.append((plan, job, max_tokens, counter))
        return "Seen."

    async def asummarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Do the same."""
        await asyncio.sleep(0)
        return self.summarise_plan(plan, job, max_tokens, counter=counter)


def test_a_summariser_that_takes_a_plan_is_given_it() -> None:
    """In place of the turns alone, in either way; what it forgot is added all the same."""
    seeing, window = Seeing(), demanding()
    assert isinstance(seeing, PlanSummariser)
    assert isinstance(seeing, AsyncPlanSummariser)
    projector = ContextProjector(seeing)
    plan = projector.plan_to(window, 0.5)
    done = projector.commit(window, projector.fulfil(plan))
    adone = projector.commit(window, asyncio.run(projector.afulfil(plan)))
    assert done == adone
    assert done.rejections == ()
    (gist,) = [turn for turn in done.window.all_turns() if is_summary(turn)]
    assert f"user: {DEMAND}\nConversation:\nSeen.\n" in gist.text
    block = next(job for job in plan.jobs if job.kind is GistKind.BLOCK)
    assert [(seen[0] is plan, seen[1] is block, seen[3]) for seen in seeing.seen] == [
        (True, True, window.counter)
    ] * 2
    assert all(seen[2] < block.allowance for seen in seeing.seen)


class SeeingOnly:
    """Summarise with the plan in sight and no other way."""

    def summarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Say how much there is to read."""
        return f"{len(plan.window)} turns, {len(job.reads)} of them yield."


class AwaitedOnly:
    """Do so when awaited."""

    async def asummarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Say the same."""
        await asyncio.sleep(0)
        return SeeingOnly().summarise_plan(plan, job, max_tokens, counter=counter)


def test_a_summariser_may_see_plans_alone() -> None:
    """It needs no other method; one that has to be awaited is refused where nobody waits."""
    window = demanding()
    seen: Any = ContextProjector(SeeingOnly())
    awaited: Any = ContextProjector(AwaitedOnly())
    reports = [
        seen.compress(window, 0.5),
        asyncio.run(seen.acompress(window, 0.5)),
        asyncio.run(awaited.acompress(window, 0.5)),
    ]
    for done in reports:
        assert done.rejections == ()
        assert any("turns, " in turn.text for turn in done.window.all_turns() if is_summary(turn))
    (rejection,) = awaited.compress(window, 0.5).rejections
    assert "one that need not be awaited, or the methods that begin with an a" in rejection.reason
