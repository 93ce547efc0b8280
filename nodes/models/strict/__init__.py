"""Strict fake providers: they refuse what the vendors refuse, in their words, and answer by script, in process and over HTTP."""

from polycontext.nodes.models.strict.anthropic import StrictAnthropic, internal_error, overloaded, overloaded_midway, rate_limited
from polycontext.nodes.models.strict.chat import StrictChat
from polycontext.nodes.models.strict.faults import Break, Fault, Faults
from polycontext.nodes.models.strict.provider import Event, StrictProvider
from polycontext.nodes.models.strict.refusal import RequestRefusedError
from polycontext.nodes.models.strict.responses import StrictResponses
from polycontext.nodes.models.strict.server import StrictServer

__all__ = [
    "Break",
    "Event",
    "Fault",
    "Faults",
    "RequestRefusedError",
    "StrictAnthropic",
    "StrictChat",
    "StrictProvider",
    "StrictResponses",
    "StrictServer",
    "internal_error",
    "overloaded",
    "overloaded_midway",
    "rate_limited",
]
