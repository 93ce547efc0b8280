from .component_renderer import SCHEMA, ActionProps, ChatProps, ComponentRenderer, MessageProps, Status, shipped

__all__ = [
    "SCHEMA",
    "ActionProps",
    "ChatProps",
    "ComponentRenderer",
    "MessageProps",
    "Status",
    "shipped",
]
