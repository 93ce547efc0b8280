from . import context_tools
from .commands import utc_now
from .decisions import held_attachment
from .delivery import merge_options, options_for
from .embedding import Embedder
from .export import Imported, store_whole
from .options import NAME, is_name
from .synchronisation import Kept, Seen, pairs_of, says_the_same
from .writer import TRIES

__all__ = [
    "NAME",
    "TRIES",
    "Embedder",
    "Imported",
    "Kept",
    "Seen",
    "context_tools",
    "held_attachment",
    "is_name",
    "merge_options",
    "options_for",
    "pairs_of",
    "says_the_same",
    "store_whole",
    "utc_now",
]
