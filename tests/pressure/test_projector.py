"""The projector: plan, fulfil, commit; what a compressed window still is, and who may commit."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given

from polycontext.linearity import ResourceClass
from polycontext.pressure import (
    ConflictError,
    ContextProjector,
    Fulfilment,
    GistKind,
    Reach,
    pressure_of,
)
from polycontext.testing import conversations, filled
from polycontext.testing.strategies import TARGETS, Head, lived_windows, reaches
from polycontext.window import (
    REQUEST_OVERHEAD,
    ContextWindow,
    Role,
    TiktokenCounter,
    TokenCounter,
    Turn,
)
from tests.pressure.samples import (
    HEAD,
    calls,
    extended,
    hard_plan,
    ids,
    opened,
    result,
    talk,
    user,
    words,
)

# --- what a compressed window still is -------------------------------------


@given(lived_windows(), reaches(), TARGETS)
def test_the_compressed_window_is_as_good_as_any(
    window: ContextWindow, reach: Reach, target: float
) -> None:
    """A compressed window counts right, has unique ids and a full ledger, and can continue.

    The window before is untouched.
    """
    before = (window.all_turns(), window.position, window.tokens, list(window.linearity.items()))
    after = ContextProjector(reach=reach).compress(window, target).window
    turns = after.all_turns()
    assert after.position == len(after) == len(turns)
    assert after.tokens == sum(turn.tokens or 0 for turn in turns)
    assert len(set(ids(turns))) == len(turns)
    assert all(turn.resource_id in after.linearity for turn in turns)
    assert after.open_calls == window.open_calls
    assert after.turns_since_compression == 0
    assert before == (
        window.all_turns(),
        window.position,
        window.tokens,
        list(window.linearity.items()),
    )
    if not after.open_calls:
        assert after.append(user("on we go")).all_turns()[:-1] == turns


@given(conversations(max_atoms=5))
def test_hostile_text_is_compressed_with_the_real_vocabulary(
    moves: list[tuple[Turn, ResourceClass | None]],
) -> None:
    """Special tokens, NUL, white space and any script pass through the default summariser."""
    window = filled(moves, 300, counter=_REAL)
    done = ContextProjector(reach=Reach(keep_recent=0)).compress(window, 0.1)
    assert done.tokens_after <= done.tokens_before
    assert done.window.tokens == sum(turn.tokens or 0 for turn in done.window.all_turns())


# --- commit ----------------------------------------------------------------


def grown() -> ContextWindow:
    """Return a window with something to compress."""
    return extended(
        opened(1_000), [*talk(4), calls("read"), result(0, words(9, 60)), *talk(8, first=4)]
    )


CHANGES = {
    "a class was raised": lambda w: w.promote("t4", ResourceClass.PRESERVED),
    "it was cleared": lambda w: w.cleared(),
    "it was compressed": lambda w: HEAD.compress(w, 0.3).window,
    "it was cut behind": lambda _: extended(opened(1_000), talk(4)),
}

GROWTHS = {
    "a turn came": lambda w: w.append(user("more")),
    "calls came": lambda w: extended(w, [calls("read"), result(0, words(9, 60)), *talk(40)]),
    "a class was raised behind it": lambda w: w.append(
        user("more"), ResourceClass.REQUIRED
    ).promote("t17", ResourceClass.PRESERVED),
    "it is an equal twin": lambda _: grown(),
    "its focus was moved": lambda w: w.seek(2),
    "it was given other room": lambda w: w.with_room(1_200),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_stale_plan_is_refused_and_nothing_changes(change: object) -> None:
    """A plan is only committed to the window it was made for, or what that has grown to."""
    window = grown()
    fulfilment = HEAD.fulfil(HEAD.plan_for(window, 0.3))
    changed: ContextWindow = change(window)  # type: ignore[operator]
    before = (changed.all_turns(), list(changed.linearity.items()), changed.serial)
    with pytest.raises(ConflictError, match="compression plan") as caught:
        HEAD.commit(changed, fulfilment)
    assert caught.value.found is changed
    assert (changed.all_turns(), list(changed.linearity.items()), changed.serial) == before
    assert HEAD.commit(window, fulfilment).reached


@pytest.mark.parametrize("growth", GROWTHS.values(), ids=GROWTHS.keys())
def test_a_plan_lands_on_what_its_window_has_grown_to(growth: object) -> None:
    """A plan for a window that has grown gives the same result, followed by the new turns."""
    window = grown()
    fulfilment = HEAD.fulfil(HEAD.plan_for(window, 0.3))
    later: ContextWindow = growth(window)  # type: ignore[operator]
    came = later.all_turns()[len(window) :]
    at_once, done = HEAD.commit(window, fulfilment), HEAD.commit(later, fulfilment)
    said = [turn.content for turn in at_once.window.all_turns()]
    assert [turn.content for turn in done.window.all_turns()[: len(said)]] == said
    assert done.window.all_turns()[len(at_once.window) :] == came
    tokens = sum(turn.tokens or 0 for turn in came)
    assert (done.came, done.reached) == (tokens, at_once.reached)
    assert (done.tokens_before, done.tokens_after) == (
        at_once.tokens_before + tokens,
        at_once.tokens_after + tokens,
    )
    # Ids of gists are given when they come, so that none is given twice.
    assert done.kept == (*at_once.kept, *(turn.resource_id for turn in came))


def test_a_fulfilment_may_be_made_by_hand() -> None:
    """Offers come in the order of the jobs, each a text, or None and why there is none."""
    window = grown()
    plan = HEAD.plan_within(window, 500)
    job = plan.jobs[0]
    done = HEAD.commit(window, Fulfilment(plan, tuple(("All is well.", None) for _ in plan.jobs)))
    gist = done.window.all_turns()[job.start]
    assert job.kind is GistKind.BLOCK
    assert gist.text == "[Summary of earlier messages]\nAll is well.\n[End of summary]"
    assert gist.sources == tuple(ids(job.sources))
    assert gist.role is Role.USER
    assert gist.timestamp == job.sources[-1].timestamp


def test_gist_ids_are_free_ids() -> None:
    """A gist never takes the id that a caller gave a turn."""
    mine = [Turn(Role.USER, words(n), resource_id=f"g{n + 3}") for n in range(8)]
    window = extended(opened(500), [*mine, user("And now?")])
    done = HEAD.compress(window, 0.3)
    gists = [turn for turn in done.window.all_turns() if turn.is_gist]
    assert gists
    assert {turn.resource_id for turn in gists}.isdisjoint(ids(mine))
    assert all(done.window.class_of(turn) is ResourceClass.REQUIRED for turn in gists)


def test_a_promoted_gist_stays_word_for_word() -> None:
    """A gist is a turn like any other: raised to PRESERVED it never goes into the next one."""
    once = HEAD.compress(extended(opened(1_000), talk(12)), 0.3).window
    gist = next(turn for turn in once.all_turns() if turn.is_gist)
    window = once.promote(gist.resource_id, ResourceClass.PRESERVED)
    for number in range(6):
        window = HEAD.compress(extended(window, talk(12, first=20 + 12 * number)), 0.3).window
    assert gist in window.all_turns()


@given(lived_windows())
def test_the_projector_reads_pressure_and_floor(window: ContextWindow) -> None:
    """Pressure and floor are of the whole window, and the floor is the harshest plan's promise."""
    assert HEAD.pressure(window.seek(0)) == pressure_of(window)
    assert pressure_of(window) == window.total_tokens / window.max_tokens
    assert HEAD.floor(window.seek(0)) == HEAD.plan_for(window, 0.0).floor


