"""Who reads it? Props for a browser, the command line."""

from polycontext.nodes.props import ActionProps, ChatProps, ComponentRenderer, MessageProps, Status

__all__ = ["ActionProps", "ChatProps", "ComponentRenderer", "MessageProps", "Status"]
