from . import answers, endings
from .anthropic_summariser import AnthropicSummariser
from .compaction import AnthropicCompaction, OpenAICompaction
from .openai_summariser import OpenAISummariser
from .word_llama_embedder import WordLlamaEmbedder

__all__ = [
    "AnthropicCompaction",
    "AnthropicSummariser",
    "OpenAICompaction",
    "OpenAISummariser",
    "WordLlamaEmbedder",
    "answers",
    "endings",
]