# --- automatic compression --------------------------------------------------


def test_both_marks_count_the_free_room() -> None:
    """Both marks are shares of the free room, whatever the size of the system prompt."""
    for pins in range(0, 400, 50):
        window = extended(
            opened(2_000), [Turn(Role.SYSTEM, words(0, pins)), *talk(60), user("Go on.")]
        )
        plan, floor = HEAD.plan_between(window, 0.4, 0.7), HEAD.floor(window)
        assert plan.reached
        assert abs(plan.tokens_wanted - (floor + 0.4 * (2_000 - floor))) <= 1
        assert floor < plan.tokens_wanted < 2_000


def test_the_newest_results_count_as_what_cannot_yield_while_they_fit() -> None:
    """The newest results stay whole if they fit below the high mark, and are cut otherwise."""
    for length, whole in ((30, True), (120, True), (700, False), (5_000, False)):
        window = extended(opened(2_000), [*talk(30), calls("read"), result(0, words(99, length))])
        plan = HEAD.plan_between(window, 0.4, 0.7)
        done = HEAD.commit(window, HEAD.fulfil(plan))
        assert (window.all_turns()[-1] in done.window.all_turns()) is whole
        assert done.tokens_after <= plan.tokens_promised <= plan.tokens_wanted < 1_400


def test_automatic_compression_leaves_room_for_the_request_itself() -> None:
    """However high the marks, the opening of the reply must fit."""
    window = extended(opened(400), talk(12))
    assert HEAD.plan_between(window, 1.0, 1.0).tokens_wanted == 400 - REQUEST_OVERHEAD


