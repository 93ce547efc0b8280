from .builder import PromptBuilder, transcript
from .library import Band, band_of
from .template import MissingValueError, Template, TemplateError

__all__ = [
    "Band",
    "MissingValueError",
    "PromptBuilder",
    "Template",
    "TemplateError",
    "band_of",
    "transcript",
]
