from .law_inputs import NOTHING, Strategies, for_parameter
from .law_runner import ROOMS, Verdict, all_laws, run_law
from .scripted_model import ScriptedModel, ScriptEndedError
from .store_contract import STORE_CHECKS
from .strategies import (
    FAST,
    conversations,
    filled,
    texts,
    windows,
)
from .subject import Subject, load_subject

__all__ = [
    "FAST",
    "NOTHING",
    "ROOMS",
    "STORE_CHECKS",
    "ScriptEndedError",
    "ScriptedModel",
    "Strategies",
    "Subject",
    "Verdict",
    "all_laws",
    "conversations",
    "filled",
    "for_parameter",
    "load_subject",
    "run_law",
    "texts",
    "windows",
]
