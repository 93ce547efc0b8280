from .law_inputs import NOTHING, Strategies, for_parameter
from .law_runner import ROOMS, Verdict, all_laws, run_law
from .scripted_model import ScriptedModel, ScriptEndedError
from .store_contract import STORE_CHECKS
from .strategies import (
    ANY_TEXT,
    FAST,
    PROSE,
    TARGETS,
    TEXTS,
    Head,
    Move,
    atoms,
    conversations,
    filled,
    lived_windows,
    lives,
    reaches,
    texts,
    windows,
)
from .subject import Subject, load_subject

__all__ = [
    "ANY_TEXT",
    "FAST",
    "NOTHING",
    "PROSE",
    "ROOMS",
    "STORE_CHECKS",
    "TARGETS",
    "TEXTS",
    "Head",
    "Move",
    "ScriptEndedError",
    "ScriptedModel",
    "Strategies",
    "Subject",
    "Verdict",
    "all_laws",
    "atoms",
    "conversations",
    "filled",
    "for_parameter",
    "lived_windows",
    "lives",
    "load_subject",
    "reaches",
    "run_law",
    "texts",
    "windows",
]
