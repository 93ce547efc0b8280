"""Prompts, assembled from templates, persona, constraints and the view (docs/nodes.md)."""

from .builder import PromptBuilder
from .library import Band, band_of
from .template import MissingValueError, Template, TemplateError
from .transcript import transcript

__all__ = [
    "Band",
    "MissingValueError",
    "PromptBuilder",
    "Template",
    "TemplateError",
    "band_of",
    "transcript",
]
