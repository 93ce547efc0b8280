"""The bill of a session.

It equals a strict provider's accounting to the token, names each miss, and enforces limits.
"""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.base import CallerError, InvalidOptionError, UnknownNameError
from polycontext.models.anthropic_compaction import AnthropicCompaction
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session.delivery import Delivery
from polycontext.pressure import FixedThreshold
from polycontext.pressure.cache.bill import Bill, Why
from polycontext.pressure.cache.cache_plan import CachePlan
from polycontext.pressure.cache.prices import BY_ITSELF, Prices
from polycontext.pressure.errors import SpendingError
from polycontext.pressure.native import prefix_plan
from polycontext.testing.strict import StrictAnthropic, StrictChat, StrictResponses
from polycontext.window import ContextWindow, Part, Role, ToolCall, Turn
from polycontext.window.providers import Provider, Rendered
from polycontext.window.tokens.request_tokens import text_blocks
from tests.polynomial.conversations import text_of

START = datetime(2026, 11, 23, tzinfo=UTC)


class Words:
    """Count a token a word, so that sizes are easy to say."""

    exact = True

    def count(self, text: str) -> int:
        """Return how many words."""
        return len(text.split())


class Talk:
    """Drive one session and the strict provider of its format side by side, under one clock."""

    def __init__(self, provider: Provider, max_tokens: int = 6000, **options: Any) -> None:
        self.provider, self.seconds, self.calls = provider, 0.0, 0
        self.session = ContextSession(
            max_tokens, counter=Words(), provider=provider, clock=self.now, **options
        )
        told: dict[str, Any] = {"counter": Words(), "clock": lambda: self.now().timestamp()}
        self.anthropic = StrictAnthropic(lambda _: "ok", **told)
        self.chat = StrictChat(lambda _: "ok", **told)
        self.responses = StrictResponses(lambda _: "ok", **told)

    def now(self) -> datetime:
        """Return the time that both go by."""
        return START + timedelta(seconds=self.seconds)

    def call(self, count: int, words: int) -> None:
        """Let the model make calls side by side, and answer them."""
        names = [f"call_{self.calls + number}" for number in range(count)]
        self.calls += count
        self.session.add_assistant_turn(
            None, tool_calls=[ToolCall(name, "look", "{}") for name in names]
        )
        for name in names:
            self.session.add_tool_turn(f"{name} " + "fish " * words, tool_call_id=name)

    def send(self, plan: CachePlan | bool = True) -> tuple[int, int, int]:
        """Send a request, and return the tokens that the provider read, wrote and neither."""
        tools = plan.tools if isinstance(plan, CachePlan) else None
        return self.sent(self.session.request(cache=plan), tools or ())

    def sent(
        self, request: Rendered, tools: Sequence[Mapping[str, Any]] = ()
    ) -> tuple[int, int, int]:
        """Send a request; see `send`."""
        body: dict[str, Any] = {"model": "m", **request.options} | (
            {"tools": list(tools)} if tools else {}
        )
        if self.provider is Provider.ANTHROPIC:
            body |= {"max_tokens": 9, "messages": request.messages, "system": list(request.system)}
            usage = self.anthropic.create(body, betas=body.pop("betas", ()))["usage"]
            return (
                usage["cache_read_input_tokens"],
                usage["cache_creation_input_tokens"],
                usage["input_tokens"],
            )
        if self.provider is Provider.OPENAI:
            usage = self.chat.create(body | {"messages": request.messages})["usage"]
            details, whole = usage["prompt_tokens_details"], usage["prompt_tokens"]
        else:
            usage = self.responses.create(body | {"input": request.messages})["usage"]
            details, whole = usage["input_tokens_details"], usage["input_tokens"]
        read, written = details["cached_tokens"], details["cache_write_tokens"]
        return read, written, whole - read - written

    def tools(self, number: int) -> list[dict[str, Any]]:
        """Return one of two lists of tools as the provider takes it."""
        names = [("look", "near"), ("seek", "far " * 30)][number]
        match self.provider:
            case Provider.ANTHROPIC:
                return [
                    {"name": names[0], "description": names[1], "input_schema": {"type": "object"}}
                ]
            case Provider.OPENAI:
                return [
                    {"type": "function", "function": {"name": names[0], "description": names[1]}}
                ]
            case Provider.RESPONSES:
                return [{"type": "function", "name": names[0], "description": names[1]}]


