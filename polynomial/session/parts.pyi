from . import children, context_tools, dispatch, plugins
from .answer import Answer, open_answer
from .background import Background
from .documents import Documents
from .embedding import Embedder, Embeddings
from .export import Archive
from .history import History
from .paths import invoke
from .plugins import PromptMaker, Renderer
from .rules import Rules
from .search import Explained, explain
from .synchronisation import Seen, sync, view
from .usage import Usage

__all__ = [
    "Answer",
    "Archive",
    "Background",
    "Documents",
    "Embedder",
    "Embeddings",
    "Explained",
    "History",
    "PromptMaker",
    "Renderer",
    "Rules",
    "Seen",
    "Usage",
    "children",
    "context_tools",
    "dispatch",
    "explain",
    "invoke",
    "open_answer",
    "plugins",
    "sync",
    "view",
]
