from .builder import PromptBuilder, package_prompts, transcript
from .template import Band, MissingValueError, Template, TemplateError, band_of

__all__ = [
    "Band",
    "MissingValueError",
    "PromptBuilder",
    "Template",
    "TemplateError",
    "band_of",
    "package_prompts",
    "transcript",
]
