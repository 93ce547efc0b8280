"""Stand-ins for the vendors that remember what they answered, and judge all that vendors judge.

They add signatures, prefix binding, editing, request options and the prompt cache to the strict
providers of `polycontext.testing.strict`.
"""

from .anthropic import StrictAnthropic
from .chat import StrictChat
from .checks import check_request, findings
from .gemini import StrictGemini
from .responses import StrictResponses

__all__ = [
    "StrictAnthropic",
    "StrictChat",
    "StrictGemini",
    "StrictResponses",
    "check_request",
    "findings",
]
