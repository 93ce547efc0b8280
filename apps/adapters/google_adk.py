"""Plugin for Google's ADK that fits requests into a window (docs/adapters.md)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from polycontext.base import InvalidOptionError, require_extra
from polycontext.window import Turn
from polycontext.window.providers import ToolDefinition

from .bridge import Bridge, Fitted, recall_definitions
from .dialect import Dialect, Piece

require_extra("google.adk", extra="google-adk", purpose=__name__)

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from .gemini import GeminiDialect


class ContextPlugin(BasePlugin):
    """Fit the contents of every request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many agents and conversations.
    """

    def __init__(self, model: Any = None, **options: Any) -> None:
        super().__init__(name="polycontext")
        self._bridge = Bridge(GoogleADKDialect(), model=model, **options)
        self.session = self._bridge.session
        self._asked: dict[str, Fitted[types.Content]] = {}

    @property
    def recall_tools(self) -> list[BaseTool]:
        """Return tools for an agent's model to look up turns that left its view."""
        return [_RecallTool(self._bridge, each) for each in recall_definitions()]

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Shorten the contents of a request; the events of the session stay complete.

        Raises:
            InvalidOptionError: the app has an `events_compaction_config`.
        """
        own, config = (
            callback_context.get_invocation_context().events_compaction_config,
            llm_request.config,
        )
        if own is not None:
            raise InvalidOptionError(
                "events_compaction_config", own, "None: the plugin compresses already"
            )
        if llm_request.previous_interaction_id is not None:
            return  # the server already has the earlier contents
        tools = [_data(group) for group in config.tools or () if isinstance(group, types.Tool)]
        besides: dict[str, Any] = {
            "system": str(config.system_instruction or ""),
            "tools": tools,
            "reserve": config.max_output_tokens or 0,
        }
        self._asked[key] = fitted = await self._bridge.afit_with_session(
            llm_request.contents, key=(key := _key(callback_context)), **besides
        )
        llm_request.contents = fitted.natives

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Learn from the provider's token counts."""
        usage = _data(llm_response.usage_metadata) or {}
        if usage.get("prompt_token_count") and (
            fitted := self._asked.pop(_key(callback_context), None)
        ):
            fitted.learn(usage)

    async def on_model_error_callback(
        self, *, callback_context: Any, llm_request: Any, error: Exception
    ) -> None:
        """Forget the failed request."""
        self._asked.pop(_key(callback_context), None)


class _RecallTool(BaseTool):
    """A tool that looks up turns of the conversation that calls it."""

    def __init__(self, bridge: Bridge[types.Content], definition: ToolDefinition) -> None:
        super().__init__(name=definition.name, description=definition.description)
        self._bridge, self._parameters = bridge, definition.parameters

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=dict(self._parameters),
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> str:
        """Return what was found."""
        return await self._bridge.alook_up(self.name, args, _key(tool_context))


class GoogleADKDialect(Dialect[types.Content]):
    """Read contents, each of which may hold several turns."""

    def __init__(self) -> None:
        self._wire = GeminiDialect()

    def split(self, natives: Sequence[types.Content]) -> Iterator[Piece]:
        """Yield the turns of each content."""
        return self._wire.split([_data(native) for native in natives])

    def write(self, turns: Sequence[Turn]) -> list[types.Content]:
        """Return `turns` as contents."""
        return [types.Content.model_validate(content) for content in self._wire.write(turns)]

    def merge(self, natives: Sequence[types.Content]) -> list[types.Content]:
        """Return the contents, with consecutive results joined into one content.

        Gemini compares the number of results with the number of calls before them.
        """
        out: list[types.Content] = []
        for is_answer, group in groupby(
            natives,
            lambda native: native.parts and all(part.function_response for part in native.parts),
        ):
            contents = [*group]
            parts = [part for content in contents if is_answer for part in content.parts]
            out += (
                [types.Content(role="user", parts=parts)]
                if len(contents) > 1 and is_answer
                else contents
            )
        return out


def _key(context: Any) -> str:
    # Each agent, branch and task of a session has its own contents.
    names = (
        context.session.app_name,
        context.user_id,
        context.session.id,
        context.agent_name,
        context.branch,
        context.isolation_scope,
    )
    return "/".join(filter(None, names))


def _data(model: Any) -> Any:
    return model and model.model_dump(mode="json", exclude_none=True, fallback=str)
