from .builder import PromptBuilder, transcript
from .template import Band, MissingValueError, Template, TemplateError, band_of

__all__ = [
    "Band",
    "MissingValueError",
    "PromptBuilder",
    "Template",
    "TemplateError",
    "band_of",
    "transcript",
]
