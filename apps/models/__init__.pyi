from .anthropic_summariser import AnthropicSummariser
from .errors import NoSummaryError
from .openai_summariser import OpenAISummariser
from .scripted_model import ScriptedModel, ScriptEndedError

__all__ = ["AnthropicSummariser", "NoSummaryError", "OpenAISummariser", "ScriptEndedError", "ScriptedModel"]