def _cost(bill: Bill) -> tuple[int, int, int]:
    return bill.read, bill.all_written, bill.plain


STEPS = st.one_of(
    st.tuples(st.just("user"), st.integers(0, 400)),
    st.tuples(st.just("say"), st.integers(1, 100)),
    st.tuples(st.just("call"), st.integers(1, 25)),
    st.tuples(st.just("wait"), st.sampled_from([10, 200, 400, 4000])),
    st.tuples(st.just("compress"), st.integers(5, 60)),
    st.tuples(st.just("recall"), st.integers(1, 9)),
    st.tuples(st.just("clear"), st.just(0)),
    st.tuples(st.just("system"), st.integers(1, 30)),
    st.tuples(st.just("tools"), st.integers(0, 1)),
    st.tuples(st.just("plan"), st.integers(0, 3)),
)
PLANS = [CachePlan(), CachePlan(ttl="1h"), CachePlan(head_ttl="1h"), CachePlan(key="other")]


def _step(talk: Talk, kind: str, size: int) -> None:
    """Do what a step says; one that is illegal now is left out."""
    session = talk.session
    with suppress(CallerError):
        match kind:
            case "user":
                session.add_user_turn("where " * size + "is it?")
            case "say":
                session.add_assistant_turn("there " * size)
            case "call":
                talk.call(size, 20)
            case "wait":
                talk.seconds += size
            case "compress":
                session.compress(size / 100)
            case "recall":
                session.recall([turn.resource_id for turn in session.log()][-size:][:2])
            case "clear":
                session.clear()
            case "system":
                session.add_system("Be brief. " * size)
            case _:
                return


@pytest.mark.parametrize("provider", Provider)
@example(
    steps=[
        ("call", 25),
        ("call", 25),
        ("wait", 400),
        ("call", 1),
        ("compress", 30),
        ("tools", 1),
        ("user", 9),
    ]
)
@given(steps=st.lists(STEPS, max_size=25))
def test_the_bill_is_to_the_token_what_the_provider_says(
    provider: Provider, steps: list[tuple[str, int]]
) -> None:
    """The bill's tokens equal the provider's, and new plus missed tokens add up to the input."""
    talk = Talk(provider)
    talk.session.add_system("You look for fish. " * 200)
    talk.session.add_user_turn("How many fish? " * 150)
    plan, before = evolve(PLANS[0], tools=talk.tools(0)), (0, 0, 0)
    for kind, size in [("say", 3), *steps]:
        if kind == "tools":
            plan = evolve(plan, tools=talk.tools(size))
        elif kind == "plan":
            plan = evolve(PLANS[size], tools=plan.tools)
        asked = talk.session.window
        _step(talk, kind, size)
        turns = talk.session.window.all_turns()
        if talk.session.window.has_contents_of(asked) or all(
            turn.role is Role.SYSTEM for turn in turns
        ):
            continue
        sent = talk.send(plan)
        bill = talk.session.usage.bill()
        assert tuple(now - then for now, then in zip(_cost(bill), before, strict=True)) == sent
        assert bill.input == bill.read + bill.new + sum(miss.tokens for miss in bill.missed)
        before = _cost(bill)