# --- asynchronously ---------------------------------------------------------


class Slow:
    """Summarise asynchronously, and note how many gists were asked for at one time."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.running = self.most = 0

    async def asummarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Do what `Head` does, later."""
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(5):
            await asyncio.sleep(0)
        self.running -= 1
        if self.fails:
            raise TimeoutError("too late")
        return Head().summarise(turns, max_tokens, counter=counter, query=query)

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Fail: the asynchronous twin is the one to be asked."""
        raise AssertionError("asked synchronously")


def many_jobs() -> ContextWindow:
    """Return a window whose harsh plans have jobs of several kinds."""
    blocks = [
        turn
        for n in range(4)
        for turn in [*talk(3, first=3 * n), Turn(Role.SYSTEM, "Mind the budget.")]
    ]
    tools = [
        turn
        for n in range(3)
        for turn in [calls("read", "run"), result(0, words(n, 70)), result(1, words(n + 5, 70))]
    ]
    return extended(opened(1_000), [*blocks, *tools[:3], *talk(2, first=20), user("Well?"), *tools])


def test_an_asynchronous_summariser_gives_what_its_twin_gives() -> None:
    """An async summariser gives the same window as its twin, and is not called for digests."""
    slow = Slow()
    window = many_jobs()
    plan = hard_plan(HEAD, window, 200)
    done = HEAD.commit(window, asyncio.run(ContextProjector(slow).afulfil(plan)))
    expected = HEAD.commit(window, HEAD.fulfil(plan))
    assert done.window == expected.window
    assert (done.rejections, done.gisted, done.tokens_after) == (
        (),
        expected.gisted,
        expected.tokens_after,
    )
    assert {job.kind for job in done.plan.jobs} == {GistKind.BLOCK, GistKind.DIGEST}
    assert slow.most == 1


def test_every_superseded_result_of_an_atom_is_counted() -> None:
    """Two pointers save what each of them saves, and the plan knows it beforehand."""
    old = [calls("read", "run"), result(0, words(1, 60), "read"), result(1, words(2, 60), "run")]
    window = extended(opened(1_000), [*old, *talk(2), *old, *talk(6)])
    plan = HEAD.plan_within(window, window.tokens - 1)
    assert [job.kind for job in plan.jobs] == [GistKind.POINTER] * 2
    assert (
        HEAD.commit(window, HEAD.fulfil(plan)).tokens_after
        == plan.tokens_promised
        < window.tokens - 2 * 60
    )


class Listening:
    """Note what each gist was asked for with, either way."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Answer at once."""
        self.asked.append((tuple(turns), max_tokens, counter, query))
        return "All is well."


