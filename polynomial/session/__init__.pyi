from . import children, context_tools, dispatch, plugins
from .answer import Answer, open_answer
from .background import Background
from .commands import Oversize, utc_now
from .decisions import held_attachment
from .delivery import Delivery, merge_options, options_for
from .documents import Documents
from .embedding import Embedder, Embeddings
from .export import Archive, Imported, store_whole
from .history import History
from .options import NAME, is_name
from .paths import invoke
from .plugins import PromptMaker, Renderer
from .rules import Rules
from .search import Explained, LogIndex, explain
from .synchronisation import Kept, Pair, Seen, pairs_of, says_the_same, sync, view
from .usage import Usage
from .writer import TRIES

__all__ = [
    "NAME",
    "TRIES",
    "Answer",
    "Archive",
    "Background",
    "Delivery",
    "Documents",
    "Embedder",
    "Embeddings",
    "Explained",
    "History",
    "Imported",
    "Kept",
    "LogIndex",
    "Oversize",
    "Pair",
    "PromptMaker",
    "Renderer",
    "Rules",
    "Seen",
    "Usage",
    "children",
    "context_tools",
    "dispatch",
    "explain",
    "held_attachment",
    "invoke",
    "is_name",
    "merge_options",
    "open_answer",
    "options_for",
    "pairs_of",
    "plugins",
    "says_the_same",
    "store_whole",
    "sync",
    "utc_now",
    "view",
]