def test_behind_a_summary_of_the_vendors_own_the_bill_is_right_too() -> None:
    """Its block stands first and has no frame of a message around it; nothing is marked on it."""
    talk = _begun(Provider.ANTHROPIC)
    for _ in range(4):
        talk.call(2, 40)
        talk.send()

    def create(betas: Sequence[str], **request: Any) -> dict[str, Any]:
        return talk.anthropic.create(request, betas=betas)

    client = SimpleNamespace(beta=SimpleNamespace(messages=SimpleNamespace(create=create)))
    plan = prefix_plan(talk.session.window, 2300)
    assert (
        talk.session.background.commit(AnthropicCompaction(client, "m").fulfil(plan)).refused == ()
    )
    talk.session.add_user_turn("And now?")
    for _ in range(3):
        before = talk.session.usage.bill()
        sent = talk.send()
        bill = talk.session.usage.bill()
        assert (
            tuple(now - then for now, then in zip(_cost(bill), _cost(before), strict=True)) == sent
        )
        talk.call(1, 5)
    assert talk.session.usage.bill().last == ()


def _begun(provider: Provider, words: int = 2000, **options: Any) -> Talk:
    talk = Talk(provider, **options)
    talk.session.add_system("You look for fish. " * (words // 4))
    talk.session.add_user_turn("How many fish are there?")
    return talk


@pytest.mark.parametrize("calls", [1, 10, 30])
def test_a_loop_of_tools_never_loses_its_prefix(calls: int) -> None:
    """In a loop of 59 steps with parallel calls, all requests but the first read the cache."""
    talk = _begun(Provider.ANTHROPIC, max_tokens=100_000)
    talk.send()
    for _ in range(59):
        talk.call(calls, 3)
        talk.send()
    bill = talk.session.usage.bill()
    assert [miss.why for miss in bill.missed] == [Why.FIRST]
    assert (bill.requests, bill.plain, bill.last) == (60, 0, ())


def test_a_compression_leaves_the_head_in_the_cache() -> None:
    """Each request refreshes the cached head, so the one after a compression still reads it."""
    talk = _begun(Provider.ANTHROPIC)
    for _ in range(30):
        talk.call(1, 40)
        talk.send()
        talk.seconds += 250
    talk.session.compress(0.5)
    talk.call(1, 40)
    new = talk.session.usage.bill().new
    read, _, _ = talk.send()
    assert read >= 2000
    assert 40 < talk.session.usage.bill().new - new < 60
    (changed,) = (miss for miss in talk.session.usage.bill().last if miss.why is Why.CHANGED)
    assert changed.what.startswith("turn g")
    assert changed.what.endswith(", epoch 2 by compress")


def _expired(talk: Talk) -> CachePlan:
    talk.seconds += 301
    return CachePlan(tools=talk.tools(0))


def _with_other_tools(talk: Talk) -> CachePlan:
    return CachePlan(tools=talk.tools(1))


def _with_other_key(talk: Talk) -> CachePlan:
    return CachePlan(key="other", tools=talk.tools(0))


def _with_another_system(talk: Talk) -> CachePlan:
    talk.session.history.forget("t1")
    return CachePlan(tools=talk.tools(0))


def _as_before(talk: Talk) -> CachePlan:
    return CachePlan(tools=talk.tools(0))


@pytest.mark.parametrize(
    ("provider", "change", "words", "why", "what"),
    [
        (Provider.ANTHROPIC, _expired, 2000, Why.EXPIRED, ""),
        (Provider.OPENAI, _expired, 2000, Why.EXPIRED, ""),
        (Provider.ANTHROPIC, _as_before, 400, Why.FLOOR, ""),
        (Provider.RESPONSES, _as_before, 400, Why.FLOOR, ""),
        (Provider.ANTHROPIC, _with_other_tools, 2000, Why.CHANGED, "tools"),
        (Provider.OPENAI, _with_other_tools, 2000, Why.CHANGED, "tools"),
        (Provider.ANTHROPIC, _with_another_system, 2000, Why.CHANGED, "system"),
        (Provider.OPENAI, _with_another_system, 2000, Why.CHANGED, "turn t1, epoch 2 by forget"),
        (Provider.OPENAI, _with_other_key, 2000, Why.KEY, ""),
        (Provider.OPENAI, _as_before, 2000, Why.STEP, ""),
    ],
)
def test_every_miss_has_its_reason(
    provider: Provider, change: Callable[[Talk], CachePlan], words: int, why: Why, what: str
) -> None:
    """Every cached token that is not read has a reason."""
    talk = _begun(provider, words)
    talk.send(_as_before(talk))
    talk.call(1, 3)
    plan = change(talk)
    talk.send(plan)
    bill = talk.session.usage.bill()
    assert (why, what) in {(miss.why, miss.what) for miss in bill.last}
    assert bill.missed[0].why is Why.FIRST
    assert str(why) in str(bill)
    talk.session.add_assistant_turn("Three.")
    assert talk.session.usage.bill().output == 13 + 5  # the call, the answer


def test_without_breakpoints_everything_is_paid_in_full_and_said() -> None:
    """Plain requests stand on the bill too, the first one as well."""
    talk = _begun(Provider.ANTHROPIC)
    plain = talk.session.request()
    assert talk.session.usage.bill().requests == 1
    assert talk.session.request() == plain
    assert talk.session.usage.bill().requests == 1
    talk.call(1, 3)
    talk.session.messages()
    bill = talk.session.usage.bill()
    assert (bill.requests, bill.read, bill.all_written) == (2, 0, 0)
    assert [miss.why for miss in bill.last] == [Why.UNMARKED]


def test_of_several_requests_in_one_state_the_last_one_counts() -> None:
    """Repeated requests in one state count once, and another format counts separately."""
    talk = _begun(Provider.ANTHROPIC)
    talk.session.usage.limit(tokens=9000)
    for _ in range(3):
        talk.session.messages()
    talk.send()
    once = talk.session.usage.bill()
    talk.session.add_assistant_turn(None, tool_calls=[ToolCall("c", "look", "{}")])
    talk.session.messages(allow_open=True)
    assert talk.session.usage.bill() == evolve(once, output=talk.session.usage.bill().output)
    assert (once.requests, once.all_written) == (1, once.input)
    talk.session.add_tool_turn("a fish", tool_call_id="c")
    talk.session.messages(Provider.OPENAI)
    talk.session.messages(Provider.ANTHROPIC)
    assert [
        talk.session.usage.bill(provider=provider).requests
        for provider in (None, "openai", "anthropic")
    ] == [3, 1, 2]


def test_own_breakpoints_are_kept_without_a_plan_and_replaced_by_one() -> None:
    """A message that came in with its mark goes out with it, unless a plan says where marks go."""
    talk = _begun(Provider.ANTHROPIC)
    own = {
        "type": "text",
        "text": "Look there.",
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    }
    talk.session.add_message({"role": "assistant", "content": "Where?"}, "anthropic")
    talk.session.add_message({"role": "user", "content": [own]}, "anthropic")
    assert talk.session.usage.bill().requests == 0
    plain = talk.session.request()
    assert plain.messages[-1]["content"] == [own]
    assert talk.sent(plain) == (0, talk.session.usage.bill().written[3600.0], 0)
    request = talk.session.request(cache=True)
    assert request.messages[-1]["content"] == [{**own, "cache_control": {"type": "ephemeral"}}]
    assert request.system[-1]["cache_control"] == {"type": "ephemeral"}
    assert plain.system[-1].get("cache_control") is None
    talk.session.add_assistant_turn("I do.")
    talk.session.add_user_turn("Good.")
    assert (
        len(str(talk.session.request(cache=CachePlan(head_ttl="1h"))).split("cache_control")) - 1
        == 3
    )


def test_a_request_has_a_key_where_the_provider_takes_one() -> None:
    """One of the session's own that says nothing about it, or the plan's."""
    keys = []
    for name in ("a", "b"):
        session = ContextSession(8000, counter=Words(), session_id=name)
        session.add_user_turn("Hi.")
        keys.append(session.request(cache=True).options["prompt_cache_key"])
        assert session.request(cache=CachePlan(key="mine")).options == {"prompt_cache_key": "mine"}
        assert "prompt_cache_key" not in session.request("anthropic", cache=True).options
    assert len(set(keys)) == 2
    assert all(len(key) == 32 for key in keys)


def test_a_limit_is_never_crossed() -> None:
    """A request that would cross the limit, with the longest answer, is refused and not billed."""
    talk = _begun(Provider.ANTHROPIC)
    talk.send()
    spent = talk.session.usage.bill().input
    talk.session.usage.limit(tokens=3 * spent, answer=100)
    talk.call(1, 3)
    talk.send()
    talk.session.add_assistant_turn("Three.")
    talk.session.add_user_turn("Sure?")
    before = talk.session.usage.bill()
    for ask in (
        talk.session.messages,
        talk.session.request,
        lambda: talk.session.request("openai", cache=True),
    ):
        with pytest.raises(
            SpendingError, match=r"tokens: .* spent and .* requested, but the limit is "
        ):
            ask()
    assert talk.session.usage.bill() == before
    talk.session.usage.limit()
    talk.send()
    assert talk.session.usage.bill().requests == before.requests + 1


def test_a_limit_in_money_goes_by_the_models_list_or_by_given_prices() -> None:
    """A model without a price and no prices are refused; free of charge is no limit at all."""
    session = ContextSession("claude-sonnet-4-5", counter=Words())
    session.add_system("You look for fish. " * 1000)
    session.add_user_turn("How many?")
    session.usage.limit(money=0.0)
    with pytest.raises(SpendingError, match=r"money: 0.0000 spent and 0.97"):
        session.messages()
    session.usage.limit(money=0.1, answer=0)
    session.request(cache=True)
    bill = session.usage.bill()
    assert bill.money == pytest.approx(bill.all_written * 3.75 / 1e6)
    assert bill.units == pytest.approx(bill.all_written * 1.25)
    assert session.usage.bill(Prices(0.0)).money == 0
    unknown = ContextSession(8000)
    unknown.add_user_turn("Hi.")
    with pytest.raises(InvalidOptionError, match="prices"):
        unknown.usage.limit(money=1.0)
    unknown.usage.limit(money=1.0, prices=Prices(3, 15))
    unknown.messages()
    assert unknown.usage.bill().money is None
    assert ContextSession("my-model", max_tokens=8_000).usage.bill().money is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": -1},
        {"tokens": 1.5},
        {"money": "1"},
        {"money": True},
        {"tokens": 1, "answer": -1},
        {"money": 1, "prices": 3},
    ],
)
def test_a_limit_that_is_no_number_is_refused(wrong: dict[str, Any]) -> None:
    """In words, and the limit that there is stays."""
    session = ContextSession("claude-sonnet-4-5", counter=Words())
    session.add_user_turn("Hi.")
    session.usage.limit(tokens=0)
    with pytest.raises(InvalidOptionError, match=r"Use "):
        session.usage.limit(**wrong)
    with pytest.raises(SpendingError):
        session.messages()


