"""Compaction by OpenAI on demand.

``/responses/compact`` returns the prefix of a plan as the user's messages and one opaque item.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from attrs import field, frozen

from polycontext.base.effects import Steps, procedure, twin
from polycontext.pressure import Fulfilment, Plan, Reading
from polycontext.window.providers import Provider, Rendered

from .compaction import Compacted, Compacting, Tools, reported_tokens


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
        self, plan: Plan, *, tools: Tools = (), reading: Reading | None = None
    ) -> Steps[Fulfilment]:
        """Send the prefix of `plan` exactly as the session sends it, and return the fulfilment.

        Never raises. If the answer has no compaction or is an error, the fulfilment says why, and
        committing it changes nothing.

        Args:
            plan: The plan whose prefix is compacted.
            tools: Ignored: the endpoint takes no tools.
            reading: The facts already read from the conversation, for the gist's twin.
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
    """Return the items of an answer, the compaction last, or the reason why there is none.

    Messages in `again` are left out, because they are repeated after the compaction.
    """
    items = answer.get("output") or []
    if not items or items[-1].get("type") != "compaction" or not items[-1].get("encrypted_content"):
        return Compacted(
            failure=f"the answer holds no compaction: {[item.get('type') for item in items]}"
        )
    kept = [item for item in items[:-1] if _text(item) not in again] if retained else []
    return Compacted((*kept, items[-1]), reported_tokens(answer.get("usage")))


def _text(item: Mapping[str, Any]) -> str:
    """Return the text of a message that has only text; otherwise an empty string."""
    content = item.get("content")
    blocks = content if isinstance(content, list) else [{"type": "input_text", "text": content}]
    return (
        "\n".join(str(block.get("text")) for block in blocks)
        if all(block.get("type") == "input_text" for block in blocks)
        else ""
    )
