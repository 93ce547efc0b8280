"""Strict providers over HTTP for the programs of `docs/quickstart.md`, with a scripted model."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, field

from polycontext.testing.strict import StrictServer
from tests.house import ROOT
from tests.vendors.anthropic import StrictAnthropic
from tests.vendors.chat import StrictChat

PAGE = ROOT / "docs" / "quickstart.md"
ANSWER = "They are agents that look at files."
STEPS = 20
"""Calls until the model knows enough: more than the window of the programs has room for."""


@define
class Looking:
    """A scripted model that lists files, reads one repeatedly, and then answers.

    It records the length of each request in characters.
    """

    sizes: list[int] = field(factory=list)

    def _next(self, request: Mapping[str, Any]) -> tuple[str, dict[str, str]] | None:
        self.sizes.append(len(str(request["messages"])))
        steps = len(self.sizes)
        return (
            None
            if steps > STEPS
            else ("list_files", {})
            if steps == 1
            else ("read_file", {"name": "agent.py"})
        )

    def chat(self, request: Mapping[str, Any]) -> str | dict[str, Any]:
        """Answer as OpenAI's chat does."""
        call = self._next(request)
        if call is None:
            return ANSWER
        function = {"name": call[0], "arguments": str(call[1]).replace("'", '"')}
        return {"role": "assistant", "tool_calls": [{"type": "function", "function": function}]}

    def anthropic(self, request: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        """Answer as Anthropic's messages do, with signed thinking before every call."""
        call = self._next(request)
        if call is None:
            return ANSWER
        thought = {"type": "thinking", "thinking": f"I know what {len(self.sizes)} looks told me."}
        return [thought, {"type": "tool_use", "name": call[0], "input": call[1]}]


@contextmanager
def providers() -> Generator[tuple[dict[str, str], Looking, Looking]]:
    """Serve both providers; yield the environment that points a program to them, and the models."""
    chat, anthropic = Looking(), Looking()
    with StrictServer((StrictChat(chat.chat), StrictAnthropic(anthropic.anthropic))) as server:
        keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
        yield (
            {"OPENAI_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url, **keys},
            chat,
            anthropic,
        )