def test_only_a_plan_says_how_to_cache() -> None:
    """Anything else is refused, and what a provider is called is looked at."""
    session = ContextSession(8000)
    session.add_user_turn("Hi.")
    with pytest.raises(InvalidOptionError, match=r"cache = '5m'. Use True, False, or a CachePlan"):
        session.request(cache="5m")  # type: ignore[arg-type]
    with pytest.raises(InvalidOptionError, match=r"prices = 3. Use Prices"):
        session.usage.bill(3)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError):
        session.usage.bill(provider="gemini")


def test_copies_and_the_past_have_bills_of_their_own() -> None:
    """Forks, copies and past sessions start with a bill of their own."""
    talk = _begun(Provider.OPENAI)
    talk.send()
    session = talk.session
    session.usage.limit(tokens=10_000)
    assert [
        other.usage.bill().requests for other in (copy(session), session.history.fork("other"))
    ] == [0, 0]
    session.history.at(2).request(cache=True)
    assert session.usage.bill().requests == 1


def test_a_request_costs_what_is_new_to_it() -> None:
    """However long the conversation: one more turn counts and digests its own words."""
    counts: list[str] = []

    class Counting(Words):
        def count(self, text: str) -> int:
            counts.append(text)
            return super().count(text)

    session = ContextSession(100_000, counter=Counting(), provider="anthropic")
    session.add_system("You look for fish. " * 500)
    for number in range(300):
        session.add_user_turn(f"And {number}?")
        session.add_assistant_turn(f"{number} fish.")
    session.add_user_turn("All in all?")
    session.request(cache=True)
    session.add_assistant_turn("Many.")
    session.add_user_turn("How many?")
    counts.clear()
    session.request(cache=True)
    assert len(counts) <= 4


