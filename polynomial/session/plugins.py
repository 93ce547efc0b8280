"""Renderers and prompt builders, found as entry points instead of imported.

`ContextSession.render` and `build_prompt` belong to the session, but their implementations belong
to the nodes, a higher layer. A framework can register its own.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol

from polycontext.base import require
from polycontext.window import PluginError

from .options import is_list

RENDERERS = "polycontext.renderers"
PROMPTS = "polycontext.prompts"


class Renderer(Protocol):
    """Turns a session into the props of a chat component."""

    def render_chat(self, session: Any) -> dict[str, Any]:
        """Return JSON-ready props."""
        ...


class PromptMaker(Protocol):
    """Turns the output of a machine into the prompt of an agent."""

    def build_prompt(
        self,
        output: Any,
        /,
        agent_type: str,
        eigenvectors: Mapping[str, float] | None,
        constraints: Sequence[str],
        *,
        task: str | None,
        system_only: bool,
        **values: str | float,
    ) -> str:
        """Return the prompt text."""
        ...


@cache
def load(group: str, name: str) -> Any:
    """Return the class of an entry point.

    Raises:
        PluginError: no installed distribution announces it.
    """
    found = entry_points(group=group, name=name)
    if not found:
        raise PluginError(
            f"an entry point of group {group!r}",
            name,
            "none is announced",
            "an installed distribution that announces one",
        )
    return next(iter(found)).load()


def maker_for(
    agent_type: object,
    eigenvectors: object,
    constraints: object,
    task: object,
    prompts: PromptMaker | None,
) -> PromptMaker:
    """Return the prompt builder: the caller's own, or the registered one.

    Raises:
        InvalidOptionError: an argument of the prompt is illegal.
        PluginError: none is registered.
    """
    require("agent_type", agent_type, isinstance(agent_type, str), "the name of a template")
    fits: object = isinstance(eigenvectors, Mapping | None)
    require("eigenvectors", eigenvectors, fits, "names and shares from 0 to 1, or None")
    require("constraints", constraints, is_list(constraints), "a list of texts")
    require("task", task, isinstance(task, str | None), "a text, or None")
    fits = prompts is None or callable(getattr(prompts, "build_prompt", None))
    require("prompts", prompts, fits, "a PromptBuilder, or None")
    return load(PROMPTS, "default")() if prompts is None else prompts
