"""OpenAI's Responses: how input items are read, written and judged."""

from .messages import check, parse, render

__all__ = ["check", "parse", "render"]
