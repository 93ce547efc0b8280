from .answers import Answering, ScriptedAnswering, answering, in_whole_characters
from .anthropic_summariser import AnthropicSummariser
from .model_summariser import NoSummaryError
from .openai_summariser import OpenAISummariser

__all__ = [
    "Answering",
    "AnthropicSummariser",
    "NoSummaryError",
    "OpenAISummariser",
    "ScriptedAnswering",
    "answering",
    "in_whole_characters",
]
