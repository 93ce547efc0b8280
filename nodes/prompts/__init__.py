"""Prompts, assembled from templates, persona, constraints and the conversation's view (docs/prompts.md)."""

from polycontext.nodes.prompts.builder import PromptBuilder
from polycontext.nodes.prompts.persona import Band, band_of
from polycontext.nodes.prompts.template import MissingValueError, Template, TemplateError
from polycontext.nodes.prompts.transcript import transcript

__all__ = [
    "Band",
    "MissingValueError",
    "PromptBuilder",
    "Template",
    "TemplateError",
    "band_of",
    "transcript",
]
