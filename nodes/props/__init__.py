"""What a browser gets to see: props of a chat component, and their contract."""

from .component_renderer import ActionProps, ChatProps, ComponentRenderer, MessageProps, Status

__all__ = ["ActionProps", "ChatProps", "ComponentRenderer", "MessageProps", "Status"]
