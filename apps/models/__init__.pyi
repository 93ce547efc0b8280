from .answers import (
    Answering,
    ScriptedAnswering,
    in_whole_characters,
    make_answering,
    metadata_of,
    settle,
)
from .anthropic_summariser import AnthropicSummariser
from .compaction import AnthropicCompaction, OpenAICompaction
from .endings import UnfinishedError, ending_of
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
    "UnfinishedError",
    "WordLlamaEmbedder",
    "ending_of",
    "in_whole_characters",
    "make_answering",
    "metadata_of",
    "settle",
]
