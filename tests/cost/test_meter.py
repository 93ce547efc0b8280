"""The cost of a session is what its providers reported, times their prices."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.cost import Meter, SpendingError
from polycontext.cost.meter import Cost
from polycontext.cost.reports import Tokens, reported_tokens
from polycontext.polynomial import ContextSession
from polycontext.pressure.cache import CachePlan
from polycontext.pressure.schedule import Prices
from polycontext.window import ToolCall
from polycontext.window.providers import Provider, Rendered
from tests.vendors import StrictAnthropic, StrictChat, StrictResponses

PRICES = Prices(3, 15, read=0.3, write=3.75, write_long=6)


class Words:
    """Count a token a word, so that sizes are easy to say."""

    exact = True

    def count(self, text: str) -> int:
        """Return how many words."""
        return len(text.split())


class Talk:
    """Drive one session, its meter and the strict provider of its format under one clock."""

    def __init__(self, provider: Provider, max_tokens: int = 6000) -> None:
        self.provider, self.seconds, self.calls = provider, 0.0, 0
        self.session = ContextSession(max_tokens, counter=Words(), provider=provider)
        self.meter = Meter(self.session, PRICES)
        told: dict[str, Any] = {"counter": Words(), "clock": lambda: self.seconds}
        strict = {
            Provider.ANTHROPIC: StrictAnthropic,
            Provider.OPENAI: StrictChat,
            Provider.RESPONSES: StrictResponses,
        }
        self.strict: Any = strict[provider](lambda _: "ok", **told)
        self.session.add_system("You look for fish. " * 500)
        self.session.add_user_turn("How many fish are there?")

    def call(self, count: int, words: int) -> None:
        """Let the model make calls side by side, and answer them."""
        names = [f"call_{self.calls + number}" for number in range(count)]
        self.calls += count
        self.session.add_assistant_turn(
            None, tool_calls=[ToolCall(name, "look", "{}") for name in names]
        )
        for name in names:
            self.session.add_tool_turn(f"{name} " + "fish " * words, tool_call_id=name)

    def send(self, plan: CachePlan | bool = True) -> Tokens:
        """Send a request, and return the tokens that the meter adds for the response."""
        return self.meter.add(self.answer(self.meter.request(cache=plan))).tokens

    def answer(self, request: Rendered) -> Mapping[str, Any]:
        """Return the response of the provider to a request."""
        body: dict[str, Any] = {"model": "m", **request.options}
        if self.provider is Provider.ANTHROPIC:
            body |= {"max_tokens": 9, "messages": request.messages, "system": list(request.system)}
            return dict(self.strict.create(body, betas=body.pop("betas", ())))
        name = "messages" if self.provider is Provider.OPENAI else "input"
        return dict(self.strict.create(body | {name: request.messages}))


PROVIDERS = (Provider.ANTHROPIC, Provider.OPENAI, Provider.RESPONSES)


# --- what providers report ------------------------------------------------------------


USAGES = json.loads(Path(__file__).with_name("usages.json").read_text(encoding="utf-8"))
"""What each vendor reports, and the tokens that it means; null where nothing was reported."""


@pytest.mark.parametrize("row", USAGES, ids=itemgetter("name"))
def test_each_vendors_usage_is_read(row: Mapping[str, Any]) -> None:
    """Alone or in its response, as JSON data or as an SDK object."""
    usage, tokens = row["usage"], row["tokens"] and Tokens(**row["tokens"])
    held = "usageMetadata" if row["name"] == "Gemini" else "usage"
    dumped: Callable[..., object] = lambda **_: {held: usage}  # noqa: E731
    assert reported_tokens(usage) == tokens
    if tokens is not None:
        assert reported_tokens({held: usage}) == tokens
        assert reported_tokens(SimpleNamespace(model_dump=dumped)) == tokens


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("text", "response: str is no response"),
        ([1], "response: list is no response"),
        ({"usage": {"prompt_tokens": "12"}}, r"usage.prompt_tokens: '12' is not a number"),
        ({"usage": {"prompt_tokens": True}}, r"usage.prompt_tokens: True is not a number"),
        ({"usage": {"input_tokens": -1}}, r"usage.input_tokens: -1 is not a number"),
    ],
)
def test_what_is_no_usage_is_refused_and_changes_nothing(wrong: object, message: str) -> None:
    """The error names the field."""
    meter = Meter(ContextSession("gpt-5"))
    with pytest.raises(InvalidDataError, match=message):
        meter.add(wrong)
    assert meter.cost == Cost()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_meter_adds_up_what_the_provider_reports(provider: Provider) -> None:
    """Every reported token has its price, and those read from the cache a lower one."""
    talk, every = Talk(provider), list[Tokens]()
    for _ in range(5):
        every.append(talk.send())
        talk.call(2, 40)
    cost = talk.meter.cost
    assert cost.tokens == sum(every, Tokens())
    assert (cost.requests, cost.unreported) == (5, 0)
    assert every[0].read == 0 < every[-1].read < every[-1].input
    money = cost.tokens.plain * 3 + cost.tokens.read * 0.3 + cost.tokens.written * 3.75
    assert cost.money == pytest.approx((money + cost.tokens.output * 15) / 1e6)


def test_a_response_costs_the_prices_of_its_model() -> None:
    """Otherwise those of the session's model; without either, no amount is made up."""
    meter = Meter(ContextSession("claude-sonnet-4-5"))
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    asked: list[tuple[object, dict[str, Any]]] = [
        ({"usage": usage}, {}),
        ({"usage": usage, "model": "claude-opus-4-1"}, {}),
        (usage, {"model": "claude-opus-4-1"}),
        ({"usage": usage, "model": "my-deployment"}, {}),
        ({"model": ["gpt-5"], "usage": usage}, {}),
    ]
    assert [meter.add(response, **named).money for response, named in asked] == [3, 15, 15, 3, 3]
    assert meter.cost.money == 39
    unknown = Meter(ContextSession(8000))
    assert unknown.add({"usage": None}).money == 0
    assert unknown.add(usage).money is None
    assert unknown.cost == Cost(2, 1, Tokens(1_000_000), None)


