from .builder import PromptBuilder, transcript
from .template import MissingValueError, Template, TemplateError

__all__ = [
    "MissingValueError",
    "PromptBuilder",
    "Template",
    "TemplateError",
    "transcript",
]
