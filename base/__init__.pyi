from . import codec, effects, json_data, law
from .column import Column
from .errors import (
    CallerError,
    CollaboratorError,
    InvalidDataError,
    InvalidOptionError,
    MissingExtraError,
    PolycontextError,
    UnknownNameError,
    is_installed,
    is_number,
    is_whole,
    must_be,
    require,
    require_extra,
    whole_number,
)
from .law import Law, LawViolation, laws_of

__all__ = [
    "CallerError",
    "CollaboratorError",
    "Column",
    "InvalidDataError",
    "InvalidOptionError",
    "Law",
    "LawViolation",
    "MissingExtraError",
    "PolycontextError",
    "UnknownNameError",
    "codec",
    "effects",
    "is_installed",
    "is_number",
    "is_whole",
    "json_data",
    "law",
    "laws_of",
    "must_be",
    "require",
    "require_extra",
    "whole_number",
]
