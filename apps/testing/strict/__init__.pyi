from .anthropic import StrictAnthropic
from .anthropic_faults import internal_error, overloaded, overloaded_midway, rate_limited
from .chat import StrictChat
from .checks import check_request, findings
from .gemini import StrictGemini
from .provider import Break, RequestRefusedError
from .responses import StrictResponses
from .server import StrictServer

__all__ = [
    "Break",
    "RequestRefusedError",
    "StrictAnthropic",
    "StrictChat",
    "StrictGemini",
    "StrictResponses",
    "StrictServer",
    "check_request",
    "findings",
    "internal_error",
    "overloaded",
    "overloaded_midway",
    "rate_limited",
]