@pytest.mark.parametrize("provider", Provider)
def test_blocks_are_told_by_turns(provider: Provider) -> None:
    """The number of blocks after each turn equals that of a list that ends there."""
    session = ContextSession(8000, counter=Words())
    session.add_system("Be brief.")
    session.add_user_turn("Hi.")
    session.add_assistant_turn(
        "Hello.", tool_calls=[ToolCall("a", "look", "{}"), ToolCall("b", "look", "{}")]
    )
    session.add_tool_turn("a fish", tool_call_id="a")
    session.add_tool_turn("a fish", tool_call_id="b")
    session.add_assistant_turn("Two fish.")
    session.add_system("Be briefer.")
    session.add_user_turn("And now?")
    delivery, window = Delivery(), ContextWindow(8000, counter=Words())
    for turn in session.window.all_turns():
        window = window.append(turn)
        if len(window) == 1:
            continue
        rendered = delivery.deliver(window, provider, allow_open=True)
        blocks = len(rendered.messages)
        if provider is Provider.ANTHROPIC:
            blocks = len(rendered.system) + sum(
                len(text_blocks(message["content"])) for message in rendered.messages
            )
        assert delivery.ends(window, provider)[-1] == blocks
    assert delivery.ends(session.window, provider) == ()


def test_a_session_that_sends_nothing_loads_nothing_of_it() -> None:
    """Turns alone cost nothing."""
    code = (
        "import sys; from polycontext import ContextSession; s = ContextSession(8000); "
        "s.add_user_turn('Hi.'); s.add_assistant_turn('Ho.'); "
        "print([name for name in sys.modules if 'pressure.cache' in name or "
        "name.endswith('billing')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# --- compressing where it pays ---------------------------------------------------------


def test_with_prices_room_is_made_before_it_is_needed() -> None:
    """With prices, a session compresses as soon as that is cheaper, before the high mark."""
    highest = {}
    for prices in (None, BY_ITSELF):
        session = ContextSession(
            4_000, counter=Words(), threshold=FixedThreshold(0.95, 0.5), prices=prices
        )
        highest[prices] = 0.0
        for number in range(300):
            session.add_user_turn(f"{number} " + "please " * 15)
            session.add_assistant_turn(f"{number} " + "done " * 15)
            highest[prices] = max(highest[prices], session.pressure)
        assert session.window.epoch.number > 2
        assert (
            ContextSession.history.load(text_of(session), counter=Words()).window == session.window
        )
    assert highest[BY_ITSELF] < 0.85 < highest[None]


def test_nothing_is_compressed_between_the_request_and_the_answer_of_a_model_that_thinks() -> None:
    """However much it would spare."""
    thought = Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}')
    session = ContextSession(
        4_000, counter=Words(), threshold=FixedThreshold(0.95, 0.5), prices=BY_ITSELF
    )
    for number in range(300):
        session.add_user_turn(f"{number} " + "please " * 15)
        epoch = session.window.epoch
        session.request("anthropic")
        session.add(Turn("assistant", f"{number} " + "done " * 15, parts=(thought,)))
        assert session.window.epoch == epoch
    assert session.window.epoch.number > 2


@pytest.mark.parametrize("prices", [1, "cheap", Prices(0.0)])
def test_prices_that_are_none_are_refused(prices: Any) -> None:
    """In words."""
    with pytest.raises(InvalidOptionError, match="Use Prices with a price of the input, or None"):
        ContextSession(4_000, prices=prices)
