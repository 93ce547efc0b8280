from .component_renderer import (
    SCHEMA,
    ChatProps,
    read_contract,
)

__all__ = [
    "SCHEMA",
    "ChatProps",
    "read_contract",
]
