from . import (
    answer,
    background,
    children,
    context_tools,
    delivery,
    documents,
    export,
    history,
    live_machine,
    lookup,
    measurement,
    paths,
    plugins,
    recall,
    synchronisation,
    time_travel,
    usage,
)
from .commands import Oversize, utc_now
from .decisions import held_attachment
from .delivery import Delivery, merge_options, options_for
from .export import Imported, store_whole
from .measurement import input_tokens
from .options import check_arguments, require, whole_number
from .synchronisation import Kept, Seen, pairs_of, says_the_same
from .writer import TRIES

__all__ = [
    "TRIES",
    "Delivery",
    "Imported",
    "Kept",
    "Oversize",
    "Seen",
    "answer",
    "background",
    "check_arguments",
    "children",
    "context_tools",
    "delivery",
    "documents",
    "export",
    "held_attachment",
    "history",
    "input_tokens",
    "live_machine",
    "lookup",
    "measurement",
    "merge_options",
    "options_for",
    "pairs_of",
    "paths",
    "plugins",
    "recall",
    "require",
    "says_the_same",
    "store_whole",
    "synchronisation",
    "time_travel",
    "usage",
    "utc_now",
    "whole_number",
]
