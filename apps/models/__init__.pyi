from .answers import Answering, ScriptedAnswering, in_whole_characters, make_answering, settle
from .anthropic_summariser import AnthropicSummariser
from .compaction import AnthropicCompaction, OpenAICompaction
from .model_summariser import NoSummaryError
from .openai_summariser import OpenAISummariser
from .word_llama_embedder import WordLlamaEmbedder

__all__ = [
    "Answering",
    "AnthropicCompaction",
    "AnthropicSummariser",
    "NoSummaryError",
    "OpenAICompaction",
    "OpenAISummariser",
    "ScriptedAnswering",
    "WordLlamaEmbedder",
    "in_whole_characters",
    "make_answering",
    "settle",
]
