"""The imaginary framework of docs/adapters.md, with the adapter that the page builds for it.

The adapter passes the same tests as every other.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from tests.adapters.frameworks.conversation import SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge
from tests.house import ROOT, examples

PAGE = (
    (ROOT / "docs" / "adapters.md")
    .read_text(encoding="utf-8")
    .partition("## A framework of your own")[2]
)


def followed() -> SimpleNamespace:
    """Return what a reader has who has followed the page: framework, dialect and hook."""
    names: dict[str, Any] = {"__name__": __name__}
    for _, block in examples(PAGE, "python")[:3]:
        exec(block, names)  # noqa: S102 - the page is the test
    return SimpleNamespace(**names)


OWN = followed()


class MadeUp(Agent):
    """Keep lines by the name of their conversation."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        def reply(lines: Sequence[Any]) -> Any:
            said = judge.asked(lines, SYSTEM)
            return OWN.Line(
                "model",
                said.text,
                {call.id: (call.name, call.arguments) for call in said.tool_calls},
            )

        self.adapter = OWN.Fitting(**options)
        self._agent = OWN.Agent(reply, {"look": found}, self.adapter)
        self._agent.lines = {
            key: [OWN.Line(**line) for line in lines] for key, lines in (saved or {}).items()
        }

    async def say(self, key: str, text: str) -> str:
        """Ask it; what was said before stays, whatever becomes of this."""
        return str(self._agent.ask(key, text))

    def history(self, key: str) -> Sequence[str]:
        """Return what its lines say."""
        return [line.says for line in self._agent.lines[key]]

    def saved(self) -> Any:
        """Return the lines as JSON data."""
        return {key: [vars(line) for line in lines] for key, lines in self._agent.lines.items()}


class TestMadeUp(FrameworkTests):
    """Test what the page says."""

    distribution = "polycontext"
    provider = "openai"
    dialect = OWN.LineDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent of the page."""
        return MadeUp(judge, saved, **options)
