from .agent import Agent
from .answering import AgentAnswering
from .answers import (
    Blocked,
    Deed,
    Plan,
    Summary,
    Understanding,
)
from .forms import AnswerError, Form, Ref, read_answer, schema_of
from .machine import AgentMachine, NodeRegion, SharedMachine, WriterRegion
from .memory import AgentMemory
from .models import model_of
from .recollection import Recollection
from .requests import Model, ModelRequest
from .shared import SharedContext
from .tools import Tool, ToolError

__all__ = [
    "Agent",
    "AgentAnswering",
    "AgentMachine",
    "AgentMemory",
    "AnswerError",
    "Blocked",
    "Deed",
    "Form",
    "Model",
    "ModelRequest",
    "NodeRegion",
    "Plan",
    "Recollection",
    "Ref",
    "SharedContext",
    "SharedMachine",
    "Summary",
    "Tool",
    "ToolError",
    "Understanding",
    "WriterRegion",
    "model_of",
    "read_answer",
    "schema_of",
]
