"""Compaction by OpenAI, on demand: ``/responses/compact`` returns the prefix of a plan as the user's messages and one opaque item."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from attrs import field, frozen

from polycontext.linearity.effects import Steps, procedure, twin
from polycontext.pressure import Fulfilment, Plan, Reading
from polycontext.window.providers import Provider, Rendered

from .compaction import Compacted, Compacting, Tools, reported_tokens


@frozen
class OpenAICompaction:
    """Ask OpenAI for the compaction of a plan's prefix (docs/native-compaction.md).

    Args:
        client: an `openai.OpenAI`, or for the methods that begin with an a an `openai.AsyncOpenAI`.
        model: who compacts: the model of the conversation.
        further: fields of the conversation's requests besides (`instructions`, `prompt_cache_key`).
        retained: keep what the user said before the compaction, as the vendor asks. Without, the
            compaction alone is kept, which is shorter the more the user said.

    Reasoning behind the compaction was bound to the prefix and falls: this vendor promises nothing
    else.
    Source: developers.openai.com, "Compaction".
    """

    client: Any = field(repr=False)
    model: str
    further: Mapping[str, Any] = field(factory=dict)
    retained: bool = True

    @procedure
    def fulfil(
        self, plan: Plan, *, tools: Tools = (), reading: Reading | None = None
    ) -> Steps[Fulfilment]:
        """Send the prefix of `plan` as the session sends it, and return what came of it.

        Nothing is raised.

        The endpoint asks for no `tools`. `reading` is what was read of the conversation before, for
        the gist's twin. An answer without a compaction, an error: the fulfilment says why, and
        committing it changes nothing.
        """
        return self._compactor(plan).fulfil(plan, reading)

    afulfil = twin(fulfil)

    def _compactor(self, plan: Plan) -> Compacting:
        def ask(rendered: Rendered) -> Any:
            return self.client.responses.compact(
                **{**self.further, "model": self.model, "input": rendered.messages}
            )

        again = frozenset(turn.text for job in plan.jobs for turn in job.again if turn.text)
        return Compacting(
            Provider.RESPONSES,
            ask,
            partial(_parse_answer, retained=self.retained, again=again),
            keeps_bound=False,
        )


def _parse_answer(answer: Any, *, retained: bool, again: AbstractSet[str]) -> Compacted:
    """Return the items of an answer, the compaction last, but for what is said `again` behind it.

    Or why there is none.
    """
    items = answer.get("output") or []
    if not items or items[-1].get("type") != "compaction" or not items[-1].get("encrypted_content"):
        return Compacted(
            failure=f"the answer holds no compaction: {[item.get('type') for item in items]}"
        )
    kept = [item for item in items[:-1] if _text(item) not in again] if retained else []
    return Compacted((*kept, items[-1]), reported_tokens(answer.get("usage")))


def _text(item: Mapping[str, Any]) -> str:
    """Return what the user said in a message of nothing but text."""
    content = item.get("content")
    blocks = content if isinstance(content, list) else [{"type": "input_text", "text": content}]
    return (
        "\n".join(str(block.get("text")) for block in blocks)
        if all(block.get("type") == "input_text" for block in blocks)
        else ""
    )
