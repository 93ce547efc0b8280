"""Conversations over HTTP: a browser is given props, and events when they change (docs/server.md)."""

from polycontext.linearity.extras import require

require("fastapi", extra="server", purpose="conversations over HTTP")
