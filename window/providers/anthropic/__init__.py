"""Anthropic's Messages: how they are read, written and judged."""

from .messages import check, hoist, options_in, parse, render

__all__ = ["check", "hoist", "options_in", "parse", "render"]
