"""Renderers and prompt builders, found as entry points instead of imported.

`ContextSession.render` and `build_prompt` belong to the session, but their implementations belong
to the nodes, a higher layer. A framework can register its own.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol

from polycontext.window import PluginError

from .options import check_arguments

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


def load_renderer(name: str = "chat") -> type[Renderer]:
    """Return the renderer class registered as `name`.

    Raises:
        PluginError: none is installed.
    """
    renderer: type[Renderer] = _load(RENDERERS, name)
    return renderer


def load_prompt_maker(name: str = "default") -> type[PromptMaker]:
    """Return the prompt builder class registered as `name`.

    Raises:
        PluginError: none is installed.
    """
    maker: type[PromptMaker] = _load(PROMPTS, name)
    return maker


@cache
def _load(group: str, name: str) -> Any:
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
    check_arguments(
        agent_type=agent_type,
        eigenvectors=eigenvectors,
        constraints=constraints,
        task=task,
        prompts=prompts,
    )
    return load_prompt_maker()() if prompts is None else prompts
