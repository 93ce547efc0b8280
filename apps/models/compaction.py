"""What the vendors' own compactions have in common: a plan's prefix as a request, and an answer or a failure as a fulfilment."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from attrs import frozen

from polycontext.linearity.effects import Effect, Steps
from polycontext.polynomial.session import merge_options
from polycontext.pressure import Fulfilment, Offer, Plan, Reading, native
from polycontext.window import Turn
from polycontext.window.providers import Provider, Rendered, dumped, get_format

Tools = Sequence[Mapping[str, Any]]


@frozen
class Compacted:
    """Hold what a provider answered: blocks as JSON data, and the tokens that it says they have.

    None of them, and why.
    """

    blocks: tuple[Mapping[str, Any], ...] = ()
    tokens: int | None = None
    failure: str | None = None


@frozen
class Compacting:
    """Ask `provider` for the summary of a prefix, and read its answer.

    Whatever fails is told in the fulfilment.

    `ask` returns the answer of an SDK, or what is awaited for it. With `keeps_bound` the provider
    takes back what it bound to the prefix.
    """

    provider: Provider
    ask: Callable[[Rendered], Any]
    read: Callable[[Any], Compacted]
    keeps_bound: bool

    def fulfil(self, plan: Plan, reading: Reading | None) -> Steps[Fulfilment]:
        """Return what came of it."""
        try:
            turns = native.prefix_of(plan)
            answer = (yield self._request(plan, turns)) if turns else None
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises: nothing changes, and why is reported
            answer = error
        return self._fulfilment(plan, answer, reading)

    def _request(self, plan: Plan, turns: Sequence[Turn]) -> Effect:
        """Return the effect of asking with the messages of the prefix exactly as a session sends them, and the options that they need."""
        wire = get_format(self.provider)
        rendered = wire.render(turns)
        options = merge_options(wire.options(plan.window.epoch), rendered.options)
        ask = partial(self.ask, Rendered(rendered.messages, rendered.system, options=options))
        return Effect(ask, ask)

    def _fulfilment(self, plan: Plan, answer: Any, reading: Reading | None) -> Fulfilment:
        try:
            offer = self._offer(plan, answer, reading)
        except Exception as error:  # noqa: BLE001 - an answer may be anything
            offer = None, _describe(error)
        return Fulfilment(plan, tuple(offer for _ in plan.jobs))

    def _offer(self, plan: Plan, answer: Any, reading: Reading | None) -> Offer:
        if answer is None:
            return None, "there is nothing to ask a provider for, or it answered nothing"
        if isinstance(answer, Exception):
            return None, _describe(answer)
        compacted = self.read(data_of(answer))
        if compacted.failure is not None:
            return None, compacted.failure
        texts = tuple(orjson.dumps(block).decode() for block in compacted.blocks)
        return native.with_twin(
            plan,
            native.NativeGist(
                str(self.provider), texts, compacted.tokens, keeps_bound=self.keeps_bound
            ),
            reading,
        ), None


def data_of(answer: Any) -> Any:
    """Return an answer as the JSON data that it came as."""
    # An SDK says what is of another type than it knows; here everything goes back as it came.
    return (
        answer.to_dict(mode="json", warnings=False)
        if hasattr(answer, "to_dict")
        else dumped(answer)
    )


def reported_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Return the tokens of an answer, where its usage reports any."""
    tokens = (usage or {}).get("output_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def _describe(error: Exception) -> str:
    return f"the provider failed: {type(error).__name__}: {error}"
