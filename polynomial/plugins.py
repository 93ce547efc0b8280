"""Find readers that live above this room, without importing upward.

`ContextSession.render` belongs to the session, its renderer to the nodes. The renderer
is announced as an entry point, so a framework may also bring its own.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol

from attrs import define

from polycontext.linearity import CollaboratorError

GROUP = "polycontext.renderers"


class Renderer(Protocol):
    """Stand for whoever turns a session into the props of a chat component."""

    def render_chat(self, session: Any) -> dict[str, Any]:
        """Return JSON-ready props."""
        ...


@define(slots=False, eq=False)
class MissingPluginError(CollaboratorError, LookupError):
    """Say that nothing announced itself under an entry-point group."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"no entry point {self.name!r} in group {self.group!r}; legal: an installed distribution that announces one"


@cache
def load_renderer(name: str = "chat") -> type[Renderer]:
    """Return the renderer class announced as `name`.

    Raises:
        MissingPluginError: none is installed.
    """
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise MissingPluginError(GROUP, name)
    renderer: type[Renderer] = next(iter(found)).load()
    return renderer
