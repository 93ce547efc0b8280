"""Conversation manager for strands-agents that fits requests into a window (docs/adapters.md)."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from polycontext.base import require_extra
from polycontext.window import Turn

from .blocks import tool
from .bridge import Bridge, recall_definitions
from .converse import read_message, read_usage, write_message
from .dialect import MessageDialect

require_extra("strands", extra="strands", purpose=__name__)

from strands.agent.conversation_manager import NullConversationManager
from strands.hooks import AgentInitializedEvent
from strands.middleware import InvokeModelStage
from strands.tools import PythonAgentTool
from strands.types.events import ModelStopReason


class ContextConversationManager(NullConversationManager):
    """Fit the messages of every request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many agents.
    """

    def __init__(self, model: Any = None, **options: Any) -> None:
        super().__init__()
        self._bridge = Bridge(StrandsDialect(), model=model, **options)
        self.session = self._bridge.session

    @property
    def recall_tools(self) -> list[PythonAgentTool]:
        """Return tools for an agent's model to look up turns that left its view."""

        async def run(use: Any, *, agent: Any, **_: Any) -> Any:
            text = await self._bridge.alook_up(use["name"], use["input"], _key(agent))
            content = [{"text": text}]
            return {"toolUseId": use["toolUseId"], "status": "success", "content": content}

        return [
            PythonAgentTool(
                each.name,
                {
                    "name": each.name,
                    "description": each.description,
                    "inputSchema": {"json": dict(each.parameters)},
                },
                run,
            )
            for each in recall_definitions()
        ]

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        """Add the middleware to each agent that uses this manager."""
        registry.add_callback(
            AgentInitializedEvent,
            lambda event: event.agent.add_middleware(InvokeModelStage, self._fitting),
        )

    async def _fitting(self, context: Any, next_fn: Any) -> AsyncIterator[Any]:
        prompt, config = context.system_prompt, context.model.get_config()
        system = (
            prompt
            if isinstance(prompt, str)
            else "\n".join(each.get("text", "") for each in prompt or ())
        )
        tools = [
            tool(spec["name"], spec["description"], spec["inputSchema"]["json"])
            for spec in context.tool_specs
        ]
        besides: dict[str, Any] = {
            "system": system,
            "tools": tools,
            "reserve": (config.get("max_tokens") if isinstance(config, Mapping) else 0) or 0,
        }
        fitted = await self._bridge.afit_with_session(
            context.messages, key=_key(context.agent), **besides
        )
        async for event in next_fn(context.replace(messages=fitted.natives)):
            if isinstance(event, ModelStopReason):
                fitted.learn(read_usage(event["stop"][2]))
            yield event


class StrandsDialect(MessageDialect[Any]):
    """Read messages in the format of Bedrock Converse."""

    def read(self, native: Any) -> Iterable[Turn]:
        """Return the turns of a message: one per tool result, and one for the rest."""
        return read_message(native)

    def write(self, turns: Sequence[Turn]) -> list[Any]:
        """Return `turns` as one message."""
        return [_Message(write_message(turns))]

    def merge(self, natives: Sequence[Any]) -> list[Any]:
        """Return the messages, with rewritten ones joined to neighbours of the same role.

        Bedrock requires alternating roles, and all results of a step in one message.
        """
        out: list[Any] = []
        for native in natives:
            if (
                out
                and out[-1]["role"] == native["role"]
                and (_Message in (type(native), type(out[-1])) or _has_results(out[-1]))
            ):
                out[-1] = _Message(
                    role=native["role"], content=[*out[-1]["content"], *native["content"]]
                )
            else:
                out.append(native)
        return out


def _key(agent: Any) -> str:
    return f"{agent.session_id}/{agent.agent_id}"


def _has_results(message: Any) -> bool:
    """Return whether a message holds results, which later ones of the step are joined to."""
    return message["role"] == "user" and any("toolResult" in each for each in message["content"])


class _Message(dict[str, Any]):
    """A message that was written anew."""
