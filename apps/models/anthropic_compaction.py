"""Compaction by Anthropic on demand.

The API summarises the prefix of a plan and accepts its own thinking after that summary.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from polycontext.base.effects import Steps, procedure, twin
from polycontext.polynomial.session import merge_options
from polycontext.pressure import Fulfilment, Plan, Reading
from polycontext.window.providers import Provider, Rendered
from polycontext.window.providers.anthropic import COMPACTION_BETA

from .compaction import Compacted, Compacting, Tools, reported_tokens


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
        tools: Tools = (),
        system: Sequence[Mapping[str, Any]] | str = (),
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
        return self._compactor(tools, system).fulfil(plan, reading)

    afulfil = twin(fulfil)

    def _compactor(self, tools: Tools, system: Sequence[Mapping[str, Any]] | str) -> Compacting:
        def ask(rendered: Rendered) -> Any:
            return self.client.beta.messages.create(**self._request(rendered, tools, system))

        return Compacting(Provider.ANTHROPIC, ask, _parse_answer, keeps_bound=True)

    def _request(
        self, rendered: Rendered, tools: Tools, system: Sequence[Mapping[str, Any]] | str
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


def _parse_answer(answer: Any) -> Compacted:
    """Return the compaction block of an answer, or the reason why there is none."""
    stop, blocks = answer.get("stop_reason"), answer.get("content") or []
    found = [block for block in blocks if block.get("type") == "compaction"]
    if stop != "compaction" or len(found) != 1:
        return Compacted(
            failure=(
                f"the answer holds no summary: it stopped for {stop!r} with "
                f"{[block.get('type') for block in blocks]}"
            )
        )
    if not found[0].get("content"):
        return Compacted(failure="the provider could not summarise: its block holds no content")
    return Compacted((found[0],), reported_tokens(answer.get("usage")))
