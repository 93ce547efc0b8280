from .builder import PromptBuilder, package_prompts, transcript
from .template import MissingValueError, Template, TemplateError

__all__ = [
    "MissingValueError",
    "PromptBuilder",
    "Template",
    "TemplateError",
    "package_prompts",
    "transcript",
]