# --- limits ---------------------------------------------------------------------------


def _go_on(talk: Talk) -> None:
    while True:
        talk.send()
        talk.call(1, 30)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("limit", [{"tokens": 20_000}, {"money": 0.05}])
def test_a_limit_is_never_crossed(provider: Provider, limit: dict[str, Any]) -> None:
    """A request that could cross the limit with the longest answer is refused and not counted."""
    talk = Talk(provider)
    talk.meter.limit(**limit, answer=9)
    with pytest.raises(SpendingError, match=r" spent and .* requested, but the limit is "):
        _go_on(talk)
    cost = talk.meter.cost
    assert 0 < cost.tokens.total <= limit.get("tokens", cost.tokens.total)
    assert 0 < (cost.money or 0) <= limit.get("money", 1)
    talk.meter.limit()
    talk.send()
    assert talk.meter.cost.requests == cost.requests + 1


@pytest.mark.parametrize(
    ("plan", "price"),
    [(False, 3), (True, 3.75), (CachePlan(ttl="1h"), 6), (CachePlan(head_ttl="1h"), 6)],
)
def test_a_limit_counts_the_request_without_a_cache_and_an_answer(
    plan: CachePlan | bool, price: float
) -> None:
    """All of the input at the price of writing it, tools included, and an answer of full length."""
    tools = [{"name": "look", "description": "far " * 30, "input_schema": {"type": "object"}}]
    session = ContextSession(6000, counter=Words(), provider="anthropic", tools=tools, reserve=700)
    session.add_user_turn("How many fish?")
    meter, asked = Meter(session, PRICES), list[float]()
    sent = session.window.total_tokens + session.usage.tool_tokens
    for limit in ({"tokens": 0}, {"money": 0}, {"tokens": 0, "answer": 9}):
        meter.limit(**limit)
        with pytest.raises(SpendingError) as caught:
            meter.request(cache=plan)
        asked.append(caught.value.asked)
    assert session.usage.tool_tokens > 30
    assert asked == [sent + 700, pytest.approx((sent * price + 700 * 15) / 1e6), sent + 9]
    meter.limit(tokens=sent + 9, answer=9)
    assert meter.request(cache=plan).messages


@pytest.mark.parametrize(
    "wrong",
    [{"tokens": -1}, {"tokens": 1.5}, {"money": "1"}, {"money": True}, {"tokens": 1, "answer": -1}],
)
def test_a_limit_that_is_no_number_is_refused(wrong: dict[str, Any]) -> None:
    """The limit that there is stays."""
    session = ContextSession("claude-sonnet-4-5", counter=Words())
    session.add_user_turn("Hi.")
    meter = Meter(session)
    meter.limit(tokens=0)
    with pytest.raises(InvalidOptionError, match=r"Use "):
        meter.limit(**wrong)
    with pytest.raises(SpendingError, match="tokens: 0 spent"):
        meter.request()


def test_a_limit_in_money_needs_prices() -> None:
    """Without a model that has a price, nor prices, money cannot be limited."""
    unknown: Sequence[ContextSession] = (
        ContextSession(8000),
        ContextSession("my-model", max_tokens=8000),
    )
    for session in unknown:
        with pytest.raises(InvalidOptionError, match=r"money = 1.*prices="):
            Meter(session).limit(money=1)
        Meter(session, PRICES).limit(money=1)
    with pytest.raises(InvalidOptionError, match=r"prices = 3.*prices_of"):
        Meter(unknown[0], 3)  # type: ignore[arg-type]


# --- the package that was removed -----------------------------------------------------


def test_the_bill_of_a_simulated_cache_names_its_replacement() -> None:
    """Importing the removed package says what to import instead."""
    with pytest.raises(ImportError, match=r"from polycontext\.cost; bill was removed"):
        import_module("polycontext.bill")
