from .component_renderer import SCHEMA, read_contract

__all__ = [
    "SCHEMA",
    "read_contract",
]