class ListeningLater(Listening):
    """The same with an asynchronous twin."""

    async def asummarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Answer later."""
        return self.summarise(turns, max_tokens, counter=counter, query=query)


@pytest.mark.parametrize("query", [None, "What about the train?"])
def test_whoever_is_asked_is_told_the_same(query: str | None) -> None:
    """Turns, room, counter and query are the same in a thread and in the event loop."""
    heard, in_thread, in_loop = Listening(), Listening(), ListeningLater()
    expected = ContextProjector(heard).compress(many_jobs(), 0.2, query=query)
    for asked in (in_thread, in_loop):
        done = asyncio.run(ContextProjector(asked).acompress(many_jobs(), 0.2, query=query))
        assert done.window == expected.window
        assert sorted(asked.asked, key=repr) == sorted(heard.asked, key=repr)
    assert {told[-1] for told in heard.asked} == {query}


def test_both_ways_of_compressing_aim_at_the_same_pressure() -> None:
    """Without a target it is 0.7, right below which an ordinary threshold is at rest."""
    window = extended(opened(1_000), talk(14))
    assert window.pressure > 0.7
    assert (
        asyncio.run(HEAD.acompress(window)).plan
        == HEAD.compress(window).plan
        == HEAD.plan_within(window, 700)
    )


def test_a_pointer_is_never_asked_for() -> None:
    """A superseded result needs no words, so no summariser is woken for it."""
    old = [calls("read"), result(0, words(1, 60))]
    window = extended(opened(1_000), [*old, *talk(2), *old, *talk(6)])
    projector = ContextProjector(Slow(fails=True))
    plan = projector.plan_within(window, window.tokens - 1)
    assert [job.kind for job in plan.jobs] == [GistKind.POINTER]
    done = projector.commit(window, asyncio.run(projector.afulfil(plan)))
    assert done.rejections == ()
    assert done.tokens_after == plan.tokens_promised


def test_a_synchronous_summariser_does_not_block_the_loop() -> None:
    """It runs in threads, gives the same window, and the loop goes on meanwhile."""

    async def run() -> tuple[ContextWindow, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        done = await HEAD.acompress(many_jobs(), 0.2)
        ticking.cancel()
        return done.window, ticks

    window, ticks = asyncio.run(run())
    assert window == HEAD.compress(many_jobs(), 0.2).window
    assert ticks > 0


def test_a_failing_asynchronous_summariser_is_replaced() -> None:
    """Its failure is reported, and the extractive gists are used."""
    done = asyncio.run(ContextProjector(Slow(fails=True)).acompress(many_jobs(), 0.2))
    assert done.reached
    assert done.gisted == ContextProjector().compress(many_jobs(), 0.2).gisted
    assert done.rejections
    assert all("TimeoutError: too late" in rejection.reason for rejection in done.rejections)


def test_a_cancelled_compression_changes_nothing() -> None:
    """Cancelling goes through, and the window can be compressed afterwards."""
    window = many_jobs()

    async def run() -> None:
        task = asyncio.create_task(ContextProjector(Slow()).acompress(window, 0.2))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert window == many_jobs()
    assert HEAD.compress(window, 0.2).window == HEAD.compress(many_jobs(), 0.2).window


_REAL = TiktokenCounter("o200k_base")


def test_a_summariser_of_the_callers_is_not_asked_for_a_word_or_two() -> None:
    """A custom summariser is not called for fewer than 16 tokens, and that is no rejection."""
    asked: list[int] = []

    def counting(turns: Sequence[Turn], max_tokens: int) -> str:
        asked.append(max_tokens)
        return "x"

    async def acounting(turns: Sequence[Turn], max_tokens: int) -> str:
        return counting(turns, max_tokens)

    window = extended(opened(2_000), [user("Paint the fence, please."), *talk(12), user("well?")])
    for target in (0.0, 0.05, 0.1, 0.3):
        done = ContextProjector(counting).compress(window, target)
        adone = asyncio.run(ContextProjector(acounting).acompress(window, target))
        assert (done.rejections, adone.rejections) == ((), ())
        assert done.gisted
    assert asked
    assert min(asked) >= 16
