"""Compaction by a vendor on demand: a plan's prefix becomes a request, its answer a fulfilment.

Anthropic summarises the prefix and accepts its own thinking after that summary. OpenAI's
``/responses/compact`` returns the prefix as the user's messages and one opaque item.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from attrs import field, frozen

from polycontext.base.effects import Effect, Steps, procedure, twin
from polycontext.polynomial.session import merge_options
from polycontext.pressure import Fulfilment, NativeGist, Offer, Plan, Reading, native
from polycontext.window import Turn
from polycontext.window.providers import Provider, Rendered, dumped, get_format
from polycontext.window.providers.anthropic.versions import COMPACTION_BETA

Block = Mapping[str, Any]


class _NoSummaryError(Exception):
    """The answer has no summary; the text says why."""


def _fulfil(
    provider: Provider,
    plan: Plan,
    reading: Reading | None,
    ask: Callable[[Rendered], Any],
    read: Callable[[Any], Sequence[Block]],
) -> Steps[Fulfilment]:
    """Ask `provider` for the summary of the plan's prefix; a failure is told in the fulfilment.

    `ask` returns an SDK's answer or an awaitable of it, `read` the blocks of the summary.
    """
    offer: Offer
    try:
        turns = native.prefix_of(plan)
        answer = (yield _request(provider, plan, turns, ask)) if turns else None
        offer = native.with_twin(plan, _gist_of(provider, answer, read), reading), None
    except _NoSummaryError as error:
        offer = None, str(error)
    except Exception as error:  # noqa: BLE001 - reported; an answer may be anything
        offer = None, f"the provider failed: {type(error).__name__}: {error}"
    return Fulfilment(plan, tuple(offer for _ in plan.jobs), f"{provider} compaction")


def _gist_of(provider: Provider, answer: Any, read: Callable[[Any], Sequence[Block]]) -> NativeGist:
    if answer is None:
        raise _NoSummaryError("there is nothing to ask a provider for, or it answered nothing")
    data = data_of(answer)
    return NativeGist(
        str(provider),
        tuple(orjson.dumps(block).decode() for block in read(data)),
        reported_tokens(data.get("usage")),
        # Only this vendor promises to accept the parts that it bound to the prefix.
        keeps_bound=provider is Provider.ANTHROPIC,
    )


def _request(
    provider: Provider, plan: Plan, turns: Sequence[Turn], ask: Callable[[Rendered], Any]
) -> Effect:
    """Return the effect of sending the prefix exactly as a session sends it."""
    wire = get_format(provider)
    rendered = wire.render(turns)
    options = merge_options(wire.options(plan.window.epoch.unbound), rendered.options)
    sent = partial(ask, Rendered(rendered.messages, rendered.system, options=options))
    return Effect(sent, sent)


@frozen
class AnthropicCompaction:
    """Anthropic's compaction, which summarises a plan's prefix (docs/native-compaction.md).

    Args:
        client: An `anthropic.Anthropic`, or an `anthropic.AsyncAnthropic` for `afulfil`.
        model: The model that summarises. Use the conversation's model, because its thinking is
            bound to what that model was sent.
        max_tokens: The maximum length of the summary, in tokens.
        instructions: Instructions that replace the API's own.
        further: Further fields of the conversation's requests (`thinking`, `cache_control`), so
            that bound parts stay valid and the cache still hits.

    Source: platform.claude.com, "Compaction on demand", "Background compaction", "Compaction and
    thinking blocks".
    """

    client: Any = field(repr=False)
    model: str
    max_tokens: int = 8192
    instructions: str | None = None
    further: Mapping[str, Any] = field(factory=dict)

    @procedure
    def fulfil(
        self,
        plan: Plan,
        *,
        tools: Sequence[Block] = (),
        system: Sequence[Block] | str = (),
        reading: Reading | None = None,
    ) -> Steps[Fulfilment]:
        """Send the prefix of `plan` exactly as the session sends it, and return the fulfilment.

        Never raises. If the answer has no summary, is a refusal or an error, the fulfilment says
        why, and committing it changes nothing.

        Args:
            plan: The plan whose prefix is summarised.
            tools: The tools of the conversation's requests.
            system: System text that the conversation's requests send before the session's own.
            reading: The facts already read from the conversation, for the gist's twin.
        """

        def ask(rendered: Rendered) -> Any:
            return self.client.beta.messages.create(**self._request(rendered, tools, system))

        return _fulfil(Provider.ANTHROPIC, plan, reading, ask, _summary_of)

    afulfil = twin(fulfil)

    def _request(
        self, rendered: Rendered, tools: Sequence[Block], system: Sequence[Block] | str
    ) -> dict[str, Any]:
        told = (
            [{"type": "text", "text": system}]
            if isinstance(system, str) and system
            else list(system)
        )
        request: dict[str, Any] = {
            **merge_options(rendered.options, self.further),
            "model": self.model,
            "max_tokens": self.max_tokens,
        }
        request |= {"system": [*told, *rendered.system]} if told or rendered.system else {}
        request |= {"tools": list(tools)} if tools else {}
        wanted = {
            "type": "summarize",
            **({"instructions": self.instructions} if self.instructions else {}),
        }
        betas = dict.fromkeys([*request.get("betas", ()), COMPACTION_BETA])
        return {**request, "messages": rendered.messages, "compaction": wanted, "betas": [*betas]}


def _summary_of(answer: Any) -> Sequence[Block]:
    """Return the compaction block of an answer."""
    stop, blocks = answer.get("stop_reason"), answer.get("content") or []
    found = [block for block in blocks if block.get("type") == "compaction"]
    if stop != "compaction" or len(found) != 1:
        kinds = [block.get("type") for block in blocks]
        raise _NoSummaryError(f"the answer holds no summary: it stopped for {stop!r} with {kinds}")
    if not found[0].get("content"):
        raise _NoSummaryError("the provider could not summarise: its block holds no content")
    return found


@frozen
class OpenAICompaction:
    """OpenAI's compaction, which compacts a plan's prefix (docs/native-compaction.md).

    Reasoning after the compaction was bound to the prefix and is dropped, because this vendor does
    not promise to accept it.

    Args:
        client: An `openai.OpenAI`, or an `openai.AsyncOpenAI` for `afulfil`.
        model: The model that compacts. Use the conversation's model.
        further: Further fields of the conversation's requests (`instructions`, `prompt_cache_key`).
        retained: Whether to keep the user's messages before the compaction, as the vendor asks.
            Without them only the compaction is kept, which saves more the more the user said.

    Source: developers.openai.com, "Compaction".
    """

    client: Any = field(repr=False)
    model: str
    further: Mapping[str, Any] = field(factory=dict)
    retained: bool = True

    @procedure
    def fulfil(
        self, plan: Plan, *, tools: Sequence[Block] = (), reading: Reading | None = None
    ) -> Steps[Fulfilment]:
        """Send the prefix of `plan` exactly as the session sends it, and return the fulfilment.

        Never raises. If the answer has no compaction or is an error, the fulfilment says why, and
        committing it changes nothing.

        Args:
            plan: The plan whose prefix is compacted.
            tools: Ignored: the endpoint takes no tools.
            reading: The facts already read from the conversation, for the gist's twin.
        """

        def ask(rendered: Rendered) -> Any:
            return self.client.responses.compact(
                **{**self.further, "model": self.model, "input": rendered.messages}
            )

        return _fulfil(Provider.RESPONSES, plan, reading, ask, partial(self._items_of, plan))

    afulfil = twin(fulfil)

    def _items_of(self, plan: Plan, answer: Any) -> Sequence[Block]:
        """Return the items of an answer, the compaction last.

        Messages that are repeated after the compaction are left out.
        """
        items = answer.get("output") or []
        last = items[-1] if items else {}
        if last.get("type") != "compaction" or not last.get("encrypted_content"):
            kinds = [item.get("type") for item in items]
            raise _NoSummaryError(f"the answer holds no compaction: {kinds}")
        again = {turn.text for job in plan.jobs for turn in job.again if turn.text}
        kept = [item for item in items[:-1] if _text(item) not in again] if self.retained else []
        return [*kept, last]


def _text(item: Mapping[str, Any]) -> str:
    """Return the text of a message that has only text; otherwise an empty string."""
    content = item.get("content")
    blocks = content if isinstance(content, list) else [{"type": "input_text", "text": content}]
    return (
        "\n".join(str(block.get("text")) for block in blocks)
        if all(block.get("type") == "input_text" for block in blocks)
        else ""
    )


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
