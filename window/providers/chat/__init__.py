"""OpenAI's Chat Completions, and what other servers make of them: how messages are read, written and judged."""

from .messages import check, parse, render

__all__ = ["check", "parse", "render"]
