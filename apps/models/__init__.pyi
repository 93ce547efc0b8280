from .anthropic_summariser import AnthropicSummariser
from .errors import NoSummaryError
from .openai_summariser import OpenAISummariser

__all__ = ["AnthropicSummariser", "NoSummaryError", "OpenAISummariser"]
