"""Strict fake providers, in process and over HTTP.

They reject what the vendors reject, with the vendors' messages, and answer from a script.
"""

from .anthropic import StrictAnthropic
from .anthropic_faults import internal_error, overloaded, overloaded_midway, rate_limited
from .chat import StrictChat
from .provider import Break, Event, Fault, Faults, RequestRefusedError, StrictProvider
from .responses import StrictResponses
from .server import StrictServer

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
