"""Input filter for openai-agents that fits requests into a window (docs/adapters.md)."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from polycontext.base import InvalidOptionError, require_extra
from polycontext.window.providers import ToolDefinition

from .blocks import tool
from .bridge import Bridge, Fitted, recall_definitions
from .wire_dialect import Message, WireDialect

require_extra("agents", extra="openai-agents", purpose=__name__)

from agents import Agent, FunctionTool, RunContextWrapper, RunHooks, handoff
from agents.run import CallModelData, ModelInputData

_last: ContextVar[Fitted[Message] | None] = ContextVar("_last", default=None)
"""The last fitted request of a run, in its task."""


class OpenAIAgentsDialect(WireDialect):
    """Read and write items of OpenAI's Responses."""

    def __init__(self) -> None:
        super().__init__("openai-responses")


class ContextFilter(RunHooks[Any]):
    """Fit the items of every request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many agents and conversations.

    Pass it as `call_model_input_filter` of a `RunConfig`. Pass it as `hooks` of the run as well,
    and it learns from the provider's token counts.

    Args:
        key: returns the key of the conversation from the run's own `context`; without it, a
            conversation is identified by its first messages.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        key: Callable[[Any], str | None] = lambda context: None,
        **options: Any,
    ) -> None:
        self._bridge = Bridge(OpenAIAgentsDialect(), model=model, **options)
        self.session = self._bridge.session
        self._key = key

    @property
    def recall_tools(self) -> list[FunctionTool]:
        """Return tools for an agent's model to look up turns that left its view."""

        def recalling(of: ToolDefinition) -> FunctionTool:
            async def run(ctx: RunContextWrapper[Any], given: str) -> str:
                return await self._bridge.alook_up(of.name, given, self._key(ctx.context))

            return FunctionTool(
                of.name, of.description, dict(of.parameters), run, strict_json_schema=False
            )

        return [*map(recalling, recall_definitions())]

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Shorten the items of a request; the session of the run keeps all of them.

        Raises:
            InvalidOptionError: the agent's settings make the provider shorten the request as well.
        """
        settings, asked = data.agent.model_settings, data.model_data
        for name, legal in {
            "truncation": "None, or 'disabled'",
            "context_management": "None",
        }.items():
            if (value := getattr(settings, name)) not in (None, "disabled", []):
                raise InvalidOptionError(
                    f"{name} of the agent {data.agent.name}",
                    value,
                    f"{legal}: this filter makes room",
                )
        _last.set(None)
        if not any(_is_said(item) for item in asked.input):
            return asked  # OpenAI stores the conversation
        besides = {
            "system": asked.instructions,
            "tools": await _tools(data),
            "reserve": settings.max_tokens or 0,
        }
        fitted = await self._bridge.afit_with_session(
            asked.input, key=self._key(data.context), **besides
        )
        _last.set(fitted)
        return ModelInputData(input=fitted.natives, instructions=asked.instructions)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Learn from the provider's token counts."""
        if (fitted := _last.get()) is not None:
            fitted.learn(
                {
                    "input_tokens": response.usage.input_tokens,
                    "output_tokens": response.usage.output_tokens,
                }
            )


def _is_said(item: Message) -> bool:
    """Return whether an item is more than a result.

    If OpenAI stores the conversation, only the newest results are sent.
    """
    return not str(item.get("type")).endswith("_output")


async def _tools(data: CallModelData[Any]) -> list[dict[str, Any]]:
    own: Any = data.agent
    served = await own.get_mcp_tools(RunContextWrapper(data.context)) if own.mcp_servers else []
    others = [handoff(each) if isinstance(each, Agent) else each for each in own.handoffs]
    defined = [
        tool(each.name, getattr(each, "description", ""), getattr(each, "params_json_schema", None))
        for each in [*own.tools, *served]
    ]
    return defined + [
        tool(each.tool_name, each.tool_description, each.input_json_schema) for each in others
    ]
