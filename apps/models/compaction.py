"""What the vendors' compaction clients share.

A plan's prefix becomes a request, and the answer or failure becomes a fulfilment.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from attrs import frozen

from polycontext.base.effects import Effect, Steps
from polycontext.polynomial.session import merge_options
from polycontext.pressure import Fulfilment, NativeGist, Offer, Plan, Reading, native
from polycontext.window import Turn
from polycontext.window.providers import Provider, Rendered, dumped, get_format

Tools = Sequence[Mapping[str, Any]]


@frozen
class Compacted:
    """A provider's answer: blocks as JSON data and their reported tokens, or a failure's reason."""

    blocks: tuple[Mapping[str, Any], ...] = ()
    tokens: int | None = None
    failure: str | None = None


@frozen
class Compacting:
    """A request to `provider` for the summary of a prefix; failures are reported in the fulfilment.

    `ask` returns an SDK's answer or an awaitable of it. `keeps_bound` says that the provider still
    accepts the parts it bound to the prefix.
    """

    provider: Provider
    ask: Callable[[Rendered], Any]
    read: Callable[[Any], Compacted]
    keeps_bound: bool

    def fulfil(self, plan: Plan, reading: Reading | None) -> Steps[Fulfilment]:
        """Send the request and return the fulfilment."""
        try:
            turns = native.prefix_of(plan)
            answer = (yield self._request(plan, turns)) if turns else None
        except Exception as error:  # noqa: BLE001 - reported
            answer = error
        return self._fulfilment(plan, answer, reading)

    def _request(self, plan: Plan, turns: Sequence[Turn]) -> Effect:
        """Return the effect of sending the prefix exactly as a session sends it."""
        wire = get_format(self.provider)
        rendered = wire.render(turns)
        options = merge_options(wire.options(plan.window.epoch.unbound), rendered.options)
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
            NativeGist(str(self.provider), texts, compacted.tokens, keeps_bound=self.keeps_bound),
            reading,
        ), None


def data_of(answer: Any) -> Any:
    """Return an SDK's answer as the original JSON data."""
    # An SDK warns about values of unknown types; here they are passed through unchanged.
    return (
        answer.to_dict(mode="json", warnings=False)
        if hasattr(answer, "to_dict")
        else dumped(answer)
    )


def reported_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Return the output tokens that an answer's usage reports, or None."""
    tokens = (usage or {}).get("output_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def _describe(error: Exception) -> str:
    return f"the provider failed: {type(error).__name__}: {error}"
