from .template import Template

__all__ = [
    "Template",
]
