"""The bill of a session.

It equals a strict provider's accounting to the token, names each miss, and enforces limits.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.base import CallerError, InvalidOptionError, UnknownNameError
from polycontext.bill import Bill, Meter, SpendingError, Why, bill_of
from polycontext.models import AnthropicCompaction
from polycontext.polynomial import ContextSession
from polycontext.pressure.cache import CachePlan
from polycontext.pressure.native import prefix_plan
from polycontext.pressure.schedule import Prices
from polycontext.testing.strict import StrictAnthropic, StrictChat, StrictResponses
from polycontext.window import Role, ToolCall
from polycontext.window.providers import Provider, Rendered
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
        self.meter = Meter(self.session, clock=self.now)
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

    def send(
        self, plan: CachePlan | bool = True, tools: Sequence[Mapping[str, Any]] = ()
    ) -> tuple[int, int, int]:
        """Send a request, and return the tokens that the provider read, wrote and neither."""
        return self.sent(self.meter.request(cache=plan, tools=tools), tools)

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
            case _:
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
PROVIDERS = [provider for provider in Provider if provider is not Provider.GEMINI]
"""The providers with a strict stand-in that bills the cache."""
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


@pytest.mark.parametrize("provider", PROVIDERS)
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
    plan, tools, before = PLANS[0], talk.tools(0), (0, 0, 0)
    for kind, size in [("say", 3), *steps]:
        if kind == "tools":
            tools = talk.tools(size)
        elif kind == "plan":
            plan = PLANS[size]
        asked = talk.session.window
        _step(talk, kind, size)
        turns = talk.session.window.all_turns()
        if talk.session.window.has_contents_of(asked) or all(
            turn.role is Role.SYSTEM for turn in turns
        ):
            continue
        sent = talk.send(plan, tools)
        bill = talk.meter.bill()
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
        before = talk.meter.bill()
        sent = talk.send()
        bill = talk.meter.bill()
        assert (
            tuple(now - then for now, then in zip(_cost(bill), _cost(before), strict=True)) == sent
        )
        talk.call(1, 5)
    assert talk.meter.bill().last == ()


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
    bill = talk.meter.bill()
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
    new = talk.meter.bill().new
    read, _, _ = talk.send()
    assert read >= 2000
    assert 40 < talk.meter.bill().new - new < 60
    (changed,) = (miss for miss in talk.meter.bill().last if miss.why is Why.CHANGED)
    assert changed.what.startswith("turn g")
    assert changed.what.endswith(", epoch 2 by compress")


Change = Callable[[Talk], tuple[CachePlan, list[dict[str, Any]]]]


def _as_before(talk: Talk) -> tuple[CachePlan, list[dict[str, Any]]]:
    return CachePlan(), talk.tools(0)


def _expired(talk: Talk) -> tuple[CachePlan, list[dict[str, Any]]]:
    talk.seconds += 301
    return _as_before(talk)


def _with_other_tools(talk: Talk) -> tuple[CachePlan, list[dict[str, Any]]]:
    return CachePlan(), talk.tools(1)


def _with_other_key(talk: Talk) -> tuple[CachePlan, list[dict[str, Any]]]:
    return CachePlan(key="other"), talk.tools(0)


def _with_another_system(talk: Talk) -> tuple[CachePlan, list[dict[str, Any]]]:
    talk.session.history.forget("t1")
    return _as_before(talk)


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
    provider: Provider, change: Change, words: int, why: Why, what: str
) -> None:
    """Every cached token that is not read has a reason."""
    talk = _begun(provider, words)
    talk.send(*_as_before(talk))
    talk.call(1, 3)
    talk.send(*change(talk))
    bill = talk.meter.bill()
    assert (why, what) in {(miss.why, miss.what) for miss in bill.last}
    assert bill.missed[0].why is Why.FIRST
    assert str(why) in str(bill)
    talk.session.add_assistant_turn("Three.")
    assert talk.meter.bill().output == 13 + 5  # the call, the answer


def test_without_breakpoints_everything_is_paid_in_full_and_said() -> None:
    """Plain requests stand on the bill too, the first one as well."""
    talk = _begun(Provider.ANTHROPIC)
    plain = talk.meter.request()
    assert talk.meter.bill().requests == 1
    assert talk.meter.request() == plain
    assert talk.meter.bill().requests == 1
    talk.call(1, 3)
    talk.meter.messages()
    bill = talk.meter.bill()
    assert (bill.requests, bill.read, bill.all_written) == (2, 0, 0)
    assert [miss.why for miss in bill.last] == [Why.UNMARKED]


def test_of_several_requests_in_one_state_the_last_one_counts() -> None:
    """Repeated requests in one state count once, and another format counts separately."""
    talk = _begun(Provider.ANTHROPIC)
    talk.meter.limit(tokens=9000)
    for _ in range(3):
        talk.meter.messages()
    talk.send()
    once = talk.meter.bill()
    talk.session.add_assistant_turn(None, tool_calls=[ToolCall("c", "look", "{}")])
    talk.meter.messages(allow_open=True)
    assert talk.meter.bill() == evolve(once, output=talk.meter.bill().output)
    assert (once.requests, once.all_written) == (1, once.input)
    talk.session.add_tool_turn("a fish", tool_call_id="c")
    talk.meter.messages(Provider.OPENAI)
    talk.meter.messages(Provider.ANTHROPIC)
    assert [
        talk.meter.bill(provider=provider).requests for provider in (None, "openai", "anthropic")
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
    assert talk.meter.bill().requests == 0
    plain = talk.meter.request()
    assert plain.messages[-1]["content"] == [own]
    assert talk.sent(plain) == (0, talk.meter.bill().written[3600.0], 0)
    request = talk.meter.request(cache=True)
    assert request.messages[-1]["content"] == [{**own, "cache_control": {"type": "ephemeral"}}]
    assert request.system[-1]["cache_control"] == {"type": "ephemeral"}
    assert plain.system[-1].get("cache_control") is None
    talk.session.add_assistant_turn("I do.")
    talk.session.add_user_turn("Good.")
    assert (
        len(str(talk.meter.request(cache=CachePlan(head_ttl="1h"))).split("cache_control")) - 1 == 3
    )


def test_a_limit_is_never_crossed() -> None:
    """A request that would cross the limit, with the longest answer, is refused and not billed."""
    talk = _begun(Provider.ANTHROPIC)
    talk.send()
    spent = talk.meter.bill().input
    talk.meter.limit(tokens=3 * spent, answer=100)
    talk.call(1, 3)
    talk.send()
    talk.session.add_assistant_turn("Three.")
    talk.session.add_user_turn("Sure?")
    before = talk.meter.bill()
    for ask in (
        talk.meter.messages,
        talk.meter.request,
        lambda: talk.meter.request("openai", cache=True),
    ):
        with pytest.raises(
            SpendingError, match=r"tokens: .* spent and .* requested, but the limit is "
        ):
            ask()
    assert talk.meter.bill() == before
    talk.meter.limit()
    talk.send()
    assert talk.meter.bill().requests == before.requests + 1


def test_a_limit_in_money_goes_by_the_models_list_or_by_given_prices() -> None:
    """A model without a price and no prices are refused; free of charge is no limit at all."""
    session = ContextSession("claude-sonnet-4-5", counter=Words())
    session.add_system("You look for fish. " * 1000)
    session.add_user_turn("How many?")
    meter = Meter(session)
    meter.limit(money=0.0)
    with pytest.raises(SpendingError, match=r"money: 0.0000 spent and 0.97"):
        meter.messages()
    meter.limit(money=0.1, answer=0)
    meter.request(cache=True)
    bill = meter.bill()
    assert bill.money == pytest.approx(bill.all_written * 3.75 / 1e6)
    assert bill.units == pytest.approx(bill.all_written * 1.25)
    assert meter.bill(Prices(0.0)).money == 0
    unknown = ContextSession(8000)
    unknown.add_user_turn("Hi.")
    meter = Meter(unknown)
    with pytest.raises(InvalidOptionError, match="prices"):
        meter.limit(money=1.0)
    meter.limit(money=1.0, prices=Prices(3, 15))
    meter.messages()
    assert meter.bill().money is None
    assert Meter(ContextSession("my-model", max_tokens=8_000)).bill().money is None
    assert bill_of(session).money


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
    meter = Meter(session)
    meter.limit(tokens=0)
    with pytest.raises(InvalidOptionError, match=r"Use "):
        meter.limit(**wrong)
    with pytest.raises(SpendingError):
        meter.messages()


def test_only_a_plan_says_how_to_cache() -> None:
    """Anything else is refused, and what a provider is called is looked at."""
    session = ContextSession(8000)
    session.add_user_turn("Hi.")
    meter = Meter(session)
    asks: list[Callable[..., Any]] = [session.request, meter.request, partial(bill_of, session)]
    for ask in asks:
        with pytest.raises(
            InvalidOptionError, match=r"cache = '5m'. Use True, False, or a CachePlan"
        ):
            ask(cache="5m")
    bills: list[Callable[..., Any]] = [meter.bill, partial(bill_of, session)]
    for bill in bills:
        with pytest.raises(InvalidOptionError, match=r"prices = 3. Use Prices"):
            bill(3)
        with pytest.raises(UnknownNameError):
            bill(provider="altavista")


@pytest.mark.parametrize("provider", Provider)
@given(steps=st.lists(STEPS.filter(lambda step: step[0] not in {"tools", "plan"}), max_size=25))
def test_the_bill_of_a_journal_is_that_of_a_meter(
    provider: Provider, steps: list[tuple[str, int]]
) -> None:
    """If each answer followed one request, and a request waits, the figures are the same."""
    talk = Talk(provider)
    talk.session.add_system("You look for fish. " * 200)
    talk.session.add_user_turn("How many fish? " * 150)
    waited = 0
    for kind, size in steps:
        if kind in {"say", "call"}:
            with suppress(CallerError):
                talk.meter.request(cache=True)
        if kind == "wait":
            waited += size
        elif kind in {"say", "call", "user", "system"}:
            talk.seconds, waited = talk.seconds + waited, 0
        _step(talk, kind, size if kind != "wait" else 0)
    if talk.session.log()[-1].role is not Role.ASSISTANT:
        with suppress(CallerError):
            talk.meter.request(cache=True)
    assert bill_of(talk.session, cache=True) == talk.meter.bill()


def test_a_bill_survives_a_restart_and_counts_what_was_rewound() -> None:
    """The journal has every answer, so a reopened session has the same bill."""
    session = ContextSession(8000, counter=Words())
    session.add_user_turn("How many?")
    session.add_assistant_turn("Three.")
    session.history.regenerate()
    session.add_assistant_turn("Four.")
    bill = bill_of(session)
    assert (bill.requests, bill.output) == (2, 2 * 5)
    assert bill_of(ContextSession.history.load(text_of(session), counter=Words())) == bill
    session.add_user_turn("Sure?")
    assert bill_of(session).requests == 3
    assert bill_of(ContextSession(8000)) == Bill()


def test_a_state_that_is_no_request_is_left_out() -> None:
    """Anthropic takes no request of a system message alone, so its answer is not counted."""
    session = ContextSession(8000, counter=Words())
    session.add_system("Be brief.")
    session.add_assistant_turn("Ask me.")
    session.add_user_turn("How many?")
    session.add_assistant_turn("Three.")
    bill = bill_of(session, provider="anthropic")
    assert (bill.requests, bill.output) == (1, 5)


def test_copies_and_meters_have_bills_of_their_own() -> None:
    """A meter counts its own requests alone; a past session has a meter of its own."""
    talk = _begun(Provider.OPENAI)
    talk.send()
    others = (copy(talk.session), talk.session.history.fork("other"), talk.session)
    assert [Meter(other).bill().requests for other in others] == [0, 0, 0]
    Meter(talk.session.history.at(2)).request(cache=True)
    assert talk.meter.bill().requests == 1


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
    meter = Meter(session)
    meter.request(cache=True)
    session.add_assistant_turn("Many.")
    session.add_user_turn("How many?")
    counts.clear()
    meter.request(cache=True)
    assert len(counts) <= 4
