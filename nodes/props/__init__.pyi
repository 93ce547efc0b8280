from .component_renderer import (
    SCHEMA,
    ActionProps,
    ChatProps,
    ComponentRenderer,
    MessageProps,
    Status,
    read_contract,
)

__all__ = [
    "SCHEMA",
    "ActionProps",
    "ChatProps",
    "ComponentRenderer",
    "MessageProps",
    "Status",
    "read_contract",
]
