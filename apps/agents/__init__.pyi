from .agent import Agent
from .answering import AgentAnswering
from .answers import (
    Blocked,
    Deed,
    Plan,
    PlannedStep,
    Retained,
    Summary,
    ToolUse,
    Understanding,
    Written,
)
from .forms import AnswerError, Form, Ref, parameters_of, read_answer, schema_of
from .machine import AgentMachine, NodeRegion, SharedMachine, WriterRegion
from .memory import AgentMemory
from .models import SdkModel, model_of
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
    "PlannedStep",
    "Recollection",
    "Ref",
    "Retained",
    "SdkModel",
    "SharedContext",
    "SharedMachine",
    "Summary",
    "Tool",
    "ToolError",
    "ToolUse",
    "Understanding",
    "WriterRegion",
    "Written",
    "model_of",
    "parameters_of",
    "read_answer",
    "schema_of",
]
